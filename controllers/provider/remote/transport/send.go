/*
Copyright 2026 The Metal3 HostClaim provider authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package transport

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxWatch bounds a watch that does not say how long it wants to be.
	maxWatch = 15 * time.Minute
	// Patience is by how much a watch may be longer than it wants to be, and its headers
	// later than those of another answer, in times of a request.
	Patience = 3
	// maxLook bounds an answer to a look.
	maxLook = 1 << 20
	// maxRefusal bounds an answer that says no more than why there is none.
	maxRefusal = 16 << 10
	// jsonType is the one encoding that is asked for.
	jsonType = "application/json"
)

// terms are what a request is sent on.
type terms struct {
	most   int64         // the weight that the answer may have
	within time.Duration // the time for all of it, unless it is a watch
	report func(Trouble) // nil if nobody is to know of failures
}

// send sends a request with the credentials, in bounded time, and reports what went
// wrong with it to whoever is to know. An error wraps an identity.Problem, unless
// whoever asked has given up.
func (w *Wire) send(request *http.Request, on terms) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	first, watch := w.times(request, on.within)
	a := &answer{wire: w, request: request, report: on.report, cancel: cancel, left: min(on.most, w.limits.Answer)}
	a.timer = time.AfterFunc(first, a.expire)
	out := request.Clone(ctx)
	out.Header.Set("User-Agent", w.agent)
	out.Header.Set("Accept", onlyJSON(request.Header.Get("Accept")))
	out.Header.Del("Authorization")
	if header := *w.header.Load(); header != "" {
		out.Header.Set("Authorization", header)
	}
	response, err := w.transport.RoundTrip(out)
	w.count(response)
	if err != nil {
		a.end()
		return nil, a.failed(err)
	}
	if watch > 0 {
		a.timer.Reset(watch)
	}
	if response.StatusCode >= http.StatusBadRequest || !isJSON(response.Header.Get("Content-Type")) {
		a.left = min(a.left, maxRefusal)
	}
	a.ReadCloser, response.Body = response.Body, a
	// client-go would wait for as long as the other side says, and ask again.
	response.Header.Del("Retry-After")
	if on.report != nil {
		reportStatus(response.StatusCode, on.report)
	}
	return response, nil
}

// onlyJSON leaves out of a header Accept what cannot be weighed.
func onlyJSON(accept string) string {
	var kept []string
	for part := range strings.SplitSeq(accept, ",") {
		if isJSON(part) {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return jsonType
	}
	return strings.Join(kept, ",")
}

func isJSON(contentType string) bool {
	name, _, err := mime.ParseMediaType(contentType)
	return err == nil && name == jsonType
}

func reportStatus(code int, report func(Trouble)) {
	switch {
	case code == http.StatusForbidden:
		report(Trouble{Forbidden: true})
	case code == http.StatusUnauthorized, code >= http.StatusInternalServerError:
		report(Trouble{})
	}
}

// times says how long an answer may take: all of it, or the headers of a watch and then
// the watch itself.
func (w *Wire) times(request *http.Request, within time.Duration) (first, watch time.Duration) {
	if !watches(request) {
		return within, 0
	}
	watch = maxWatch
	seconds, err := strconv.ParseInt(request.URL.Query().Get("timeoutSeconds"), 10, 32)
	if err == nil && seconds > 0 {
		watch = min(watch, time.Duration(seconds)*time.Second)
	}
	return Patience * w.limits.Request, watch + Patience*w.limits.Request
}

// watches says that the answer to a request has no end of its own.
func watches(request *http.Request) bool {
	return request.URL.Query().Get("watch") != ""
}
