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

package pool

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var born = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// host returns a free host of namespace infra, or of another one when given.
func host(name string, labels ...string) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		h.Labels[l] = ""
	}
	h.Status.Provisioning.State = bmov1alpha1.StateAvailable
	return h
}

func inUse(name string) *bmov1alpha1.BareMetalHost {
	h := host(name)
	h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "other"}
	return h
}

func hostKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "infra", Name: name}
}

func claimKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "tenant", Name: name}
}

// waiterFor returns a claim that is as many seconds old as wished and asks for
// hosts with the labels.
func waiterFor(t *testing.T, name string, age int, labels ...string) Waiter {
	t.Helper()
	claim := &bmov1alpha1.HostClaim{}
	for _, l := range labels {
		claim.Spec.HostSelector.MatchExpressions = append(claim.Spec.HostSelector.MatchExpressions,
			bmov1alpha1.HostSelectorRequirement{Key: l, Operator: "exists"})
	}
	criteria, err := selection.Parse(claim)
	expect.NoError(t, err)
	return Waiter{
		Claim: claimKey(name), UID: types.UID(name), Created: born.Add(-time.Duration(age) * time.Second),
		Criteria: criteria, Namespaces: []string{"infra"},
	}
}

// cached is a pool that sees hosts as the cache of the manager shows them.
type cached struct{ *Pool }

// Observe strips a host and has the pool observe it.
func (p cached) Observe(host *bmov1alpha1.BareMetalHost) {
	binding.StripHost(host)
	p.Pool.Observe(host)
}

// newPool returns a pool and a function that returns the claims that were woken since its last
// call.
func newPool(t *testing.T) (cached, func() []string) {
	t.Helper()
	p := cached{New()}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	expect.NoError(t, p.Source().Start(t.Context(), queue))
	return p, func() []string {
		var out []string
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
			out = append(out, request.Name)
		}
		return out
	}
}

// pick begins a pass of a claim that looks for a host, and returns the name of
// the host that it gets; empty for none.
func pick(p cached, w Waiter) (name string, end func()) {
	end = p.Begin(w.Claim)
	p.Enter(w)
	h, found := p.Pick(w.Claim)
	if !found {
		return "", end
	}
	return h.Name, end
}

// pass is a pass of a claim that binds nothing; it returns what was picked.
func pass(p cached, w Waiter) string {
	name, end := pick(p, w)
	end()
	return name
}

// bound is a pass of a claim that binds what it picks.
func bound(p cached, w Waiter) string {
	name, end := pick(p, w)
	if name != "" {
		p.Bound(hostKey(name))
		p.Leave(w.Claim)
	}
	end()
	return name
}

func TestPickGivesFreeHostsInOrderAndEachOnce(t *testing.T) {
	p, _ := newPool(t)
	for _, name := range []string{"c", "a", "d", "b"} {
		p.Observe(host(name))
	}
	p.Observe(inUse("d"))
	first, endFirst := pick(p, waiterFor(t, "one", 0))
	expect.Equal(t, "a", first)
	expect.Equal(t, "b", bound(p, waiterFor(t, "two", 0)))
	endFirst()
	expect.Equal(t, "a", bound(p, waiterFor(t, "three", 0))) // after a was returned
	expect.Equal(t, "c", bound(p, waiterFor(t, "four", 0)))
	expect.Equal(t, "", pass(p, waiterFor(t, "five", 0))) // then nothing
	p.Observe(host("a"))
	expect.Equal(t, "a", pass(p, waiterFor(t, "five", 0)))              // a when it is free again
	expect.Equal(t, "", pass(p, Waiter{Namespaces: []string{"other"}})) // nothing of another namespace
	_, found := p.Pick(claimKey("unknown"))
	expect.That(t, !found, "a claim that does not wait got a host")
}

