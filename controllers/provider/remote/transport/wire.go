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
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
)

const (
	// maxHeader bounds the headers of an answer.
	maxHeader = 64 << 10
	// lanes is how many requests of users are under way at a time, so that a slow
	// cluster cannot hold all workers of a controller.
	lanes = 4
	// queueing is how long a request waits for one of the lanes.
	queueing = time.Second
	// maxUser bounds the time of a request of users: a worker waits for it.
	maxUser = 5 * time.Second
)

// Limits are what the other side is held to.
type Limits struct {
	// Request bounds the time of a request, from the first byte to the last.
	Request time.Duration
	// Answer bounds the weight of an answer: its bytes, and more for each object.
	Answer int64
	// Denied are addresses that are never connected to, whatever name led there.
	Denied []netip.Prefix
}

// Wire is the way to one API server. Everything that a connection sends goes through
// it.
type Wire struct {
	transport *http.Transport
	header    atomic.Pointer[string] // value of Authorization
	server    string
	agent     string
	limits    Limits
	certified bool // there is a client certificate
	count     func(*http.Response)

	lanes    chan struct{}
	troubles troubles
}

// New takes all it knows of the other side from the access. Agent is the User-Agent of
// all requests. Count is told of every answer, and of nil for a request without one.
func New(access kubeconfig.Access, limits Limits, agent string, count func(*http.Response)) *Wire {
	dialer := &net.Dialer{Timeout: limits.Request, KeepAlive: 30 * time.Second, ControlContext: refuse(limits.Denied)}
	w := &Wire{
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        access.TLS(),
			TLSHandshakeTimeout:    limits.Request,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
			MaxIdleConnsPerHost:    lanes,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxHeader,
		},
		server: access.Server, agent: agent, limits: limits, count: count,
		certified: len(access.ClientCertificate) > 0,
		lanes:     make(chan struct{}, lanes), troubles: troubles{signal: make(chan struct{}, 1)},
	}
	w.Authorize(access.Authorization())
	return w
}

// Server is the URL of the other side.
func (w *Wire) Server() string {
	return w.server
}

// Authorize changes what the next requests carry.
func (w *Wire) Authorize(header string) {
	w.header.Store(&header)
}

// Close closes what is not in use. Requests under way come to their end.
func (w *Wire) Close() {
	w.transport.CloseIdleConnections()
}

// ForLooks returns a client for requests whose maker deals with failures.
func (w *Wire) ForLooks() *http.Client {
	on := terms{most: maxLook, within: w.limits.Request}
	return httpClient(func(request *http.Request) (*http.Response, error) { return w.send(request, on) })
}

// ForCache returns a client for lists and watches. Their failures are troubles.
func (w *Wire) ForCache() *http.Client {
	on := terms{most: w.limits.Answer, within: w.limits.Request, report: w.troubles.add}
	return httpClient(func(request *http.Request) (*http.Response, error) {
		response, err := w.send(request, on)
		if err == nil && response.StatusCode == http.StatusNotFound {
			w.troubles.add(Trouble{}) // the kind is gone
		}
		return response, err
	})
}

// ForUsers returns a client for everybody else. Their failures are troubles too, and
// they share the lanes.
func (w *Wire) ForUsers() *http.Client {
	on := terms{most: w.limits.Answer, within: min(maxUser, w.limits.Request), report: w.troubles.add}
	return httpClient(func(request *http.Request) (*http.Response, error) {
		leave, err := w.enter(request.Context())
		if err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // that is for a RoundTripper to do
			}
			return nil, err
		}
		response, err := w.send(request, on)
		if err != nil {
			leave()
			return nil, err
		}
		response.Body = &closing{ReadCloser: response.Body, then: leave}
		return response, nil
	})
}

// enter waits for a lane, not long.
func (w *Wire) enter(ctx context.Context) (leave func(), err error) {
	patience := time.NewTimer(queueing)
	defer patience.Stop()
	select {
	case w.lanes <- struct{}{}:
		return func() { <-w.lanes }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-patience.C:
		return nil, &failure{problem: w.slow()}
	}
}

// roundTrip makes a function an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) {
	return f(request)
}

// httpClient follows no redirections: they could lead the credentials elsewhere.
func httpClient(send roundTrip) *http.Client {
	return &http.Client{
		Transport:     send,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
