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
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// Waiter is a claim that looks for a host.
type Waiter struct {
	// Claim is the key of the claim.
	Claim types.NamespacedName
	// Created and UID order the claims of a namespace: the oldest comes first.
	Created time.Time
	UID     types.UID
	// Criteria are what it asks for, and Namespaces those whose hosts it may use.
	Criteria   selection.Criteria
	Namespaces []string
}

// waiter is a Waiter and the host that it was woken for.
type waiter struct {
	Waiter

	offered *types.NamespacedName // nil while it was woken for no host
	// begun is set if a pass has begun since the offer was made.
	begun bool
	// missed is set if a host came since the pass began that would have suited, while
	// another was on offer.
	missed bool
	// declined are the hosts with which the claim had its turn and which it did not take. It
	// considers them in its next pass, and is not woken for them before they change: a claim
	// that fails must not hold up, or drive, the others.
	declined map[types.NamespacedName]bool
}

// suits reports whether the claim could use a free host, as far as the pool knows.
func (w *waiter) suits(host *bmov1alpha1.BareMetalHost) bool {
	return slices.Contains(w.Namespaces, host.Namespace) && selection.Suits(w.Criteria, host) == ""
}

// order sorts claims by age and, of equal age, by UID.
func order(a, b *waiter) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
}

// waitingList holds the waiting claims. A host is on offer to one claim
// at a time, and a claim has one offer at a time, so that many hosts that become
// free together wake as many claims.
type waitingList struct {
	// turns are the claims by namespace, the oldest of each first. The namespace that is to be
	// served next comes first.
	turns  [][]*waiter
	byKey  map[types.NamespacedName]*waiter
	offers map[types.NamespacedName]*waiter // by host
}

// turn is the place of a namespace in the turns; negative for none.
func (l *waitingList) turn(namespace string) int {
	return slices.IndexFunc(l.turns, func(claims []*waiter) bool { return claims[0].Claim.Namespace == namespace })
}

func (l *waitingList) insert(w *waiter) {
	l.byKey[w.Claim] = w
	turn := l.turn(w.Claim.Namespace)
	if turn < 0 {
		l.turns = append(l.turns, []*waiter{w})
		return
	}
	at, _ := slices.BinarySearchFunc(l.turns[turn], w, order)
	l.turns[turn] = slices.Insert(l.turns[turn], at, w)
}

func (l *waitingList) remove(w *waiter) {
	delete(l.byKey, w.Claim)
	if w.offered != nil {
		delete(l.offers, *w.offered)
	}
	turn := l.turn(w.Claim.Namespace)
	at, _ := slices.BinarySearchFunc(l.turns[turn], w, order)
	if l.turns[turn] = slices.Delete(l.turns[turn], at, at+1); len(l.turns[turn]) == 0 {
		l.turns = slices.Delete(l.turns, turn, turn+1)
	}
}

// next is the claim that comes first with a free host: of the namespace whose turn it is, the oldest
// that the host suits, and that neither had its turn with it nor has another offer; nil for none.
func (l *waitingList) next(key types.NamespacedName, host *bmov1alpha1.BareMetalHost) *waiter {
	for _, claims := range l.turns {
		for _, w := range claims {
			switch {
			case w.declined[key], !w.suits(host):
			case w.offered != nil:
				w.missed = true
			default:
				return w
			}
		}
	}
	return nil
}

// offer notes the host that a claim is woken for. The turn of its namespace ends:
// the others come first from now on.
func (l *waitingList) offer(w *waiter, host types.NamespacedName) {
	w.offered, w.begun = &host, false
	l.offers[host] = w
	turn := l.turn(w.Claim.Namespace)
	claims := l.turns[turn]
	l.turns = append(slices.Delete(l.turns, turn, turn+1), claims)
}

// withdraw ends the offer of a host.
func (l *waitingList) withdraw(host types.NamespacedName) {
	if w, found := l.offers[host]; found {
		w.offered = nil
		delete(l.offers, host)
	}
}

// forget withdraws a host, and has all claims look at it anew when it comes back.
func (l *waitingList) forget(host types.NamespacedName) {
	l.withdraw(host)
	for _, w := range l.byKey {
		delete(w.declined, host)
	}
}
