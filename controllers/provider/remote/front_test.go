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

package remote_test

import (
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// front stands before the API server: it knows what was asked, and can do to requests
// what an API server does not do by itself.
type front struct {
	*httptest.Server

	mu    sync.Mutex
	asked []asked
	open  map[string]int // watches under way, by resource
	act   func(http.ResponseWriter, *http.Request) bool
}

// asked is one request.
type asked struct {
	// Verb is watch, or the method.
	Verb, Resource string
	authorization  string
	agent          string
}

func newFront(t *testing.T) *front {
	t.Helper()
	target, err := url.Parse(server.Config.Host)
	expect.NoError(t, err)
	trusted, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: server.Config.CAData}})
	expect.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: trusted, ForceAttemptHTTP2: true}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	f := &front{open: map[string]int{}}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watch := f.note(r)
		if watch != "" {
			defer f.count(watch, -1)
		}
		f.mu.Lock()
		act := f.act
		f.mu.Unlock()
		if act == nil || !act(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	f.EnableHTTP2 = true
	f.StartTLS()
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
		transport.CloseIdleConnections()
	})
	return f
}

// note remembers a request and returns the resource if it is a watch.
func (f *front) note(r *http.Request) string {
	a := asked{Verb: r.Method, Resource: path.Base(r.URL.Path), authorization: r.Header.Get("Authorization"), agent: r.UserAgent()}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		f.asked = append(f.asked, a)
		return ""
	}
	a.Verb = "watch"
	f.asked = append(f.asked, a)
	f.open[a.Resource]++
	return a.Resource
}

func (f *front) count(resource string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[resource] += n
	if f.open[resource] == 0 {
		delete(f.open, resource)
	}
}

// watches are those under way, by resource.
func (f *front) watches() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.open)
}

// requests returns what was asked since the last call.
func (f *front) requests() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.asked
	f.asked = nil
	return out
}

// on has act answer requests; act returns whether it did.
func (f *front) on(act func(http.ResponseWriter, *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.act = act
}

// leads changes a kubeconfig to lead to the front.
func (f *front) leads(config *clientcmdapi.Config) {
	config.Clusters["infra"].Server = f.URL
	config.Clusters["infra"].CertificateAuthorityData = f.authority()
}

func (f *front) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

// drop ends every watch before it has begun.
func drop(_ http.ResponseWriter, r *http.Request) bool {
	if r.URL.Query().Get("watch") != "" {
		panic(http.ErrAbortHandler)
	}
	return false
}

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// answers replaces the answers to all requests but those that the API server must see
// for the connection to be made.
func answers(status int, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/selfsubjectrulesreviews") || strings.HasSuffix(r.URL.Path, "/v1alpha1") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}
