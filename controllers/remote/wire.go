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

package remote

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/kubeconfig"
)

const (
	// maxAnswer bounds what is read of one answer, after decompression. Events of a
	// watch are bounded by client-go, at 16 MiB each.
	maxAnswer = 64 << 20
	// maxHeader bounds the headers of an answer.
	maxHeader = 64 << 10
	// maxWatch bounds a watch that does not say how long it wants to be.
	maxWatch = 15 * time.Minute
	// patience is by how much a watch may be longer than it wants to be, and the
	// headers of one later than those of another answer, in request timeouts.
	patience = 3
	// lanes is how many requests of the users are under way at a time, so that a slow
	// cluster cannot hold all workers of a controller.
	lanes = 4
	// queueing is how long a request waits for one of the lanes.
	queueing = time.Second
)

// wire is the way to one API server: who may be dialed, what is sent and how long
// it may take. Everything that a connection sends goes through it.
type wire struct {
	transport *http.Transport
	header    atomic.Pointer[string] // value of Authorization
	server    string
	agent     string
	timeout   time.Duration
	metrics   *measurements
	certified bool // there is a client certificate

	lanes    chan struct{}
	troubles chan trouble // has an entry when a request has failed
}

// trouble is why a connection has to be looked at.
type trouble struct {
	// problem is there if nothing needs to be asked.
	problem *identity.Problem
	// forbidden says that a right was missing.
	forbidden bool
}

// newWire takes all it knows of the other side from the access, and nothing from
// the environment or the files of the process.
func newWire(access kubeconfig.Access, o Options, m *measurements) *wire {
	dialer := &net.Dialer{Timeout: o.RequestTimeout, KeepAlive: 30 * time.Second, ControlContext: refuse(o.Denied)}
	w := &wire{
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        access.TLS(),
			TLSHandshakeTimeout:    o.RequestTimeout,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
			MaxIdleConnsPerHost:    lanes,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxHeader,
		},
		server: access.Server, agent: o.UserAgent, timeout: o.RequestTimeout, metrics: m,
		certified: len(access.ClientCertificate) > 0,
		lanes:     make(chan struct{}, lanes), troubles: make(chan trouble, 1),
	}
	w.authorize(access.Authorization())
	return w
}

// authorize changes what the next requests carry.
func (w *wire) authorize(header string) {
	w.header.Store(&header)
}

func (w *wire) close() {
	w.transport.CloseIdleConnections()
}

// The three ways to use the wire: for looks, whose failures their maker handles;
// for the cache; and for the users, who share the lanes.

func (w *wire) forLooks() *http.Client {
	return httpClient(w.send)
}

func (w *wire) forCache() *http.Client {
	return httpClient(w.observed)
}

func (w *wire) forUsers() *http.Client {
	return httpClient(func(request *http.Request) (*http.Response, error) {
		free, err := w.enter(request.Context())
		if err != nil {
			return nil, err
		}
		response, err := w.observed(request)
		if err != nil {
			free()
			return nil, err
		}
		response.Body = &body{ReadCloser: response.Body, done: free, left: maxAnswer}
		return response, nil
	})
}

// roundTrip makes a function an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) {
	return f(request)
}

// httpClient follows no redirects: they could lead the credentials elsewhere.
func httpClient(send roundTrip) *http.Client {
	return &http.Client{
		Transport:     send,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// enter waits for a lane, not long.
func (w *wire) enter(ctx context.Context) (free func(), err error) {
	patience := time.NewTimer(queueing)
	defer patience.Stop()
	select {
	case w.lanes <- struct{}{}:
		return func() { <-w.lanes }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-patience.C:
		return nil, slow(w.server)
	}
}

// observed sends a request and reports what went wrong with it.
func (w *wire) observed(request *http.Request) (*http.Response, error) {
	response, err := w.send(request)
	switch {
	case request.Context().Err() != nil: // whoever asked has lost interest
	case err != nil:
		w.report(trouble{problem: timedOut(err)})
	case response.StatusCode == http.StatusForbidden:
		w.report(trouble{forbidden: true})
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode >= http.StatusInternalServerError:
		w.report(trouble{})
	}
	return response, err
}

// forget takes back what was reported before.
func (w *wire) forget() {
	select {
	case <-w.troubles:
	default:
	}
}

func (w *wire) report(t trouble) {
	select {
	case w.troubles <- t:
	default:
	}
}

// send sends a request with the credentials, in bounded time. An error is an
// identity.Problem, unless whoever asked has given up.
func (w *wire) send(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	headers, whole := w.limits(request)
	expired := &atomic.Bool{}
	timer := time.AfterFunc(headers, func() { expired.Store(true); cancel() })
	out := request.Clone(ctx)
	out.Header.Set("User-Agent", w.agent)
	out.Header.Del("Authorization")
	if header := *w.header.Load(); header != "" {
		out.Header.Set("Authorization", header)
	}
	response, err := w.transport.RoundTrip(out)
	w.metrics.sent(response)
	if err != nil {
		timer.Stop()
		cancel()
		if request.Context().Err() != nil {
			return nil, request.Context().Err()
		}
		return nil, w.problem(err, expired.Load())
	}
	timer.Reset(whole)
	// client-go would wait as long as the other side says, and ask again.
	response.Header.Del("Retry-After")
	response.Body = &body{
		ReadCloser: response.Body, left: allowance(request),
		done: func() { timer.Stop(); cancel() },
	}
	return response, nil
}

// limits says how long the headers of an answer and the whole of it may take.
func (w *wire) limits(request *http.Request) (headers, whole time.Duration) {
	if !watches(request) {
		return w.timeout, w.timeout
	}
	whole = maxWatch
	seconds, err := strconv.ParseInt(request.URL.Query().Get("timeoutSeconds"), 10, 32)
	if err == nil && seconds > 0 {
		whole = min(whole, time.Duration(seconds)*time.Second)
	}
	return patience * w.timeout, whole + patience*w.timeout
}

// watches says that the answer to a request has no end of its own.
func watches(request *http.Request) bool {
	return request.URL.Query().Get("watch") != ""
}

// allowance says how many bytes of an answer are read.
func allowance(request *http.Request) int64 {
	if watches(request) {
		return -1
	}
	return maxAnswer
}

// body is the body of an answer, with a limit.
type body struct {
	io.ReadCloser

	left int64 // negative means no limit
	done func()
	once sync.Once
}

// Read reads up to the limit and fails there.
func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLarge
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	return n, err
}

// Close ends the answer.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.done)
	return err
}
