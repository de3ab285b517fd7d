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
	// maxWatch bounds a watch that asks for no timeout.
	maxWatch = 15 * time.Minute
	// WatchFactor times Limits.Request is how long a watch may take to send its headers,
	// and how long it may outlast the timeout that it asked for.
	WatchFactor = 3
	// maxLook bounds the response to a check of the connection.
	maxLook = 1 << 20
	// maxRefusal bounds the body of an error response.
	maxRefusal = 16 << 10
	// jsonType is the only encoding that is requested: its decoded size can be estimated.
	jsonType = "application/json"
)

// terms are the limits of one request.
type terms struct {
	most   int64          // the weight that the answer may have
	within time.Duration  // the time for all of it, unless it is a watch
	report func(Failures) // receives failures; nil if the caller handles them
	events int64          // of a request that is forwarded: the weight that each event of a watch may have, instead of all
}

// send sends a request with the credentials, in bounded time, and reports its failure.
// An error wraps an identity.Problem, unless the context of the request ended.
func (t *Transport) send(request *http.Request, on terms) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	first, watch := t.times(request, on.within)
	a := &answer{transport: t, request: request, report: on.report, cancel: cancel, done: ctx.Done(), left: min(on.most, t.limits.Answer), watch: watch > 0}
	if a.forwarded = on.events > 0; a.forwarded && a.watch {
		a.left, a.event = on.events, on.events
	}
	a.timer = time.AfterFunc(first, a.expire)
	out := request.Clone(ctx)
	out.Header.Set("User-Agent", t.agent)
	out.Header.Set("Accept", onlyJSON(request.Header.Get("Accept")))
	out.Header.Del("Authorization")
	if header := *t.header.Load(); header != "" {
		out.Header.Set("Authorization", header)
	}
	response, err := t.transport.RoundTrip(out)
	t.count(response)
	if err != nil {
		a.end()
		return nil, a.failed(err)
	}
	if a.watch {
		a.timer.Reset(watch)
	}
	if response.StatusCode >= http.StatusBadRequest || !isJSON(response.Header.Get("Content-Type")) {
		a.left, a.event = min(a.left, maxRefusal), 0
	}
	a.ReadCloser, response.Body = response.Body, a
	// client-go would sleep for as long as the server says, and retry by itself.
	response.Header.Del("Retry-After")
	if on.report != nil {
		reportStatus(response.StatusCode, on.report)
	}
	return response, nil
}

// onlyJSON drops encodings other than JSON from a header Accept.
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

func reportStatus(code int, report func(Failures)) {
	switch {
	case code == http.StatusForbidden:
		report(Failures{Forbidden: true})
	case code == http.StatusUnauthorized, code >= http.StatusInternalServerError:
		report(Failures{})
	}
}

// times returns how long a response may take in all; for a watch, how long its headers
// may take, and then the watch itself.
func (t *Transport) times(request *http.Request, within time.Duration) (first, watch time.Duration) {
	if !watches(request) {
		return within, 0
	}
	watch = maxWatch
	seconds, err := strconv.ParseInt(request.URL.Query().Get("timeoutSeconds"), 10, 32)
	if err == nil && seconds > 0 {
		watch = min(watch, time.Duration(seconds)*time.Second)
	}
	return WatchFactor * t.limits.Request, watch + WatchFactor*t.limits.Request
}

// watches says that a request is a watch, whose response has no end of its own.
func watches(request *http.Request) bool {
	return request.URL.Query().Get("watch") != ""
}
