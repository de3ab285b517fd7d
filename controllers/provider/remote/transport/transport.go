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

// Package transport sends requests to an API server that a tenant chose. It takes an
// Access of baremetal/identity/kubeconfig and limits, and returns HTTP clients
// that bound time, size and concurrency, refuse denied addresses and follow no
// redirects.
//
// Requests carry the credentials of the Access and nothing else of this process: no
// file, no proxy or other setting of the environment. Errors are in the words of
// package identity, never in those of the server. The package knows no kinds and keeps no responses.
package transport

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
)

const (
	// maxHeader bounds the headers of an answer.
	maxHeader = 64 << 10
	// maxConcurrent limits the requests of reconciles under way at a time, so that a
	// slow cluster cannot block all workers of a controller.
	maxConcurrent = 4
	// slotTimeout is how long a request waits for others to end past that limit.
	slotTimeout = time.Second
	// maxUser bounds the time of a request of a reconcile: a worker waits for it.
	maxUser = 5 * time.Second
	// maxUnread bounds what a server can send, in bytes, that waits to be read: for one
	// request by HTTP/2, and in the socket.
	maxUnread = 256 << 10
)

// Limits bound what the remote API server can cost this process.
type Limits struct {
	// Request bounds the time of a request, from the first byte to the last.
	Request time.Duration
	// Answer bounds the weight of an answer: its bytes, and more for each object.
	Answer int64
	// Reading is called with the weight of each part of an answer, and at its end with
	// what it was in all, negated; for a watch with the weight of each part of an event,
	// until that is complete. If it returns false, the answer is read no further. Optional.
	Reading func(weight int64, watch bool) bool
	// Delay is called with the weight of each part of an answer, and returns how long to wait
	// before more is read. Optional.
	Delay func(weight int64) time.Duration
	// Refused is called for each answer that the limits do not let through. Optional.
	Refused func(error)
	// Denied are addresses that are never connected to, whatever name resolves to them.
	// Optional.
	Denied Addresses
	// Proxy returns the proxy of a request, as that of http.Transport does; Denied holds
	// for the address of the proxy then. Optional: without it connections are direct.
	Proxy func(*http.Request) (*url.URL, error)
}

// Transport sends all requests of one connection to its API server.
type Transport struct {
	transport *http.Transport
	header    atomic.Pointer[string] // value of Authorization
	server    string
	agent     string
	limits    Limits
	certified bool // there is a client certificate
	count     func(*http.Response)

	slots    chan struct{} // one entry for each request of a reconcile under way
	failures chan Failure  // at most one entry
	nodes    nodeNames
}

// New returns a Transport for an access, and uses no other setting of the process. Agent
// is the User-Agent of all requests. Count is called with every response, and with nil
// for a request that got none.
func New(access kubeconfig.Access, limits Limits, agent string, count func(*http.Response)) *Transport {
	dialer := &net.Dialer{Timeout: limits.Request, KeepAlive: 30 * time.Second, ControlContext: refuse(limits.Denied)}
	t := &Transport{
		transport: &http.Transport{
			DialContext:            dial(dialer),
			Proxy:                  limits.Proxy,
			TLSClientConfig:        access.TLS(),
			TLSHandshakeTimeout:    limits.Request,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second, MaxReceiveBufferPerStream: maxUnread},
			MaxIdleConnsPerHost:    maxConcurrent,
			IdleConnTimeout:        30 * time.Second, // a connection that is given up is not always idle at once
			MaxResponseHeaderBytes: maxHeader,
		},
		server: access.Server, agent: agent, limits: limits, count: count,
		certified: len(access.ClientCertificate) > 0,
		slots:     make(chan struct{}, maxConcurrent), failures: make(chan Failure, 1),
		nodes: nodeNames{seen: sets.New[string]()},
	}
	t.Authorize(access.Authorization())
	return t
}

// Authorize sets the value of the header Authorization of the next requests.
func (t *Transport) Authorize(header string) {
	t.header.Store(&header)
}

// Close closes idle connections. Requests under way come to their end.
func (t *Transport) Close() {
	t.transport.CloseIdleConnections()
}

// ForChecks returns a client for checks of the connection, whose caller handles failures.
func (t *Transport) ForChecks() *http.Client {
	return t.client(terms{most: maxCheck, within: t.limits.Request})
}

// ForCache returns a client for lists and watches. It reports their failures.
func (t *Transport) ForCache() *http.Client {
	return t.client(terms{most: t.limits.Answer, within: t.limits.Request, report: true, kinds: true})
}

// ForUsers returns a client for reconciles. It reports their failures, and limits how
// many of their requests are under way at a time.
func (t *Transport) ForUsers() *http.Client {
	return t.client(terms{most: t.limits.Answer, within: min(maxUser, t.limits.Request), report: true, slot: true})
}

// client follows no redirects, which could send the credentials to another server.
func (t *Transport) client(on terms) *http.Client {
	return &http.Client{
		Transport:     sender{t, on},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// sender sends requests on the same terms.
type sender struct {
	*Transport

	terms terms
}

// RoundTrip sends a request.
func (s sender) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.terms.slot {
		if err := s.acquire(request.Context()); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // http.RoundTripper requires it
			}
			return nil, err
		}
	}
	return s.send(request, s.terms)
}

// acquire waits for a slot, for slotTimeout at most. The end of the answer gives it back.
func (t *Transport) acquire(ctx context.Context) error {
	timeout := time.NewTimer(slotTimeout)
	defer timeout.Stop()
	select {
	case t.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		return t.Problem(identity.Slow)
	}
}

// Addresses returns ranges of addresses as they are now: those of Services may grow. It is
// called for each connection, so it must be quick as a rule.
type Addresses func(context.Context) []netip.Prefix

// dial connects with a small buffer for what is not read yet.
func dial(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.SetReadBuffer(maxUnread) // at worst it is larger
		}
		return conn, err
	}
}

// refuse returns a check for net.Dialer.ControlContext. It runs after the name was
// resolved: a name can resolve to another address at each lookup.
func refuse(denied Addresses) func(context.Context, string, string, syscall.RawConn) error {
	return func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || denied != nil && addresses.Denied(denied(ctx), to.Addr()) {
			return errDenied
		}
		return nil
	}
}
