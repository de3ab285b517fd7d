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
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// serve returns a Transport to a server that answers like this.
func serve(t *testing.T, limits Limits, answer http.HandlerFunc) *Transport {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	access := kubeconfig.Access{
		Server: server.URL, Token: "first",
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	if limits.Request == 0 {
		limits.Request = time.Minute
	}
	if limits.Answer == 0 {
		limits.Answer = 1 << 20
	}
	w := New(access, limits, "agent", func(*http.Response) {})
	t.Cleanup(func() {
		w.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return w
}

// get reads a path to its end.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer of the manager")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func TestRequestsCarryOnlyWhatTheAccessSays(t *testing.T) {
	w := serve(t, Limits{}, func(out http.ResponseWriter, r *http.Request) {
		_, _ = out.Write([]byte(r.Header.Get("Authorization") + ", " + r.UserAgent()))
	})
	expect.That(t, w.transport.Proxy == nil, "the environment may name a proxy")
	for _, client := range []*http.Client{w.ForChecks(), w.ForCache(), w.ForUsers()} {
		w.Authorize("Bearer first")
		before, err := get(t.Context(), client, w.server)
		expect.NoError(t, err)
		w.Authorize("Bearer second")
		after, err := get(t.Context(), client, w.server)
		expect.NoError(t, err)
		w.Authorize("")
		none, err := get(t.Context(), client, w.server)
		expect.NoError(t, err)
		expect.Equal(t, []string{"Bearer first, agent", "Bearer second, agent", ", agent"}, []string{before, after, none})
	}
}

func TestFailures(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(code) }
	}
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	breakOff := func(out http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(out).Flush()
		panic(http.ErrAbortHandler)
	}
	const short = 50 * time.Millisecond
	tests := map[string]struct {
		answer  http.HandlerFunc
		query   string
		request time.Duration
		cache   bool    // asked by the cache
		want    Failure // 0 for none
	}{
		"an answer is none":                        {answer: status(http.StatusOK)},
		"an object that is not there is none":      {answer: status(http.StatusNotFound)},
		"a kind that is not there is one":          {answer: status(http.StatusNotFound), cache: true, want: Unclear},
		"a refused write is none":                  {answer: status(http.StatusConflict)},
		"bad credentials are one":                  {answer: status(http.StatusUnauthorized), want: Unclear},
		"a missing right is one":                   {answer: status(http.StatusForbidden), want: Forbidden},
		"a server that is out of order is one":     {answer: status(http.StatusBadGateway), want: Unclear},
		"a connection that breaks is one":          {answer: abort, want: Unclear},
		"an answer that breaks off is one":         {answer: breakOff, want: Unclear},
		"a watch that breaks off is none":          {answer: breakOff, query: "?watch=true", cache: true},
		"a watch that does not begin is one":       {answer: abort, query: "?watch=true", cache: true, want: Unclear},
		"no answer in time is one by itself":       {answer: hang, request: short, want: TimedOut},
		"no watch in time is one by itself":        {answer: hang, query: "?watch=true", request: short, cache: true, want: TimedOut},
		"a watch that ends when it wanted is none": {answer: status(http.StatusOK), query: "?watch=true&timeoutSeconds=1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := serve(t, Limits{Request: tt.request}, tt.answer)
			client := w.ForUsers()
			if tt.cache {
				client = w.ForCache()
			}
			_, err := get(t.Context(), client, w.server+tt.query)
			expect.Equal(t, tt.want, take(w))
			var problem *identity.Problem
			expect.That(t, err == nil || errors.As(err, &problem), "the error is not in our words: %v", err)
		})
	}
}

// The headers can arrive while the connection is closed because their time is over.
func TestAnswersAfterTheirTimeAreFailures(t *testing.T) {
	for name, query := range map[string]string{"of a watch": "?watch=true", "of a request": ""} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, Limits{Request: 50 * time.Millisecond}, func(out http.ResponseWriter, _ *http.Request) {
				out.WriteHeader(http.StatusOK)
			})
			w.count = func(response *http.Response) {
				if response != nil { // it came in time, but is looked at too late
					<-response.Request.Context().Done()
				}
			}
			_, err := get(t.Context(), w.ForCache(), w.server+query)
			expect.That(t, err != nil && strings.HasSuffix(err.Error(), w.Problem(identity.Silent).Message), "ended with %v, want a timeout", err)
			expect.Equal(t, TimedOut, take(w))
		})
	}
}

