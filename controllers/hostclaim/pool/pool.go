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

// Package pool offers free hosts to waiting claims, to the namespaces in turn and the
// oldest claim of each first, and counts the hosts that are not free by reason.
//
// It keeps all hosts as the cache shows them, the free ones in a stable order, and the waiting
// claims by age, all in memory and all only as hints: every bind is decided again by
// live reads and locked writes. It is fed by the watch on hosts and by the reconciler of
// claims, wakes claims through their work queue, and never reads or writes the
// API server. After a restart the first pass over hosts and claims fills it.
package pool

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// Pool is the set of hosts and waiting claims of one manager. It is a collector of metrics of
// the hosts.
type Pool struct {
	mu    sync.Mutex
	hosts hosts
	// taken are the free hosts that were picked, by the claims that try to bind them.
	taken   map[types.NamespacedName]types.NamespacedName
	waiting waitingList
	// passes are the claims of which a pass is under way.
	passes map[types.NamespacedName]bool
	wake   func(claim types.NamespacedName) // nil until the source has started
}

// New returns an empty pool.
func New() *Pool {
	return &Pool{
		hosts:   hosts{},
		taken:   map[types.NamespacedName]types.NamespacedName{},
		waiting: waitingList{byKey: map[types.NamespacedName]*waiter{}, offers: map[types.NamespacedName]*waiter{}},
		passes:  map[types.NamespacedName]bool{},
	}
}

// Source connects the pool with the work queue of the claims.
func (p *Pool) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wake = func(claim types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: claim}) }
		return nil
	})
}

// Observe takes note of a host that was seen in the watch. A free one is
// offered to the first waiting claim that it could suit. One whose labels have
// changed may suit others than before, so it is offered anew from the start of
// the list. The host is kept, so it must not be changed afterwards.
func (p *Pool) Observe(host *bmov1alpha1.BareMetalHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observeLocked(host)
}

func (p *Pool) observeLocked(host *bmov1alpha1.BareMetalHost) {
	key, free := client.ObjectKeyFromObject(host), selection.Free(host) == ""
	before, known := p.hosts.free(key)
	if !free {
		p.forgetLocked(key)
	} else if known && !maps.Equal(before.Labels, host.Labels) {
		p.waiting.forget(key)
	}
	p.hosts.of(key.Namespace).put(host, free)
	p.offerLocked(key)
}

// Correct takes note of what a claim has read of a host past the watch; nil if it
// does not exist. One that the watch has seen go stays gone.
func (p *Pool) Correct(key types.NamespacedName, host *bmov1alpha1.BareMetalHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.hosts.of(key.Namespace).all[key.Name] != nil
	p.forgetLocked(key)
	if known && host != nil {
		p.observeLocked(host)
	}
}

// Bound takes a host out of the pool until it is observed as free again.
func (p *Pool) Bound(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if host, free := p.hosts.free(key); free {
		p.forgetLocked(key)
		p.hosts.of(key.Namespace).put(host, false)
	}
}

// Forget takes note that a host is gone.
func (p *Pool) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetLocked(key)
}

// forgetLocked drops a host. Claims know nothing of one that is not free.
func (p *Pool) forgetLocked(key types.NamespacedName) {
	if _, free := p.hosts.free(key); free {
		delete(p.taken, key)
		p.waiting.forget(key)
	}
	p.hosts.of(key.Namespace).remove(key.Name)
}

// Hosts are all hosts of some namespaces, for selection.Explain.
func (p *Pool) Hosts(namespaces []string) (out []*bmov1alpha1.BareMetalHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, namespace := range namespaces {
		out = slices.AppendSeq(out, maps.Values(p.hosts.of(namespace).all))
	}
	return out
}

// Enter notes that a claim looks for a host. It is called before Pick, so that
// a host that becomes free meanwhile is not missed.
func (p *Pool) Enter(w Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, found := p.waiting.byKey[w.Claim]; found && old.UID == w.UID {
		old.Waiter = w
		return
	}
	p.leaveLocked(w.Claim)
	p.waiting.insert(&waiter{Waiter: w, declined: map[types.NamespacedName]bool{}})
}

// Leave notes that a claim does not look for a host: it has one, is paused or
// goes away. The host that it was woken for is offered to the next claim.
func (p *Pool) Leave(claim types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked(claim)
}

