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
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxPart is how many bytes are read at a time: what a reader waits for after it is bounded.
const maxPart = 64 << 10

// answer is the body of a response. It is cut off at a timeout and at a decompressed
// size, which the server would choose otherwise.
type answer struct {
	io.ReadCloser

	transport *Transport
	request   *http.Request
	report    func(Failures) // receives failures; nil if the caller handles them
	cancel    context.CancelFunc
	done      <-chan struct{} // closed by cancel
	timer     *time.Timer
	expired   atomic.Bool
	left      int64 // the weight that may still be read
	event     int64 // the weight that each event may have; 0 if left is for all of them
	watch     bool  // the answer is a stream of events
	forwarded bool  // the reader repeats names of kinds in its errors
	scale     scale
	once      sync.Once

	mu      sync.Mutex // a watch is closed while it is read
	counted int64      // the weight that Limits.Reading was called with, or Limits.Event
	closed  bool
}

// Read reads up to the limit and fails there.
func (a *answer) Read(p []byte) (int, error) {
	if a.left < 0 {
		return 0, a.transport.refused(tooLarge)
	}
	p = p[:min(int64(len(p)), a.left+1, maxPart)]
	n, err := a.ReadCloser.Read(p)
	weight := a.scale.weigh(p[:n])
	if !a.count(weight) {
		a.left = -1
		return 0, a.transport.refused(busy)
	}
	if a.left -= weight; a.event > 0 {
		a.left = a.event - a.scale.since
	}
	if a.excessive() {
		a.left = -1
		return 0, a.transport.refused(tooLarge)
	}
	a.pause(weight)
	// The server may answer our cancellation with a clean end of the stream. After the
	// timeout, EOF therefore does not mean that the body is complete.
	if err != nil && (err != io.EOF || a.expired.Load()) { //nolint:errorlint // readers return it bare
		err = a.failed(err)
	}
	return n, err
}

// excessive says that what was read is more than a limit permits.
func (a *answer) excessive() bool {
	return a.left < 0 || a.watch && a.scale.since > maxEvent ||
		a.forwarded && (a.scale.wordy || a.scale.items > maxItems || a.scale.outer > maxObject)
}

// pause waits until more may be read of the answers of all connections of the namespace.
func (a *answer) pause(weight int64) {
	pace := a.transport.limits.Pace
	if pace == nil {
		return
	}
	if delay := pace(weight); delay > 0 {
		select {
		case <-time.After(delay):
		case <-a.done:
		}
	}
}

// Close ends the answer.
func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	a.giveBack()
	a.end()
	return err
}

// count adds a weight that is read to that of all answers, and returns whether more may be read.
// Of a watch, the event that is being read is counted until it is whole.
func (a *answer) count(weight int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return true // the read fails by itself
	}
	if a.watch {
		weight = max(a.scale.since, 0) - a.counted
	}
	return a.countLocked(weight)
}

// giveBack takes the weight of the answer off again at its end.
func (a *answer) giveBack() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.countLocked(-a.counted)
	a.closed = true
}

func (a *answer) countLocked(weight int64) bool {
	a.counted += weight
	listener := a.transport.limits.Reading
	if a.watch {
		listener = a.transport.limits.Event
	}
	return listener == nil || listener(weight)
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

// closing calls a function once when a body is closed.
type closing struct {
	io.ReadCloser

	then func()
	once sync.Once
}

// Close ends the answer.
func (c *closing) Close() error {
	err := c.ReadCloser.Close()
	c.once.Do(c.then)
	return err
}
