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
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

const (
	// maxWatch bounds a watch that asks for no timeout.
	maxWatch = 15 * time.Minute
	// WatchFactor times Limits.Request is how long a watch may take to send its headers,
	// and how long it may outlast the timeout that it asked for.
	WatchFactor = 3
	// maxCheck bounds the response to a check of the connection.
	maxCheck = 1 << 20
	// maxRefusal bounds the body of an error response.
	maxRefusal = 16 << 10
	// jsonType is the only encoding that is requested: its decoded size can be estimated.
	jsonType = "application/json"
	// maxPart is how many bytes are read at a time, so that the pause after them is bounded.
	maxPart = 64 << 10
)

// terms are the limits of one request.
type terms struct {
	most    int64         // the weight that the answer may have
	within  time.Duration // the time for all of it, unless it is a watch
	report  bool          // failures are reported; else the caller handles them
	kinds   bool          // of lists and watches: what is not found is a kind that is gone
	forward bool          // for a reader that repeats names of kinds in its errors, and resumes no watch; its events have a limit each
	slot    bool          // the request has one of Transport.slots
}

// send sends a request with the credentials, in bounded time, and reports its failure.
// An error wraps an identity.Problem, unless the context of the request ended.
func (t *Transport) send(request *http.Request, on terms) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	first, watch := t.times(request, on.within)
	out := request.Clone(ctx)
	a := &answer{terms: on, transport: t, request: out, cancel: cancel, left: min(on.most, t.limits.Answer), watch: watch > 0}
	if a.events = a.watch && on.forward; a.events {
		a.left = maxEvent
	}
	a.timer = time.AfterFunc(first, func() { cancel(errExpired) })
	out.Header.Set("User-Agent", t.agent)
	out.Header.Set("Accept", onlyJSON(request.Header.Get("Accept")))
	out.Header.Del("Authorization")
	if header := *t.header.Load(); header != "" {
		out.Header.Set("Authorization", header)
	}
	response, err := t.transport.RoundTrip(out)
	t.count(response)
	if err == nil && a.expired() {
		err = errors.Join(errExpired, response.Body.Close()) // it arrived while it was given up
	}
	if err != nil {
		defer a.end()
		return nil, a.failed(err)
	}
	if a.watch {
		a.timer.Reset(watch)
	}
	if response.StatusCode >= http.StatusBadRequest || !isJSON(response.Header.Get("Content-Type")) {
		a.left, a.events = min(a.left, maxRefusal), false
	}
	a.ReadCloser, response.Body = response.Body, a
	// client-go would sleep for as long as the server asks for, and retry by itself.
	response.Header.Del("Retry-After")
	if on.report {
		t.reportStatus(response.StatusCode, on.kinds)
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

func (t *Transport) reportStatus(code int, kinds bool) {
	switch {
	case code == http.StatusForbidden:
		t.report(Forbidden)
	case code == http.StatusUnauthorized, code == http.StatusNotFound && kinds, code >= http.StatusInternalServerError:
		t.report(Unclear)
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

// watches reports whether a request is a watch, whose response has no end of its own.
func watches(request *http.Request) bool {
	return request.URL.Query().Get("watch") != ""
}

// answer is the body of a response. It ends at a timeout and at a decompressed size, which
// the server would choose otherwise.
type answer struct {
	io.ReadCloser
	terms

	transport *Transport
	request   *http.Request // as it is sent
	cancel    context.CancelCauseFunc
	timer     *time.Timer
	left      int64 // the weight that may still be read
	watch     bool  // the answer is a stream of events
	events    bool  // left is for one of them
	scale     scale
	whole     int64 // the weight that was read
	once      sync.Once

	mu      sync.Mutex // a watch is closed while it is read
	counted int64      // the weight that Limits.Reading was called with
	closed  bool
}

// Read reads up to the limit and fails there.
func (a *answer) Read(p []byte) (int, error) {
	if a.left < 0 {
		return 0, a.transport.refused(identity.AnswerTooLarge)
	}
	p = p[:min(int64(len(p)), a.left+1, maxPart)]
	n, err := a.ReadCloser.Read(p)
	weight := a.scale.weigh(p[:n])
	a.whole += weight
	reading := a.whole
	if a.watch {
		reading = a.scale.since // an event counts until it is complete
	}
	if !a.count(reading, false) {
		a.left = -1
		return 0, a.transport.refused(identity.TooManyAnswers)
	}
	if a.left -= weight; a.events {
		a.left = maxEvent - a.scale.since
	}
	if a.excessive() {
		a.left = -1
		return 0, a.transport.refused(identity.AnswerTooLarge)
	}
	a.pause(weight)
	// The server may answer our cancellation with a clean end of the stream. After the
	// timeout, EOF therefore does not mean that the body is complete.
	if err != nil && (err != io.EOF || a.expired()) { //nolint:errorlint // readers return it bare
		err = a.failed(err)
	}
	return n, err
}

// excessive reports whether what was read is more than a limit permits.
func (a *answer) excessive() bool {
	return a.left < 0 || a.watch && a.scale.since > maxEvent ||
		a.forward && (a.scale.wordy || a.scale.items > maxItems || a.scale.outer > maxObject)
}

// pause waits until more may be read of the answers of all connections of the namespace.
func (a *answer) pause(weight int64) {
	if a.transport.limits.Delay == nil {
		return
	}
	if delay := a.transport.limits.Delay(weight); delay > 0 {
		select {
		case <-time.After(delay):
		case <-a.request.Context().Done():
		}
	}
}

// Close ends the answer.
func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	a.count(0, true)
	a.end()
	return err
}

// count reports to the limits how much of the answer is being read, 0 at its last call, and
// returns whether more may be read.
func (a *answer) count(reading int64, last bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return true // the read fails by itself
	}
	change := reading - a.counted
	a.counted, a.closed = reading, last
	return a.transport.limits.Reading == nil || a.transport.limits.Reading(change, a.watch)
}

func (a *answer) end() {
	a.once.Do(func() {
		a.timer.Stop()
		a.cancel(nil)
		if a.slot {
			<-a.transport.slots
		}
	})
}

// failed turns an error into a problem, and reports the failure. A watch that ends is not reported:
// all watches end.
func (a *answer) failed(err error) error {
	cause, failure := a.transport.causeOf(err), Unclear
	switch ended := a.request.Context().Err(); {
	case a.expired():
		cause = identity.Silent
	case ended != nil:
		return ended
	}
	if cause == identity.Silent {
		failure = TimedOut
	}
	if refused := a.ReadCloser == nil; a.report && (refused || !a.watch) {
		a.transport.report(failure)
	}
	return a.transport.Problem(cause)
}

// errExpired ends a request whose time is over.
var errExpired = errors.New("the time is over")

func (a *answer) expired() bool { return errors.Is(context.Cause(a.request.Context()), errExpired) }
