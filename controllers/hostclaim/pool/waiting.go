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
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// Waiter is a claim that looks for a host.
type Waiter struct {
	// Claim is the key of the claim.
	Claim types.NamespacedName
	// Created and UID order the claims: the oldest comes first.
	Created time.Time
	UID     types.UID
	// Criteria are its wishes, and Namespaces those whose hosts it may use.
	Criteria   selection.Criteria
	Namespaces []string
}

// waiter is a Waiter and the host that it was woken for.
type waiter struct {
	Waiter
	offered *types.NamespacedName // nil while it was woken for no host
}

// waitingList holds the waiting claims by age. A host is on offer to one claim
// at a time, and a claim has one offer at a time, so that many hosts that become
// free together wake as many claims.
type waitingList struct {
	sorted []*waiter
	byKey  map[types.NamespacedName]*waiter
	offers map[types.NamespacedName]*waiter // by host
}

func newWaitingList() waitingList {
	return waitingList{byKey: map[types.NamespacedName]*waiter{}, offers: map[types.NamespacedName]*waiter{}}
}

// Enter notes that a claim looks for a host. It is called before Pick, so that
// a host that becomes free meanwhile is not missed.
func (p *Pool) Enter(w Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := &waiter{Waiter: w}
	if old, found := p.waiting.byKey[w.Claim]; found {
		entry.offered = old.offered
		p.waiting.remove(old)
	}
	p.waiting.insert(entry)
}

// Stay ends a pass in which a claim found no host. The host that it was woken
// for is offered to the next claim.
func (p *Pool) Stay(claim types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry, found := p.waiting.byKey[claim]
	if !found || entry.offered == nil {
		return
	}
	host := *entry.offered
	p.waiting.withdraw(host)
	p.reofferLocked(host, entry)
}

// Leave notes that a claim does not look for a host: it has one, is paused or
// goes away. The host that it was woken for is offered to the next claim.
func (p *Pool) Leave(claim types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry, found := p.waiting.byKey[claim]
	if !found {
		return
	}
	offered := entry.offered
	p.waiting.remove(entry)
	if offered != nil {
		p.reofferLocked(*offered, entry)
	}
}

// Waiting returns the claims that look for a host, oldest first.
func (p *Pool) Waiting() []types.NamespacedName {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]types.NamespacedName, 0, len(p.waiting.sorted))
	for _, entry := range p.waiting.sorted {
		out = append(out, entry.Claim)
	}
	return out
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

func (p *Pool) reofferLocked(key types.NamespacedName, after *waiter) {
	if host, found := p.lookup(key); found {
		p.offerLocked(host, after)
	}
}

// offerLocked wakes the first claim without an offer that a host could suit. If
// after is set, only claims younger than it are asked.
func (p *Pool) offerLocked(host *bmov1alpha1.BareMetalHost, after *waiter) {
	key := client.ObjectKeyFromObject(host)
	if p.taken[key] || p.waiting.offers[key] != nil || p.wake == nil {
		return
	}
	for _, entry := range p.waiting.sorted {
		if entry.offered != nil || (after != nil && order(entry, after) <= 0) {
			continue
		}
		if slices.Contains(entry.Namespaces, host.Namespace) && selection.Fits(entry.Criteria, host) == "" {
			entry.offered = &key
			p.waiting.offers[key] = entry
			p.wake(entry.Claim)
			return
		}
	}
}

func (l *waitingList) insert(entry *waiter) {
	at, _ := slices.BinarySearchFunc(l.sorted, entry, order)
	l.sorted = slices.Insert(l.sorted, at, entry)
	l.byKey[entry.Claim] = entry
	if entry.offered != nil {
		l.offers[*entry.offered] = entry
	}
}

func (l *waitingList) remove(entry *waiter) {
	if at, found := slices.BinarySearchFunc(l.sorted, entry, order); found {
		l.sorted = slices.Delete(l.sorted, at, at+1)
	}
	delete(l.byKey, entry.Claim)
	if entry.offered != nil {
		delete(l.offers, *entry.offered)
	}
}

// withdraw ends the offer of a host.
func (l *waitingList) withdraw(host types.NamespacedName) {
	if entry, found := l.offers[host]; found {
		entry.offered = nil
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
