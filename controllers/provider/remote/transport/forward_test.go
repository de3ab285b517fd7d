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
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// hostile is a message of a server that misleads a reader.
var hostile = "Ready: all is well.\n\x1b[2J" + strings.Repeat("x", 10_000)

// forwarded is an answer that was read.
type forwarded struct {
	code   int
	header http.Header
	text   string
}

// forward sends a request of a client that knows another URL, and reads the answer.
func forward(t *testing.T, w *Transport, target string) (forwarded, error) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "workload://tenant.c-kubeconfig"+target, http.NoBody)
	response, err := w.Forward(request)
	if err != nil {
		return forwarded{}, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return forwarded{response.StatusCode, response.Header, string(text)}, err
}

func TestForward(t *testing.T) {
	status := `{"kind":"Status","reason":"Conflict","message":"a\nb","details":{"kind":"secrets"},"code":200}`
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		text   string
		code   int
		fails  string
	}{
		"an answer is passed on without headers": {
			answer: func(out http.ResponseWriter, r *http.Request) {
				out.Header().Set("Warning", `299 - "`+strings.Repeat("x", 100)+`"`)
				out.Header().Set("Content-Type", "application/json;as=Table")
				_, _ = io.WriteString(out, `"`+r.Host+r.URL.RequestURI()+r.Header.Get("Authorization")+`"`)
			},
			code: http.StatusOK, text: `"HOST/api/v1/nodes?limit=5Bearer first"`,
		},
		"a redirection is refused": {
			answer: func(out http.ResponseWriter, r *http.Request) {
				http.Redirect(out, r, "http://192.0.2.1/", http.StatusFound)
			},
			fails: "it redirects to another address",
		},
		"a refusal is told in few words": {
			answer: func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", hostileType)
				out.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(out, status)
			},
			code: http.StatusConflict,
			text: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a b","reason":"Conflict","code":409}`,
		},
		"a refusal without a Status is told by its code": {
			answer: func(out http.ResponseWriter, _ *http.Request) { http.Error(out, hostile, http.StatusForbidden) },
			code:   http.StatusForbidden,
			text:   `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Forbidden","code":403}`,
		},
		"300 MB in gzip are not read": {answer: gzipped(300 << 20), fails: "larger than what this manager reads"},
		"an object of 5 MiB is not read": {
			answer: func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", jsonType)
				_, _ = io.WriteString(out, `{"items":[],"metadata":{"annotations":{"a":"`+strings.Repeat("x", 5<<20)+`"}}}`)
			},
			fails: "larger than what this manager reads",
		},
		"a kind of 10,000 characters is not read": {
			answer: func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", jsonType)
				_, _ = io.WriteString(out, `{"kind":"`+strings.Repeat("x", 10_000)+`"}`)
			},
			fails: "larger than what this manager reads",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, Limits{Answer: 32 << 20}, tt.answer)
			got, err := forward(t, w, "/api/v1/nodes?limit=5")
			if tt.fails != "" {
				expect.Error(t, tt.fails, err)
				return
			}
			expect.NoError(t, err)
			text := strings.ReplaceAll(got.text, strings.TrimPrefix(w.server, "https://"), "HOST")
			expect.That(t, got.code == tt.code && text == tt.text && len(got.header) == 1, "answers %d %v %s", got.code, got.header, text)
		})
	}
}

const hostileType = "text/all-is-well"

// gzipped answers with a list of that many bytes, which take little on the way.
func gzipped(size int) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", jsonType)
		out.Header().Set("Content-Encoding", "gzip")
		to := gzip.NewWriter(out)
		_, err := io.WriteString(to, `{"items":["`)
		for part := strings.Repeat("x", 1<<20); size > 0 && err == nil && r.Context().Err() == nil; size -= len(part) {
			_, err = io.WriteString(to, part)
		}
		_ = to.Close()
	}
}

func TestForwardTo(t *testing.T) {
	w := serve(t, Limits{}, func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(out, r.URL.RequestURI())
	})
	w.server += "/k8s/c-1"
	for target, want := range map[string]string{
		"/api/v1/nodes":     "/k8s/c-1/api/v1/nodes",
		"/api/v1/a%2Fb?x=y": "/k8s/c-1/api/v1/a%2Fb?x=y",
	} {
		got, err := forward(t, w, target)
		if diff := cmp.Diff(want, got.text); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// A watch goes on for as long as its events are small, and ends at one that is not.
func TestForwardedWatches(t *testing.T) {
	event := `{"type":"MODIFIED","object":{"metadata":{"name":"n"},"x":{"y":"` + strings.Repeat("x", 100<<10) + "\"}}}\n"
	for name, tt := range map[string]struct {
		events int
		tail   string
		fails  bool
	}{
		"many events":              {events: 500},
		"an event without end":     {events: 2, tail: `{"type":"ADDED","object":{"x":{"y":"` + strings.Repeat("x", maxEvent), fails: true},
		"many objects in an event": {events: 2, tail: `{"x":[` + strings.Repeat("{},", maxEvent/objectWeight), fails: true},
		"no event without end":     {events: 2, tail: strings.Repeat(" ", 2*maxEvent), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, Limits{}, func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", jsonType)
				for range tt.events {
					_, _ = io.WriteString(out, event)
				}
				_, _ = io.WriteString(out, tt.tail)
			})
			got, err := forward(t, w, "/api/v1/nodes?watch=true")
			expect.That(t, (err != nil) == tt.fails && len(got.text) >= (tt.events-1)*len(event), "%d bytes, %v", len(got.text), err)
		})
	}
}