func TestFreeHostWakesTheOldestClaimThatItSuits(t *testing.T) {
	p, woken := newPool(t)
	p.Enter(waiterFor(t, "young", 1))
	p.Enter(waiterFor(t, "old", 3))
	p.Enter(waiterFor(t, "picky", 4, "gpu"))
	p.Enter(waiterFor(t, "middle", 2))
	expect.Equal(t, []types.NamespacedName{
		claimKey("picky"), claimKey("old"), claimKey("middle"), claimKey("young"),
	}, p.Waiting())
	p.Observe(host("a"))
	expect.Equal(t, []string{"old"}, woken()) // woken by a
	p.Observe(host("a"))
	expect.Equal(t, []string(nil), woken()) // woken by a once more
	p.Observe(host("b"))
	expect.Equal(t, []string{"middle"}, woken()) // woken by b while old is at work
	p.Observe(host("c", "gpu"))
	expect.Equal(t, []string{"picky"}, woken()) // woken by a host with gpu
}

func TestHostThatAClaimDoesNotTakeGoesToTheNext(t *testing.T) {
	p, woken := newPool(t)
	for i, name := range []string{"third", "second", "first"} {
		p.Enter(waiterFor(t, name, i))
	}
	p.Observe(host("a"))
	expect.Equal(t, []string{"first"}, woken())
	p.Begin(claimKey("first"))()                 // a pass that fails before it looks for a host
	expect.Equal(t, []string{"second"}, woken()) // woken when first stays without
	p.Leave(claimKey("second"))
	expect.Equal(t, []string{"third"}, woken())             // woken when second goes
	expect.Equal(t, "a", pass(p, waiterFor(t, "third", 0))) // picked by third, who fails to bind
	expect.Equal(t, []string(nil), woken())                 // woken when no claim is left
	p.Begin(claimKey("third"))()
	p.Begin(claimKey("unknown"))()
	p.Leave(claimKey("unknown"))
	p.Observe(host("a"))
	expect.Equal(t, []string(nil), woken()) // woken once more, although nothing has changed
	p.Observe(inUse("a"))
	p.Observe(host("a"))
	expect.Equal(t, []string{"first"}, woken()) // woken when the host was freed again
}

// Each claim that fails backs off: neither its own host nor that of another
// failing claim wakes it at once.
func TestFailingClaimsDoNotDriveEachOther(t *testing.T) {
	p, woken := newPool(t)
	old, young := waiterFor(t, "old", 2), waiterFor(t, "young", 1)
	p.Observe(host("a"))
	expect.Equal(t, "a", pass(p, old))      // old picks
	expect.Equal(t, []string(nil), woken()) // woken by the failure of one that is alone
	p.Enter(young)
	expect.Equal(t, "a", pass(p, old))          // old picks when it is tried again
	expect.Equal(t, []string{"young"}, woken()) // woken by the failure of old
	expect.Equal(t, "a", pass(p, young))        // young picks
	expect.Equal(t, []string(nil), woken())     // woken by the failure of both
	expect.Equal(t, "a", pass(p, old))          // old picks when it is tried once more
	expect.Equal(t, []string(nil), woken())     // woken after that
}

func TestClaimThatFailedOnceIsAskedAgainForAHostThatItFoundTaken(t *testing.T) {
	p, woken := newPool(t)
	first, second := waiterFor(t, "first", 2), waiterFor(t, "second", 1)
	p.Observe(host("a"))
	expect.Equal(t, "a", pass(p, first)) // a pass that binds nothing
	_, end := pick(p, second)
	expect.Equal(t, "", pass(p, first)) // a pass while another claim binds the host
	woken()
	end()
	expect.Equal(t, []string{"first"}, woken()) // who is woken when the host is returned
}

func TestTakenHostIsNotOffered(t *testing.T) {
	p, woken := newPool(t)
	p.Observe(host("a"))
	picked, end := pick(p, waiterFor(t, "taker", 2))
	expect.Equal(t, "a", picked)
	p.Enter(waiterFor(t, "other", 1))
	p.Observe(host("a"))
	expect.Equal(t, []string(nil), woken()) // woken while a is taken
	end()
	expect.Equal(t, []string{"other"}, woken()) // woken when a comes back
	p.Observe(inUse("a"))
	p.Begin(claimKey("other"))()
	p.Leave(claimKey("taker"))
	p.Observe(host("a"))
	expect.Equal(t, []string{"other"}, woken()) // woken when a is free once more
}

