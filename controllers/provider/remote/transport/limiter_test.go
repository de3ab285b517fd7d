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
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// A namespace reads so much at once and then so much a second; another one is not slowed by it.
// It is logged once, until it has caught up.
func TestAttackAnswersOfANamespaceArePaced(t *testing.T) {
	const perSecond = 1 << 20
	var said []string
	clock := clocktesting.NewFakePassiveClock(time.Now())
	values := prometheus.NewRegistry()
	p, err := NewReadLimiter(perSecond, clock, funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}), values)
	expect.NoError(t, err)
	greedy, honest := p.Of("greedy"), p.Of("honest")
	for _, step := range []struct {
		name   string
		pace   func(int64) time.Duration
		weight int64
		passed time.Duration
		want   time.Duration
		slowed int
	}{
		{name: "a large list is read at once", pace: greedy, weight: burst * perSecond},
		{name: "what follows is not", pace: greedy, weight: 2 * perSecond, want: 2 * time.Second, slowed: 1},
		{name: "nor what follows that", pace: greedy, weight: perSecond, want: 3 * time.Second, slowed: 1},
		{name: "another namespace has its own", pace: honest, weight: burst * perSecond, slowed: 1},
		{name: "more than all at once is as much", pace: greedy, weight: 100 * burst * perSecond, want: (3 + burst) * time.Second, slowed: 1},
		{name: "what was not used is left", passed: (3 + 2*burst) * time.Second, pace: greedy, weight: burst * perSecond},
	} {
		clock.SetTime(clock.Now().Add(step.passed))
		if got := step.pace(step.weight); got.Round(time.Millisecond) != step.want {
			t.Errorf("%s: waits for %s, want %s", step.name, got, step.want)
		}
		t.Run(step.name, func(t *testing.T) {
			expect.Equal(t, step.slowed, testutil.CollectAndCount(p, "capm3_namespace_slowed"))
		})
	}
	expect.That(t, len(said) == 1 && strings.Contains(said[0], "greedy"), "logged %q", said)
	clock.SetTime(clock.Now().Add(time.Hour))
	if got := testutil.CollectAndCount(p, "capm3_namespace_slowed"); got != 0 || len(p.slowed) != 0 {
		t.Errorf("%d namespaces are slowed that read nothing", got)
	}
}

// A reader that waits for its turn ends with its answer.
func TestPacedAnswerEnds(t *testing.T) {
	waits := make(chan struct{}, 10)
	limits := Limits{Delay: func(int64) time.Duration {
		waits <- struct{}{}
		return time.Hour
	}}
	w := serve(t, limits, func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(out, "{}\n")
		_ = http.NewResponseController(out).Flush()
		<-r.Context().Done()
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server+"/?watch=1", http.NoBody)
	expect.NoError(t, err)
	response, err := w.ForCache().Do(request)
	expect.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(response.Body)
		ended <- err
	}()
	<-waits
	expect.NoError(t, response.Body.Close())
	expect.That(t, (<-ended) != nil, "the answer is complete")
}
