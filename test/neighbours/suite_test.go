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

package neighbours

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/hostile"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

const (
	// honest is the tenant beside which the others live.
	honest = "honest"
	// patience is how long a story may take.
	patience = 3 * time.Minute
	// maxMemory is what a manager may hold in any story, in MiB: several times what it
	// takes for the few honest machines, and less than the limits of the manifests.
	maxMemory = 400
	// workers is how many machines or claims a manager works on at a time.
	workers = 10
)

var (
	server harness.Server
	place  *town.Town
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(staged{m}))
}

// staged runs the tests in a town with one honest tenant.
type staged struct{ tests *testing.M }

// Run returns the code that the process ends with.
func (s staged) Run() int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	folder, err := os.MkdirTemp("", "neighbours-")
	if err == nil {
		place, err = town.Open(ctx, &server, folder)
	}
	if err == nil {
		err = place.Tenant(ctx, honest)
	}
	code := 1
	if err == nil {
		code = s.tests.Run()
	}
	if place != nil {
		err = errors.Join(err, place.Close())
	}
	if err != nil || code != 0 {
		fmt.Fprintf(os.Stderr, "neighbors: %v (logs: %s)\n", err, folder)
		return 1
	}
	_ = os.RemoveAll(folder)
	return 0
}

// story is what one hostile tenant does.
type story struct {
	*testing.T

	ctx    context.Context
	tenant string
	sent   map[*site.Manager]float64
}

// begin makes the namespace of a hostile tenant, and begins to count.
func begin(t *testing.T, tenant string) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s := &story{T: t, ctx: ctx, tenant: tenant, sent: map[*site.Manager]float64{}}
	s.ok(place.Tenant(ctx, tenant))
	s.ok(place.Quiet(ctx, 200*time.Millisecond))
	for _, m := range []*site.Manager{place.Provider, place.HostClaim} {
		sent, err := m.Sent(ctx)
		s.ok(errors.Join(err, m.ForgetPeak()))
		s.sent[m] = sent
	}
	return s
}

// end prints what the managers took, asserts that it is bounded, and takes the hostile
// tenant away.
func (s *story) end() {
	s.Helper()
	for name, m := range map[string]*site.Manager{"provider": place.Provider, "hostclaim": place.HostClaim} {
		_, peak, err := m.Memory()
		s.ok(err)
		s.Logf("%s manager: at most %.0f MiB, %.0f requests", name, peak, s.requests(m))
		s.atMost("MiB of the "+name+" manager", int64(peak), maxMemory)
	}
	s.ok(place.Evict(s.ctx, s.tenant))
}

// requests is how many requests a manager has sent since the story began.
func (s *story) requests(m *site.Manager) float64 {
	s.Helper()
	sent, err := m.Sent(s.ctx)
	s.ok(err)
	return sent - s.sent[m]
}

// memory prints what the provider manager holds, and returns how many goroutines it has.
func (s *story) memory(when string) float64 {
	s.Helper()
	goroutines, err := place.Provider.Goroutines(s.ctx)
	now, _, other := place.Provider.Memory()
	s.ok(errors.Join(err, other))
	s.Logf("%s: the provider manager has %.0f goroutines and %.0f MiB", when, goroutines, now)
	return goroutines
}

func (s *story) ok(err error) {
	s.Helper()
	expect.NoError(s.T, err)
}

func (s *story) atMost(what string, got, most int64) {
	s.Helper()
	expect.That(s.T, got <= most, "%d %s, want at most %d", got, what, most)
}

// serveHonest makes a machine of the honest tenant and waits until it has its host.
func (s *story) serveHonest() {
	s.Helper()
	waited, err := place.Serve(s.ctx, types.NamespacedName{Namespace: honest, Name: "beside-" + s.tenant})
	s.ok(err)
	s.Logf("the honest tenant has a status after %d ms, its host after %d ms", waited.Status.Milliseconds(), waited.Bound.Milliseconds())
}

// serveSeveral makes machines of the honest tenant one after the other, and prints how long
// they waited and what the provider manager took meanwhile.
func (s *story) serveSeveral(when string, count int) {
	s.Helper()
	begun := time.Now()
	before, err := place.Provider.Work(s.ctx)
	s.ok(err)
	var sum time.Duration
	for n := range count {
		waited, err := place.Serve(s.ctx, types.NamespacedName{Namespace: honest, Name: fmt.Sprintf("%s-%s-%d", when, s.tenant, n)})
		s.ok(err)
		sum += waited.Bound
	}
	after, err := place.Provider.Work(s.ctx)
	s.ok(err)
	work := after.Since(before)
	s.Logf("%s: a machine of the honest tenant has its host after %d ms, the provider manager has %.0f passes and takes %.2f processors",
		when, (sum / time.Duration(count)).Milliseconds(), work.PassesOf(), work.CPU.Seconds()/time.Since(begun).Seconds())
}

// slowed returns the namespaces that the provider manager reports as read slowly.
func (s *story) slowed() []string {
	s.Helper()
	slowed, err := place.Provider.Slowed(s.ctx)
	s.ok(err)
	return slowed
}

// server starts an API server of the hostile tenant, with a kubeconfig of these
// contexts in a Secret.
func (s *story) server(b hostile.Behavior, secret string, contexts ...string) *hostile.Server {
	s.Helper()
	server, err := place.HostileServer(s.ctx, s.tenant, b, secret, contexts...)
	s.Cleanup(server.Close)
	s.ok(err)
	return server
}

// machines makes machines of the hostile tenant that use a context of a Secret.
func (s *story) machines(secret, kubeContext string, count int) []types.NamespacedName {
	s.Helper()
	keys, err := place.RemoteMachines(s.ctx, s.tenant, secret, kubeContext, count)
	s.ok(err)
	return keys
}

// until waits until a count that nothing announces has come so far.
func (s *story) until(what string, reached func() bool) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatalf("waited in vain until %s", what)
		}
	}
}