func TestNewClaimLeavesAHostToAnOlderOneThatWasWokenForIt(t *testing.T) {
	tests := map[string]struct {
		// then is what happens to the older claim, named old, after the young one
		// has left the host to it.
		then func(p cached, old Waiter)
		want []string // woken
	}{
		"and gets it when the older one goes": {
			func(p cached, old Waiter) { p.Leave(old.Claim) }, []string{"young"},
		},
		"and gets it when the older one fails before it looks": {
			func(p cached, old Waiter) { p.Begin(old.Claim)() }, []string{"young"},
		},
		"and gets it when the older one fails to bind": {
			func(p cached, old Waiter) { pass(p, old) }, []string{"young"},
		},
		"and gets it when the older one wants something else by now": {
			func(p cached, old Waiter) { old.Namespaces = nil; pass(p, old) }, []string{"young"},
		},
		"and waits on when the older one binds it": {
			func(p cached, old Waiter) { bound(p, old) }, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, woken := newPool(t)
			old, young := waiterFor(t, "old", 2), waiterFor(t, "young", 1)
			p.Enter(old)
			p.Observe(host("a"))
			expect.Equal(t, []string{"old"}, woken()) // woken by a
			expect.Equal(t, "", pass(p, young))       // picked by young
			tt.then(p, old)
			expect.Equal(t, tt.want, woken()) // woken then
			if tt.want != nil {
				expect.Equal(t, "a", pass(p, young)) // picked by young then
			}
		})
	}
}

func TestOlderClaimMayTakeWhatIsOnOfferToAYoungerOne(t *testing.T) {
	p, woken := newPool(t)
	young := waiterFor(t, "young", 1)
	p.Enter(young)
	p.Observe(host("a"))
	expect.Equal(t, []string{"young"}, woken()) // woken by a
	picked, end := pick(p, waiterFor(t, "old", 2))
	expect.Equal(t, "a", picked)        // picked by old
	expect.Equal(t, "", pass(p, young)) // picked by young meanwhile
	end()
	expect.Equal(t, []string{"young"}, woken()) // woken when old fails to bind
}

func TestHostThatChangesOnOfferIsOfferedAnewFromTheStart(t *testing.T) {
	tests := map[string]struct {
		changed *bmov1alpha1.BareMetalHost
		want    []string // woken
	}{
		"to an older claim that it suits now":             {host("a", "plain", "gpu"), []string{"old"}},
		"to an older claim when it suits the younger not": {host("a", "gpu"), []string{"old"}},
		"to no claim when it suits none":                  {host("a"), nil},
		"not when nothing has changed that matters":       {host("a", "plain"), nil},
		"not when it is in use":                           {inUse("a"), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, woken := newPool(t)
			p.Enter(waiterFor(t, "old", 2, "gpu"))
			p.Enter(waiterFor(t, "young", 1, "plain"))
			p.Observe(host("a", "plain"))
			expect.Equal(t, []string{"young"}, woken()) // woken at first
			p.Observe(tt.changed)
			expect.Equal(t, tt.want, woken()) // woken by the change
		})
	}
}

// of returns a claim of another namespace.
func of(namespace string, w Waiter) Waiter {
	w.Claim.Namespace = namespace
	w.UID = types.UID(namespace) + w.UID
	return w
}

