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

package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// call is a request of the controller.
type call struct {
	*request.RequestInfo

	// body is what it writes; empty if it reads.
	body []byte
	// metadataOnly reports whether it reads nothing but metadata.
	metadataOnly bool
}

// writes reports whether the call changes something that the controller may rely on.
func (c call) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, c.Verb) &&
		c.Resource != "events" && !slices.Contains([]string{"coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}, c.APIGroup)
}

// drops reports whether the call takes a finalizer off an object.
func (c call) drops(finalizer string) bool {
	return c.writes() && c.Subresource == "" && !bytes.Contains(c.body, []byte(finalizer)) &&
		(c.Verb == "update" || bytes.Contains(c.body, []byte("finalizers")))
}

// on reports whether the call is about an object.
func (c call) on(resource, namespace, name string) bool {
	return c.Resource == resource && c.Namespace == namespace && c.Name == name
}

// proxy stands between the controller and the API server.
type proxy struct {
	server   *httptest.Server
	upstream *httputil.ReverseProxy
	resolver request.RequestInfoFactory

	mu    sync.Mutex
	calls []call
	// before is done before a call is passed on.
	before func(call)
	crash  crash
}

// crash is a controller that dies with one of its writes.
type crash struct {
	// at is the number of the write, from 1; 0 for never. arrives reports whether the write arrives, and only its answer
	// is lost.
	at      int
	arrives bool
	// writes counts those that there were, dead is closed once nothing passes any more.
	writes int
	dead   chan struct{}
}

func newProxy(account *rest.Config) (*proxy, error) {
	target, _, err := rest.DefaultServerUrlFor(account)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(account)
	if err != nil {
		return nil, fmt.Errorf("connection of the controller: %w", err)
	}
	p := &proxy{resolver: request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}}
	p.upstream = &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:    transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.reset(crash{})
	p.server = httptest.NewServer(p)
	return p, nil
}

func (p *proxy) close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// config leads a controller to the proxy.
func (p *proxy) config() *rest.Config {
	return &rest.Config{Host: p.server.URL, QPS: -1}
}

// reset forgets all calls, and lets the next controller die as given.
func (p *proxy) reset(c crash) {
	c.dead = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.before, p.crash = nil, func(call) {}, c
}

// onCall has a function done before each call.
func (p *proxy) onCall(before func(call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// seen returns the calls so far.
func (p *proxy) seen() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// ServeHTTP passes a request on, unless the controller has crashed.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := p.read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	before, dies := p.enter(c)
	switch {
	case before == nil:
		panic(http.ErrAbortHandler)
	case dies != nil: // the write arrives, also if the controller does not wait for it
		defer close(dies)
		before(c)
		p.upstream.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		panic(http.ErrAbortHandler)
	default:
		before(c)
		p.upstream.ServeHTTP(w, r)
	}
}

func (p *proxy) read(r *http.Request) (call, error) {
	info, err := p.resolver.NewRequestInfo(r)
	if err != nil {
		return call{}, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return call{}, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return call{info, body, strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")}, nil
}

// enter notes a call, and returns what is done before it is passed on; nil if it is not. It is not answered if the
// controller dies with it: then dies is to be closed once it has arrived.
func (p *proxy) enter(c call) (before func(call), dies chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.crash.dead:
		return nil, nil
	default:
	}
	p.calls = append(p.calls, c)
	if c.writes() {
		p.crash.writes++
	}
	switch {
	case !c.writes() || p.crash.at == 0 || p.crash.writes < p.crash.at:
		return p.before, nil
	case p.crash.writes > p.crash.at:
		return nil, nil
	case p.crash.arrives:
		return p.before, p.crash.dead
	default:
		close(p.crash.dead)
		return nil, nil
	}
}

// died is closed when the controller dies.
func (p *proxy) died() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crash.dead
}

// writes is how many writes the controller has made.
func (p *proxy) writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crash.writes
}
