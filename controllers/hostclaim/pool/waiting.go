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
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selector"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/namedsource"
)

// Waiter is a claim that looks for a host.
type Waiter struct {
	// Claim is the key of the claim.
	Claim types.NamespacedName
	// Created and UID order the claims of a namespace: the oldest comes first.
	Created time.Time
	UID     types.UID
	// Criteria are its wishes, and Namespaces those whose hosts it may use.
	Criteria   selector.Criteria
	Namespaces []string
}

// waiter is a Waiter and the host that it was woken for.
type waiter struct {
	Waiter
	offered *types.NamespacedName // nil while it was woken for no host
	// unsure says that the claim was not looked at for the host, see line.behind.
	unsure bool
	// begun says that a pass has begun since the offer was made.
	begun bool
	// missed says that since the pass began a host came that would have suited,
	// while another was on offer.
	missed bool
	// declined are the hosts with which the claim had its turn and which it did not
	// take. It looks at them again when it is tried again, and is not woken for them
	// before they change: a claim that fails must not hold up, or drive, the others.
	declined map[*entry]bool
}

func newWaiter(w Waiter) *waiter {
	return &waiter{Waiter: w, declined: map[*entry]bool{}}
}

// Begin is called at the start of every pass of a claim, and what it returns at
// the end, however the pass ends. Then a host that the claim picked and did not
// bind goes back, and if the claim still waits, it has had its turn with the host
// that it was woken for, which goes to the next claim. So no offer outlives the
// pass that it has caused, and no claim waits for ever behind it. An offer that is
// made during a pass causes another one, and stays until the end of that.
func (p *Pool) Begin(claim types.NamespacedName) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passes[claim] = true
	if w, found := p.waiting.byKey[claim]; found {
		w.begun, w.missed = true, false
	}
	return func() { p.end(claim) }
}

func (p *Pool) end(claim types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.passes, claim)
	for host, by := range p.taken {
		if by == claim {
			// The claim that has it on offer may have found it taken, so all but this one
			// are asked again.
			p.withdrawLocked(host)
			p.hosts.declinedBy(p.waiting.byKey[claim], host)
			p.offerLocked(host)
		}
	}
	w, found := p.waiting.byKey[claim]
	if !found || (w.offered != nil && !w.begun) {
		return
	}
	if w.offered != nil {
		p.passOnLocked(*w.offered, w)
	}
	if w.missed && w.offered == nil {
		w.missed = false
		p.wake(claim)
	}
}

// passOnLocked ends the offer of a host to a claim that had its turn. If another
// claim tries to bind the host, this one found it taken and had no turn; it is
// asked again when the host is returned.
func (p *Pool) passOnLocked(host types.NamespacedName, w *waiter) {
	p.waiting.withdraw(host)
	if _, taken := p.taken[host]; taken {
		return
	}
	p.hosts.declinedBy(w, host)
	p.offerLocked(host)
}

// Enter notes that a claim looks for a host. It is called before Pick, so that
// a host that becomes free meanwhile is not missed.
func (p *Pool) Enter(w Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, found := p.waiting.byKey[w.Claim]
	if found && old.UID == w.UID && old.Created.Equal(w.Created) {
		old.Waiter = w
		return
	}
	now := newWaiter(w)
	if found {
		now.offered, now.unsure, now.begun, now.missed = old.offered, old.unsure, old.begun, old.missed
		p.wake.waiter(p.waiting.remove(old))
	}
	p.wake.waiter(p.waiting.insert(now))
}

// Expect notes a claim that was seen in the watch and may come to look for a host. It
// keeps its place until its first pass enters it or lets it leave, so that a manager
// that restarts knows how many claims wait before one when the first passes begin.
func (p *Pool) Expect(w Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting.byKey[w.Claim] == nil {
		p.wake.waiter(p.waiting.insert(newWaiter(w)))
	}
}

// Behind says that MaxLooks other claims of the same namespace wait before a claim, so
// that a host that becomes free is offered to those first. A claim for which the answer
// changes is woken.
func (p *Pool) Behind(claim types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, waits := p.waiting.byKey[claim]
	return waits && p.waiting.place(w) >= MaxLooks
}

// Leave notes that a claim does not look for a host: it has one, is paused or
// goes away. The host that it was woken for is offered to the next claim.
func (p *Pool) Leave(claim types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, found := p.waiting.byKey[claim]
	if !found {
		return
	}
	p.wake.waiter(p.waiting.remove(w))
	if w.offered != nil {
		p.offerLocked(*w.offered)
	}
}

// waker wakes a claim; a nil one wakes none.
type waker func(types.NamespacedName)

// waiter wakes a claim that waits; nil is none.
func (wake waker) waiter(w *waiter) {
	if w != nil && wake != nil {
		wake(w.Claim)
	}
}

// Waiting returns the claims that look for a host, one of each namespace in turn,
// and after them the others of which a pass is under way: such a claim may come to
// wait by what its pass has read already, so an event that changes that must find it
// here.
func (p *Pool) Waiting() []types.NamespacedName {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]types.NamespacedName, 0, len(p.waiting.byKey))
	for place := 0; len(out) < len(p.waiting.byKey); place++ {
		for _, l := range p.waiting.turns {
			if place < len(l.claims) {
				out = append(out, l.claims[place].Claim)
			}
		}
	}
	byName := func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) }
	for _, claim := range slices.SortedFunc(maps.Keys(p.passes), byName) {
		if p.waiting.byKey[claim] == nil {
			out = append(out, claim)
		}
	}
	return out
}

// Source connects the pool with the work queue of the claims.
func (p *Pool) Source() source.Source {
	return namedsource.New("hosts that become free", source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wake = func(claim types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: claim}) }
		return nil
	}))
}

// offerLocked wakes a claim for a free host: of the namespace whose turn it is, the
// oldest claim that the host could suit, that has no other offer and that did not
// have its turn with this host. That was the turn of the namespace.
func (p *Pool) offerLocked(key types.NamespacedName) {
	e, free := p.hosts.find(key)
	if _, taken := p.taken[key]; !free || taken || p.waiting.offers[key] != nil || p.wake == nil {
		return
	}
	if w := p.waiting.next(e); w != nil {
		p.waiting.offer(w, key)
		p.wake(w.Claim)
	}
}

// suits says that a claim could use a free host, as far as the pool knows.
func (w *waiter) suits(host *bmov1alpha1.BareMetalHost) bool {
	return slices.Contains(w.Namespaces, host.Namespace) && selection.Suits(w.Criteria, host) == ""
}

// forgetTurn forgets that the claim had its turn with a host.
func (w *waiter) forgetTurn(e *entry) {
	delete(w.declined, e)
	delete(e.declined, w)
}