// A tenant with a backlog, however old, does not keep others from hosts.
func TestNamespacesAreServedInTurn(t *testing.T) {
	p, woken := newPool(t)
	for i, name := range []string{"first", "second", "third"} {
		p.Enter(waiterFor(t, name, 9-i))
	}
	p.Enter(of("other", waiterFor(t, "late", 1)))
	p.Enter(of("picky", waiterFor(t, "gpu", 2, "gpu")))
	p.Enter(waiterFor(t, "first", 9)) // a pass does not cost it its place
	expect.Equal(t, []types.NamespacedName{
		claimKey("first"), claimKey("second"), claimKey("third"), {Namespace: "other", Name: "late"}, {Namespace: "picky", Name: "gpu"},
	}, p.Waiting())
	for i, want := range []string{"first", "late", "second", "third"} {
		p.Observe(host(fmt.Sprint("host-", i)))
		expect.Equal(t, []string{want}, woken())
	}
	// A claim that comes anew waits until the others were served.
	p.Leave(types.NamespacedName{Namespace: "other", Name: "late"})
	p.Enter(of("third", waiterFor(t, "waits", 1)))
	p.Enter(of("other", waiterFor(t, "again", 5)))
	p.Forget(hostKey("host-1"))
	woken()
	p.Observe(host("host-5"))
	expect.Equal(t, []string{"waits"}, woken()) // woken then
	picked, end := pick(p, of("other", waiterFor(t, "again", 5)))
	expect.Equal(t, "", picked) // picked by a claim whose turn it is not
	end()
}

// However many claims of a tenant wait before one, a host that suits this one wakes it and no other.
func TestHostIsOfferedPastAnyNumberOfClaimsThatItDoesNotSuit(t *testing.T) {
	p, woken := newPool(t)
	const claims = 5000
	for n := range claims {
		p.Enter(waiterFor(t, fmt.Sprint("picky-", n), claims-n, "gpu"))
	}
	p.Observe(host("a"))
	expect.Equal(t, []string(nil), woken()) // woken by a host that suits none
	last := waiterFor(t, "last", 0)
	expect.Equal(t, "a", pass(p, last))     // picked by a younger one that fails to bind
	expect.Equal(t, []string(nil), woken()) // woken by that
	p.Observe(host("b"))
	expect.Equal(t, []string{"last"}, woken())                             // woken by the next host
	expect.Equal(t, "a", bound(p, of("other", waiterFor(t, "honest", 0)))) // picked by another tenant meanwhile
	expect.Equal(t, "b", bound(p, last))                                   // picked in the end
}

// Claims that come and go leave nothing behind.
func TestNothingIsKeptOfAClaimThatIsGone(t *testing.T) {
	p, _ := newPool(t)
	p.Observe(host("a"))
	p.Observe(host("b", "gpu"))
	for i := range 100 {
		w := of(fmt.Sprint("tenant-", i%3), waiterFor(t, fmt.Sprint("claim-", i), i))
		pass(p, w)
		pass(p, w)
		p.Leave(w.Claim)
	}
	fresh, _ := newPool(t)
	fresh.Observe(host("a"))
	fresh.Observe(host("b", "gpu"))
	unexported := cmp.AllowUnexported(namespaceHosts{})
	for what, pair := range map[string][2]any{
		"hosts": {fresh.hosts, p.hosts}, "taken": {fresh.taken, p.taken}, "passes": {fresh.passes, p.passes},
	} {
		t.Run(what, func(t *testing.T) { expect.Equal(t, pair[0], pair[1], unexported) })
	}
	n := len(p.waiting.turns) + len(p.waiting.byKey) + len(p.waiting.offers)
	expect.That(t, n == 0, "%d things are kept of claims", n)
}

// A claim that waits on for years keeps nothing of the hosts that it did not take and
// that are gone.
func TestNothingIsKeptOfAHostThatIsGone(t *testing.T) {
	tests := map[string]func(p cached){
		"deleted": func(p cached) { p.Forget(hostKey("a")) },
		"bound":   func(p cached) { p.Bound(hostKey("a")) },
		"in use":  func(p cached) { p.Observe(inUse("a")) },
		"changed": func(p cached) { p.Observe(host("a", "gpu")) },
	}
	for name, goes := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := newPool(t)
			w := waiterFor(t, "claim", 1)
			p.Observe(host("a"))
			expect.Equal(t, "a", pass(p, w))                           // picked and not bound
			expect.Equal(t, 1, len(p.waiting.byKey[w.Claim].declined)) // hosts declined at first
			goes(p)
			expect.Equal(t, 0, len(p.waiting.byKey[w.Claim].declined)) // hosts declined in the end
		})
	}
}