func (p *Pool) leaveLocked(claim types.NamespacedName) {
	w, found := p.waiting.byKey[claim]
	if !found {
		return
	}
	p.waiting.remove(w)
	if w.offered != nil {
		p.offerLocked(*w.offered)
	}
}

// Pick returns the first free host that fits a waiting claim, and keeps it from
// other claims until it is bound, corrected or gone, or the claim's pass ends. A host on offer to a
// claim that comes first is left to that one. Namespaces are gone through in the claim's order, hosts by name.
func (p *Pool) Pick(claim types.NamespacedName) (*bmov1alpha1.BareMetalHost, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, waits := p.waiting.byKey[claim]
	if !waits {
		return nil, false
	}
	host, found := selection.Select(w.Criteria, p.forClaimLocked(w))
	if found {
		p.taken[client.ObjectKeyFromObject(host)] = claim
	}
	return host, found
}

// forClaimLocked runs through the free hosts that a claim may pick. Most hosts of a large
// pool do not suit it, so that is asked first, and what is kept from it last.
func (p *Pool) forClaimLocked(w *waiter) iter.Seq[*bmov1alpha1.BareMetalHost] {
	return func(yield func(*bmov1alpha1.BareMetalHost) bool) {
		for _, namespace := range w.Namespaces {
			for _, host := range p.hosts.of(namespace).free {
				if selection.Suits(w.Criteria, host) == "" && !p.keptFromLocked(w, client.ObjectKeyFromObject(host)) && !yield(host) {
					return
				}
			}
		}
	}
}

// keptFromLocked reports whether another claim comes first with a host: one that tries to bind
// it, or that was woken for it, unless it is a younger one of the same namespace. A claim that is
// kept from a host has no turn with it now, whatever it had before, so it is asked again when the
// other one does not take the host.
func (p *Pool) keptFromLocked(w *waiter, host types.NamespacedName) bool {
	_, taken := p.taken[host]
	other, offered := p.waiting.offers[host]
	kept := taken || (offered && other != w && (other.Claim.Namespace != w.Claim.Namespace || order(other, w) < 0))
	if kept {
		delete(w.declined, host)
	}
	return kept
}

// Around returns a reconciler that runs r between Begin and the end. So a pass that r puts off has
// an end too, and a claim that has too many of them holds up no other.
func (p *Pool) Around(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, claim reconcile.Request) (reconcile.Result, error) {
		defer p.Begin(claim.NamespacedName)()
		return r.Reconcile(ctx, claim)
	})
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
	w, waits := p.waiting.byKey[claim]
	for host, by := range p.taken {
		if by == claim {
			delete(p.taken, host)
			p.passOnLocked(host, w)
		}
	}
	if !waits {
		return
	}
	if w.offered != nil && w.begun {
		p.passOnLocked(*w.offered, w)
	}
	if w.missed && w.offered == nil {
		w.missed = false
		p.wake(claim)
	}
}

// passOnLocked ends the offer of a host after the turn of a claim, nil for one that has left, and
// offers the host to the next. A host that another claim tries to bind was no turn: the claim gets
// that when the host is returned.
func (p *Pool) passOnLocked(host types.NamespacedName, w *waiter) {
	p.waiting.withdraw(host)
	if _, taken := p.taken[host]; taken {
		return
	}
	if w != nil {
		w.declined[host] = true
	}
	p.offerLocked(host)
}

// offerLocked wakes a claim for a host that is free, and neither on offer nor taken.
func (p *Pool) offerLocked(key types.NamespacedName) {
	host, free := p.hosts.free(key)
	if _, taken := p.taken[key]; !free || taken || p.waiting.offers[key] != nil || p.wake == nil {
		return
	}
	if w := p.waiting.next(key, host); w != nil {
		p.waiting.offer(w, key)
		p.wake(w.Claim)
	}
}

// Waiting returns the claims that look for a host, the oldest of each namespace first, and after
// them the others of which a pass is under way: such a claim may come to wait by what its pass has
// read already, so an event that changes that must find it here.
func (p *Pool) Waiting() (out []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, claims := range p.waiting.turns {
		for _, w := range claims {
			out = append(out, w.Claim)
		}
	}
	for claim := range p.passes {
		if p.waiting.byKey[claim] == nil {
			out = append(out, claim)
		}
	}
	return out
}
