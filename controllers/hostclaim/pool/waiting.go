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
	// unsure says that nothing is known of whether the host suits.
	unsure bool
	// begun says that a pass has begun since the offer was made.
	begun bool
	// missed says that since the pass began a host came that would have suited,
	// while another was on offer.
	missed bool
	// declined are the hosts with which the claim had its turn and which it did not
	// take. It looks at them again when it is tried again, and is not woken for them
	// before they change: a claim that fails must not hold up, or drive, the others.
	declined map[types.NamespacedName]*entry
}

// maxLooks is how many claims of one namespace are looked at for a host, under the
// lock. Those behind them are woken one after the other and look for themselves.
const maxLooks = 100

// waitingList holds the waiting claims. A host is on offer to one claim
// at a time, and a claim has one offer at a time, so that many hosts that become
// free together wake as many claims.
type waitingList struct {
	// turns are the namespaces that have waiting claims; the next to be served first.
	turns  []*line
	byKey  map[types.NamespacedName]*waiter
	offers map[types.NamespacedName]*waiter // by host
}

// line is the waiting claims of one namespace, the oldest first.
type line struct {
	namespace string
	claims    []*waiter
}

func newWaitingList() waitingList {
	return waitingList{byKey: map[types.NamespacedName]*waiter{}, offers: map[types.NamespacedName]*waiter{}}
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
			p.returnLocked(host, claim)
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
	now := &waiter{Waiter: w, declined: map[types.NamespacedName]*entry{}}
	if found {
		now.offered, now.unsure, now.begun, now.missed = old.offered, old.unsure, old.begun, old.missed
		p.waiting.remove(old)
	}
	p.waiting.insert(now)
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
	p.waiting.remove(w)
	if w.offered != nil {
		p.offerLocked(*w.offered)
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
	if w := p.waiting.next(key, e); w != nil {
		p.waiting.offer(w, key)
		p.wake(w.Claim)
	}
}

// suits says that a claim could use a free host, as far as the pool knows.
func (w *waiter) suits(host *bmov1alpha1.BareMetalHost) bool {
	return slices.Contains(w.Namespaces, host.Namespace) && selection.Suits(w.Criteria, host) == ""
}

func (l *waitingList) insert(w *waiter) {
	turn := l.turn(w.Claim.Namespace)
	if turn < 0 {
		turn = len(l.turns)
		l.turns = append(l.turns, &line{namespace: w.Claim.Namespace})
	}
	in := l.turns[turn]
	at, _ := slices.BinarySearchFunc(in.claims, w, order)
	in.claims = slices.Insert(in.claims, at, w)
	l.byKey[w.Claim] = w
	if w.offered != nil {
		l.offers[*w.offered] = w
	}
}

func (l *waitingList) remove(w *waiter) {
	if turn := l.turn(w.Claim.Namespace); turn >= 0 {
		in := l.turns[turn]
		if at, found := slices.BinarySearchFunc(in.claims, w, order); found {
			in.claims = slices.Delete(in.claims, at, at+1)
		}
		if len(in.claims) == 0 {
			l.turns = slices.Delete(l.turns, turn, turn+1)
		}
	}
	delete(l.byKey, w.Claim)
	if w.offered != nil {
		delete(l.offers, *w.offered)
	}
}

// turn is the place of a namespace in the turns; negative for none.
func (l *waitingList) turn(namespace string) int {
	return slices.IndexFunc(l.turns, func(in *line) bool { return in.namespace == namespace })
}

// next is the claim that comes first with a free host; nil for none.
func (l *waitingList) next(key types.NamespacedName, e *entry) *waiter {
	var behind *waiter
	for _, in := range l.turns {
		for place, w := range in.claims {
			switch unsure := place >= maxLooks; {
			case w.declined[key] == e, !unsure && !w.suits(e.host):
			case w.offered != nil:
				w.missed = true
			case !unsure:
				w.unsure = false
				return w
			case behind == nil:
				behind = w
			}
		}
	}
	if behind != nil {
		behind.unsure = true
	}
	return behind
}

// offer notes the host that a claim is woken for. The turn of its namespace ends:
// the others come first from now on.
func (l *waitingList) offer(w *waiter, host types.NamespacedName) {
	w.offered, w.begun = &host, false
	l.offers[host] = w
	if turn := l.turn(w.Claim.Namespace); turn >= 0 {
		in := l.turns[turn]
		l.turns = append(slices.Delete(l.turns, turn, turn+1), in)
	}
}

// withdraw ends the offer of a host.
func (l *waitingList) withdraw(host types.NamespacedName) {
	if w, found := l.offers[host]; found {
		w.offered = nil
		delete(l.offers, host)
	}
}

// order sorts claims by age and, of equal age, by UID.
func order(a, b *waiter) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return cmp.Compare(a.UID, b.UID)
}