// What happens between the look of a claim at the hosts and the end of its pass
// must not be lost.
func TestNothingIsMissedDuringAPass(t *testing.T) {
	tests := map[string]struct {
		// during happens between pick and end of a pass of old, which was woken for
		// host a and found it taken by the even older claim first.
		during func(p cached, endFirst func())
		want   []string // woken by it and by the end of the pass
	}{
		"a host that becomes free wakes the claim again": {
			func(p cached, _ func()) { p.Observe(host("b")) }, []string{"old"},
		},
		"a host that becomes free while the other one is bound": {
			func(p cached, _ func()) {
				p.Observe(host("b"))
				p.Bound(hostKey("a"))
			}, []string{"old"},
		},
		"the host that comes back":         {func(_ cached, endFirst func()) { endFirst() }, []string{"old"}},
		"nothing when the host was bound":  {func(p cached, _ func()) { p.Bound(hostKey("a")) }, nil},
		"nothing while the host is taken":  {func(cached, func()) {}, nil},
		"nothing for a claim that is gone": {func(p cached, _ func()) { p.Leave(claimKey("old")); p.Observe(host("b")) }, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, woken := newPool(t)
			old := waiterFor(t, "old", 2)
			p.Enter(old)
			p.Observe(host("a"))
			picked, endFirst := pick(p, waiterFor(t, "first", 3))
			expect.Equal(t, "a", picked) // picked by first
			p.Leave(claimKey("first"))
			expect.Equal(t, []string{"old"}, woken()) // woken at first
			picked, end := pick(p, old)
			expect.Equal(t, "", picked) // picked by old
			tt.during(p, endFirst)
			end()
			expect.Equal(t, tt.want, woken()) // woken in the end
		})
	}
}

// What a claim reads of the host that it has picked is newer than the watch, which
// may yet have seen the host go.
func TestWhatAClaimReadsOfAHostCorrectsThePool(t *testing.T) {
	tests := map[string]struct {
		before func(p cached)
		read   *bmov1alpha1.BareMetalHost
		want   []string // woken
		seen   string
	}{
		"a host that suits another claim is offered to it": {nil, host("a", "gpu"), []string{"picky"}, "1 host seen: 1 in use"},
		"one that is in use is not offered":                {nil, inUse("a"), nil, "1 host seen: 1 in use"},
		"one that does not exist is forgotten":             {nil, nil, nil, "no hosts seen"},
		"one that the watch has seen go stays gone": {
			func(p cached) { p.Forget(hostKey("a")) }, host("a", "gpu"), nil, "no hosts seen",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, woken := newPool(t)
			p.Enter(waiterFor(t, "picky", 2, "gpu"))
			p.Observe(host("a"))
			w := waiterFor(t, "claim", 1)
			picked, end := pick(p, w)
			expect.Equal(t, "a", picked)
			if tt.before != nil {
				tt.before(p)
			}
			p.Correct(hostKey("a"), tt.read)
			expect.Equal(t, tt.want, woken())
			expect.Equal(t, tt.seen, selection.Explain(w.Criteria, p.Hosts(w.Namespaces)))
			end()
		})
	}
}

func TestCountsOfTheHostsOfTheNamespaces(t *testing.T) {
	p, _ := newPool(t)
	far, broken, used := host("far"), host("c", "gpu"), inUse("d")
	far.Namespace, broken.Status.ErrorMessage, used.Labels = "other", "no power", map[string]string{"gpu": ""}
	for _, h := range []*bmov1alpha1.BareMetalHost{host("a"), host("b"), broken, used, far} {
		p.Observe(h)
	}
	w := waiterFor(t, "claim", 0, "gpu")
	both := []string{"infra", "other", "unknown"}
	explained := func(namespaces []string, want string) {
		t.Helper()
		expect.Equal(t, want, selection.Explain(w.Criteria, p.Hosts(namespaces)))
	}
	explained(both[:1], "4 hosts seen: 1 in use, 2 without label gpu, 1 in error") // one namespace
	explained(both, "5 hosts seen: 1 in use, 3 without label gpu, 1 in error")     // several
	p.Bound(hostKey("a"))
	p.Bound(hostKey("unknown"))
	explained(both[:1], "4 hosts seen: 1 in use, 2 without label gpu, 1 in error") // when one was bound that does not fit
	p.Observe(host("d"))
	p.Observe(inUse("b"))
	explained(both[:1], "4 hosts seen: 3 without label gpu, 1 in error") // when two have changed
	p.Observe(host("d", "gpu"))
	p.Bound(hostKey("d"))
	explained(both[:1], "4 hosts seen: 1 in use, 2 without label gpu, 1 in error") // when one was bound that fits
	p.Forget(hostKey("a"))
	p.Forget(hostKey("c"))
	explained(both[:1], "2 hosts seen: 1 in use, 1 without label gpu") // when two have gone
}