// What has been read of an event counts until the event is whole or the watch is closed.
func TestEventsAreWeighedWhileTheyAreRead(t *testing.T) {
	const half = 1 << 20
	var now, most int64
	limits := Limits{Reading: func(weight int64, _ bool) bool {
		now += weight
		most = max(most, now)
		return now <= 3*half
	}}
	event := `{"type":"ADDED","object":{"metadata":{"annotations":{"a":"` + strings.Repeat("x", half)
	for name, tt := range map[string]struct {
		body  string
		most  int64
		fails bool
	}{
		"whole events":   {body: strings.Repeat(event+"\"}}}}\n", 5), most: half},
		"a half one":     {body: event, most: half, fails: true},
		"one too large":  {body: event + strings.Repeat("x", 3*half), most: 3 * half, fails: true},
		"nothing but it": {body: strings.Repeat("\n", 10)},
	} {
		t.Run(name, func(t *testing.T) {
			now, most = 0, 0
			w := serve(t, limits, func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", jsonType)
				_, _ = io.WriteString(out, tt.body)
			})
			_, err := forward(t, w, "/api/v1/nodes?watch=true")
			expect.That(t, (err != nil) == tt.fails, "error %v", err)
			expect.That(t, now == 0 && most >= tt.most && most <= tt.most+half, "at most %d, and %d at the end", most, now)
		})
	}
}

// A cluster may have 10,000 Nodes, however many watches bring them and whatever their
// events are called. A client that begins anew forgets those it had.
func TestForwardedNodesAreBounded(t *testing.T) {
	events := func(kind string, from, to int) string {
		var text strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&text, `{"type":%q,"object":{"metadata":{"name":"n-%d"}}}`+"\n", kind, i)
		}
		return text.String()
	}
	const watch, most = "/api/v1/nodes?watch=true&resourceVersion=7", maxItems
	full := events("ADDED", 0, most)
	type request struct {
		target, answer string
		fails          bool
	}
	for name, requests := range map[string][]request{
		"as many as there may be": {{target: watch, answer: full}},
		"one too many":            {{target: watch, answer: full + events("MODIFIED", most, most+1), fails: true}},
		"by one watch after the other": {
			{target: watch, answer: full}, {target: watch, answer: events("ADDED", most, most+1), fails: true},
		},
		"the same again and again":       {{target: watch, answer: full + full + events("MODIFIED", 0, most)}},
		"others, for some that are gone": {{target: watch, answer: full + events("DELETED", 0, 5) + events("ADDED", most, most+5)}},
		"bookmarks are none":             {{target: watch, answer: full + `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}` + "\n"}},
		"what is no event is one":        {{target: watch, answer: full + `{"type":["x"]}`, fails: true}},
		"after a list": {
			{target: watch, answer: full}, {target: "/api/v1/nodes", answer: `{"items":[]}`}, {target: watch, answer: events("ADDED", most, most+5)},
		},
		"after a watch that begins anew": {
			{target: watch, answer: full}, {target: watch + "&sendInitialEvents=true", answer: events("ADDED", most, most+5)},
		},
		"a list of too many": {
			{target: "/api/v1/nodes", answer: `{"items":[` + strings.Repeat("{},", maxItems) + `{}]}`, fails: true},
		},
		"other kinds are not held": {{target: "/api/v1/pods?watch=true", answer: events("ADDED", 0, most+1)}},
	} {
		t.Run(name, func(t *testing.T) {
			next := 0
			w := serve(t, Limits{Answer: 96 << 20}, func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", jsonType)
				_, _ = io.WriteString(out, requests[next].answer)
			})
			for next = range requests {
				got, err := forward(t, w, requests[next].target)
				expect.That(t, (err != nil) == requests[next].fails, "request %d: %d bytes, %v", next, len(got.text), err)
				expect.That(t, err != nil || strings.TrimSpace(got.text) == strings.TrimSpace(requests[next].answer), "request %d was answered with other text", next)
			}
		})
	}
}