func TestChecksAreNoFailures(t *testing.T) {
	w := serve(t, Limits{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := get(t.Context(), w.ForChecks(), w.server)
	expect.Must(t, err != nil, "there is an answer")
	expect.That(t, take(w) == 0, "a look is reported")
}

func TestCallersThatGiveUpAreNoFailure(t *testing.T) {
	asked := make(chan struct{})
	w := serve(t, Limits{}, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := get(ctx, w.ForUsers(), w.server)
	expect.That(t, errors.Is(err, context.Canceled), "the error is %v", err)
	expect.Equal(t, 0, take(w))
}

func TestFailedJoinsFailures(t *testing.T) {
	w := serve(t, Limits{}, nil)
	for _, failure := range []Failure{Unclear, Forbidden, TimedOut, Unclear} {
		w.report(failure)
	}
	expect.Equal(t, TimedOut, take(w))
	expect.Equal(t, 0, take(w))
}

// take returns the failure so far, 0 if there is none.
func take(w *Transport) Failure {
	select {
	case taken := <-w.Failed():
		return taken
	default:
		return 0
	}
}

func TestAnswersHaveALimit(t *testing.T) {
	const limit = 1000
	for name, tt := range map[string]struct {
		size  int
		query string
		fails bool
	}{
		"below it":          {size: limit - 1},
		"beyond it":         {size: limit + 1, fails: true},
		"watches beyond it": {size: limit + 1, query: "?watch=true", fails: true},
		"far beyond it":     {size: 100 * limit, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, Limits{Answer: limit}, func(out http.ResponseWriter, _ *http.Request) {
				_, _ = out.Write([]byte(strings.Repeat("x", tt.size)))
			})
			text, err := get(t.Context(), w.ForUsers(), w.server+tt.query)
			expect.That(t, (err != nil) == tt.fails && len(text) <= limit, "%d bytes, %v", len(text), err)
		})
	}
}

func TestTimes(t *testing.T) {
	w := &Transport{limits: Limits{Request: 10 * time.Second}}
	for query, want := range map[string][2]time.Duration{
		"":                              {5 * time.Second, 0},
		"timeoutSeconds=600":            {5 * time.Second, 0},
		"watch=true":                    {30 * time.Second, maxWatch + 30*time.Second},
		"watch=true&timeoutSeconds=300": {30 * time.Second, 330 * time.Second},
		"watch=1&timeoutSeconds=999999": {30 * time.Second, maxWatch + 30*time.Second},
	} {
		request := httptest.NewRequest(http.MethodGet, "https://a/?"+query, http.NoBody)
		first, watch := w.times(request, 5*time.Second)
		got := [2]time.Duration{first, watch}
		expect.That(t, got == want, "%q: %v, want %v", query, got, want)
	}
}

// A server that sends the headers at the last moment has no time left for the rest; TestTimes
// has the times.
func TestAnswersEndInOneTime(t *testing.T) {
	const limit = time.Second
	w := serve(t, Limits{Request: limit}, func(out http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(limit / 2):
		case <-r.Context().Done():
		}
		_ = http.NewResponseController(out).Flush()
		<-r.Context().Done()
	})
	_, err := get(t.Context(), w.ForUsers(), w.server)
	expect.That(t, err != nil && strings.HasSuffix(err.Error(), w.Problem(identity.Silent).Message), "ended with %v, want a timeout", err)
}

// An answer that ends just when its time is over may be cut short, so it counts as failed.
func TestAnswersThatEndWithTheirTimeFail(t *testing.T) {
	w := serve(t, Limits{}, func(http.ResponseWriter, *http.Request) {})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errExpired)
	a := &answer{
		ReadCloser: io.NopCloser(strings.NewReader("half")), transport: w, left: 100,
		request: httptest.NewRequestWithContext(ctx, http.MethodGet, "https://a/", http.NoBody),
	}
	_, err := io.ReadAll(a)
	expect.That(t, err != nil && strings.HasSuffix(err.Error(), w.Problem(identity.Silent).Message), "ended with %v, want a timeout", err)
}

func TestRefuse(t *testing.T) {
	ask := refuse(func(context.Context) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fe80::/10")}
	})
	for address, denied := range map[string]bool{
		"203.0.113.7:443":          false,
		"127.0.0.1:443":            true,
		"[::ffff:127.0.0.1]:443":   true,
		"[fe80::1%eth0]:443":       true,
		"[2001:db8::1]:443":        false,
		"what is not an address:1": true,
	} {
		err := ask(t.Context(), "tcp", address, nil)
		expect.That(t, (err != nil) == denied, "%s: %v", address, err)
	}
}