// A claim that waits must not slow down those for which a host has become free, so
// it takes no memory for each host that it looks at in vain.
func TestLookingInVainTakesNoMemoryForEachHost(t *testing.T) {
	p, _ := newPool(t)
	const hosts = 1000
	for n := range hosts {
		p.Observe(host(fmt.Sprint("host-", n)))
	}
	w := waiterFor(t, "claim", 0, "gpu")
	p.Enter(w)
	allocations := testing.AllocsPerRun(10, func() {
		_, found := p.Pick(w.Claim)
		expect.That(t, !found, "found a host")
		selection.Explain(w.Criteria, p.Hosts(w.Namespaces))
	})
	expect.That(t, allocations <= hosts/10, "%.0f pieces of memory for %d hosts", allocations, hosts)
}

// A pass evaluates the policies before it enters the claim. A policy that comes in between must
// find the claim, or it never wakes it.
func TestClaimWhosePassIsUnderWayCountsAsWaiting(t *testing.T) {
	p, _ := newPool(t)
	old, young := waiterFor(t, "old", 2), waiterFor(t, "young", 1)
	p.Enter(young)
	end := p.Begin(old.Claim)
	expect.Equal(t, []types.NamespacedName{young.Claim, old.Claim}, p.Waiting()) // before the claim is entered
	p.Enter(old)
	expect.Equal(t, []types.NamespacedName{old.Claim, young.Claim}, p.Waiting()) // once it is entered
	p.Leave(old.Claim)
	expect.Equal(t, []types.NamespacedName{young.Claim, old.Claim}, p.Waiting()) // while the pass goes on without a wish
	end()
	expect.Equal(t, []types.NamespacedName{young.Claim}, p.Waiting()) // when the pass is over
}

func TestNoClaimIsWokenBeforeTheQueueExists(t *testing.T) {
	p := cached{New()}
	p.Enter(waiterFor(t, "claim", 0))
	p.Observe(host("a"))
	expect.Equal(t, "a", pass(p, waiterFor(t, "claim", 0))) // picked all the same
}

func TestClaimsOfOneSecondAreOrderedByUID(t *testing.T) {
	p, woken := newPool(t)
	p.Enter(waiterFor(t, "b", 1))
	p.Enter(waiterFor(t, "a", 1))
	p.Observe(host("h"))
	expect.Equal(t, []string{"a"}, woken())
}

// A claim that fences a host, or writes anything to it but labels, must not wake others.
func TestHostIsOfferedAnewForItsLabelsOnly(t *testing.T) {
	p, woken := newPool(t)
	picky := waiterFor(t, "picky", 1)
	p.Enter(picky)
	p.Observe(host("a"))
	expect.Equal(t, []string{"picky"}, woken()) // woken for a new host
	expect.Equal(t, "a", pass(p, picky))
	fenced := host("a")
	fenced.Annotations = map[string]string{"hostclaim.metal3.io/fence": "x"}
	p.Observe(fenced)
	p.Observe(host("a"))
	expect.Equal(t, []string(nil), woken()) // woken by a fence
	p.Observe(host("a", "rack"))
	expect.Equal(t, []string{"picky"}, woken()) // woken by a label
}
