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
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	most   int64          // the weight that the answer may have
	within time.Duration  // the time for all of it, unless it is a watch
	report func(Failures) // receives failures; nil if the caller handles them
	events int64          // the weight of each event of a watch instead of all; set for a reader that repeats names of kinds in its errors
	then   func()         // called once at the end; optional
}

// send sends a request with the credentials, in bounded time, and reports its failure.
// An error wraps an identity.Problem, unless the context of the request ended.
func (t *Transport) send(request *http.Request, on terms) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	first, watch := t.times(request, on.within)
	a := &answer{terms: on, transport: t, request: request, cancel: cancel, done: ctx.Done(), left: min(on.most, t.limits.Answer), watch: watch > 0}
	if a.watch && on.events > 0 {
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
	// client-go would sleep for as long as the server asks for, and retry by itself.
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
	request   *http.Request
	cancel    context.CancelFunc
	done      <-chan struct{} // closed by cancel
	timer     *time.Timer
	expired   atomic.Bool
	left      int64 // the weight that may still be read
	event     int64 // the weight that each event may have; 0 if left is for all of them
	watch     bool  // the answer is a stream of events
	scale     scale
	whole     int64 // the weight that was read
	once      sync.Once

	mu      sync.Mutex // a watch is closed while it is read
	counted int64      // the weight that Limits.Reading was called with, or Limits.Event
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
		reading = max(a.scale.since, 0) // an event counts until it is complete
	}
	if !a.count(reading, false) {
		a.left = -1
		return 0, a.transport.refused(identity.TooManyAnswers)
	}
	if a.left -= weight; a.event > 0 {
		a.left = a.event - a.scale.since
	}
	if a.excessive() {
		a.left = -1
		return 0, a.transport.refused(identity.AnswerTooLarge)
	}
	a.pause(weight)
	// The server may answer our cancellation with a clean end of the stream. After the
	// timeout, EOF therefore does not mean that the body is complete.
	if err != nil && (err != io.EOF || a.expired.Load()) { //nolint:errorlint // readers return it bare
		err = a.failed(err)
	}
	return n, err
}

// excessive reports whether what was read is more than a limit permits.
func (a *answer) excessive() bool {
	return a.left < 0 || a.watch && a.scale.since > maxEvent ||
		a.events > 0 && (a.scale.wordy || a.scale.items > maxItems || a.scale.outer > maxObject)
}

// pause waits until more may be read of the answers of all connections of the namespace.
func (a *answer) pause(weight int64) {
	if a.transport.limits.Delay == nil {
		return
	}
	if delay := a.transport.limits.Delay(weight); delay > 0 {
		select {
		case <-time.After(delay):
		case <-a.done:
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
	listener := a.transport.limits.Reading
	if a.watch {
		listener = a.transport.limits.Event
	}
	return listener == nil || listener(change)
}

// expire ends the request when its time is over.
func (a *answer) expire() {
	a.expired.Store(true)
	a.cancel()
}

func (a *answer) end() {
	a.once.Do(func() {
		a.timer.Stop()
		a.cancel()
		if a.then != nil {
			a.then()
		}
	})
}

// failed turns an error into a failure and reports it. A watch that ends is not reported:
// all watches end.
func (a *answer) failed(err error) error {
	if given := a.request.Context().Err(); given != nil {
		return given
	}
	f := a.transport.failed(err, a.expired.Load())
	if refused := a.ReadCloser == nil; a.report != nil && (refused || !a.watch) {
		reported := Failures{}
		if f.timeout {
			reported.Problem = f.problem
		}
		a.report(reported)
	}
	return f
}
