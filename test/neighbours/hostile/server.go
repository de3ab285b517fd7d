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

package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// Behavior is how a Server mistreats its clients. The zero value refuses every write
// at once, and otherwise answers as an API server without objects does.
type Behavior struct {
	// Delay comes before each answer but those that a connection is opened with, so
	// that the manager keeps the connection and its reconciles wait.
	Delay time.Duration
	// Flood is how many HostClaims each watch adds before it ends as if its time were
	// over. A client that resumes it gets as many others. Zero adds none.
	Flood int
	// Stream has each watch on HostClaims, and on Nodes, change one object for as long as
	// the client reads.
	Stream bool
}

// Server is the API server of a tenant's own, to which its kubeconfig leads: that of a
// cluster with hosts, or of a workload cluster.
type Server struct {
	behavior Behavior
	server   *httptest.Server

	requests, connections, opened, writes, sent, added, held, ended atomic.Int64
}

// NewServer starts a server on loopback. The caller closes it.
func NewServer(b Behavior) *Server {
	s := &Server{behavior: b}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.EnableHTTP2 = true
	s.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.server.StartTLS()
	return s
}

// Close ends all connections.
func (s *Server) Close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// Requests is how many requests came so far, watches included.
func (s *Server) Requests() int64 { return s.requests.Load() }

// Connections is how many TCP connections were accepted so far.
func (s *Server) Connections() int64 { return s.connections.Load() }

// Opened is how many times a client looked what the server knows, as it does before it
// uses a connection.
func (s *Server) Opened() int64 { return s.opened.Load() }

// Writes is how many writes were refused so far.
func (s *Server) Writes() int64 { return s.writes.Load() }

// Added is how many events watches have sent so far.
func (s *Server) Added() int64 { return s.added.Load() }

// Sent is how many bytes of events clients have taken.
func (s *Server) Sent() int64 { return s.sent.Load() }

// Held is how many requests are being held up now.
func (s *Server) Held() int64 { return s.held.Load() }

// Ended is how many requests were held up so far, until they were answered or their
// client gave up.
func (s *Server) Ended() int64 { return s.ended.Load() }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case discovery[r.URL.Path] != "":
		s.write(w, http.StatusOK, discovery[r.URL.Path])
	case strings.HasSuffix(r.URL.Path, "/selfsubjectrulesreviews"):
		s.write(w, http.StatusCreated, `{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1",`+
			`"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}}`)
	case strings.HasSuffix(r.URL.Path, "/v1alpha1"):
		s.opened.Add(1)
		s.write(w, http.StatusOK, resources)
	case query.Get("sendInitialEvents") != "": // clients then list and watch
		s.write(w, http.StatusUnprocessableEntity, status("Invalid", http.StatusUnprocessableEntity))
	case query.Get("watch") != "":
		s.watch(w, r)
	default:
		s.answer(w, r)
	}
}

// answer answers a read or a write that is no part of opening a connection. The list of
// a cache selects by the existence of a label, the one of a reconcile by its value.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	kind, list := kinds[name]
	list = list && r.Method == http.MethodGet
	if !list || strings.Contains(r.URL.Query().Get("labelSelector"), "=") {
		if !s.hold(r.Context()) {
			return
		}
	}
	switch {
	case list && strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		s.write(w, http.StatusOK, empty("PartialObjectMetadata", "meta.k8s.io/v1"))
	case list:
		s.write(w, http.StatusOK, empty(kind.name, kind.version))
	case r.Method == http.MethodGet:
		s.write(w, http.StatusNotFound, status("NotFound", http.StatusNotFound))
	default:
		s.writes.Add(1)
		s.write(w, http.StatusConflict, status("Conflict", http.StatusConflict))
	}
}

// hold holds a request up. It returns false if the client gave up.
func (s *Server) hold(ctx context.Context) bool {
	if s.behavior.Delay == 0 {
		return true
	}
	s.held.Add(1)
	defer func() {
		s.held.Add(-1)
		s.ended.Add(1)
	}()
	select {
	case <-time.After(s.behavior.Delay):
		return true
	case <-ctx.Done():
		return false
	}
}

// watch sends the events of the behavior, or stays open without one.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	_ = out.Flush()
	event := map[string]func(int64) string{"hostclaims": claim}[path.Base(r.URL.Path)]
	if s.behavior.Stream {
		event = changes[path.Base(r.URL.Path)]
	}
	if event == nil || s.behavior.Flood == 0 && !s.behavior.Stream {
		<-r.Context().Done()
		return
	}
	for n := 0; n < s.behavior.Flood || s.behavior.Stream; n++ {
		n, err := io.WriteString(w, event(s.added.Add(1)))
		s.sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

func (s *Server) write(w http.ResponseWriter, code int, body string) {
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

const resources = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metal3.io/v1alpha1","resources":[` +
	`{"name":"hostclaims","kind":"HostClaim","namespaced":true,"verbs":["get"]},` +
	`{"name":"hardwaredata","kind":"HardwareData","namespaced":true,"verbs":["get"]}]}`

// kinds are those that connections list, by resource.
var kinds = map[string]struct{ name, version string }{
	"hostclaims":   {"HostClaim", "metal3.io/v1alpha1"},
	"hardwaredata": {"HardwareData", "metal3.io/v1alpha1"},
	"secrets":      {"Secret", "v1"},
	"nodes":        {"Node", "v1"},
}

// discovery is the answers of a workload cluster to discovery requests, by path.
var discovery = map[string]string{
	"/":       `{"paths":["/api"]}`,
	"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"nodes","kind":"Node","verbs":["list","watch"]}]}`,
}

// changes are the n-th events of watches that change one object, by resource.
var changes = map[string]func(n int64) string{
	"hostclaims": func(n int64) string {
		return strings.NewReplacer("ADDED", "MODIFIED", fmt.Sprintf(`"claim-%d"`, n), `"claim"`).Replace(claim(n))
	},
	"nodes": func(n int64) string {
		return fmt.Sprintf(`{"type":"MODIFIED","object":{"kind":"Node","apiVersion":"v1","metadata":{`+
			`"name":"node","uid":"node","resourceVersion":"%d","labels":{"turn":"%d"}}}}`+"\n", n+1, n)
	},
}

func empty(kind, version string) string {
	return fmt.Sprintf(`{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, kind, version)
}

func status(reason string, code int) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// claim is the event of a watch that adds the n-th HostClaim, of about 2 KiB.
func claim(n int64) string {
	return fmt.Sprintf(`{"type":"ADDED","object":{"kind":"HostClaim","apiVersion":"metal3.io/v1alpha1","metadata":{`+
		`"namespace":"hosts","name":"claim-%d","uid":"%d","resourceVersion":"%d",`+
		`"labels":{"hostclaim.metal3.io/origin":"origin-%d"},"annotations":{"padding":"%02048d"}},"spec":{}}}`+"\n",
		n, n, n+1, n, n)
}
