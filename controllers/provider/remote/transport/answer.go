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

// answer is the body of what comes back for a request. It ends after a time and at a
// weight, decompressed: both are the other side's choice otherwise.
type answer struct {
	io.ReadCloser

	wire    *Wire
	request *http.Request
	report  func(Trouble) // nil if nobody is to know of failures
	cancel  context.CancelFunc
	timer   *time.Timer
	expired atomic.Bool
	left    int64 // the weight that it may still have
	scale   scale
	once    sync.Once
}

// Read reads up to the limit and fails there.
func (a *answer) Read(p []byte) (int, error) {
	if a.left < 0 {
		return 0, a.wire.tooLarge()
	}
	if int64(len(p)) > a.left+1 {
		p = p[:a.left+1]
	}
	n, err := a.ReadCloser.Read(p)
	if a.left -= a.scale.weigh(p[:n]); a.left < 0 {
		return 0, a.wire.tooLarge()
	}
	// An end that comes with the end of the time may be no more than the other side's
	// farewell to a request that was given up.
	if err != nil && (err != io.EOF || a.expired.Load()) { //nolint:errorlint // readers return it bare
		err = a.failed(err)
	}
	return n, err
}

// Close ends the answer.
func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	a.end()
	return err
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

// failed says what a broken answer means. The end of a watch means nothing.
func (a *answer) failed(err error) error {
	if given := a.request.Context().Err(); given != nil {
		return given
	}
	f := a.wire.failed(err, a.expired.Load())
	if refused := a.ReadCloser == nil; a.report != nil && (refused || !watches(a.request)) {
		t := Trouble{}
		if f.timeout {
			t.Problem = f.problem
		}
		a.report(t)
	}
	return f
}

// closing does something more when an answer is closed.
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
