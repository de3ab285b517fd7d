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

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MaxLooks is how many claims of one namespace are looked at for a host in one go, under
// the lock. Of those behind them, the first is woken, and at the end of its pass as many
// others are looked at.
const MaxLooks = 100

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
	// looked are the hosts for which claims behind the first MaxLooks were looked at, by
	// the last of those claims. A host that is offered anew has none.
	looked map[*entry]age
}

// age orders claims.
type age struct {
	created time.Time
	uid     types.UID
}

func newWaitingList() waitingList {
	return waitingList{byKey: map[types.NamespacedName]*waiter{}, offers: map[types.NamespacedName]*waiter{}}
}

// insert adds a claim, and returns the one that came behind MaxLooks others by it; nil
// for none.
func (l *waitingList) insert(w *waiter) (behind *waiter) {
	turn := l.turn(w.Claim.Namespace)
	if turn < 0 {
		turn = len(l.turns)
		l.turns = append(l.turns, &line{namespace: w.Claim.Namespace, looked: map[*entry]age{}})
	}
	in := l.turns[turn]
	at, _ := slices.BinarySearchFunc(in.claims, w, order)
	in.claims = slices.Insert(in.claims, at, w)
	l.byKey[w.Claim] = w
	if w.offered != nil {
		l.offers[*w.offered] = w
	}
	if at < MaxLooks && len(in.claims) > MaxLooks {
		behind = in.claims[MaxLooks]
	}
	return behind
}

// remove takes a claim out, and returns the one that has fewer than MaxLooks before it
// now; nil for none.
func (l *waitingList) remove(w *waiter) (up *waiter) {
	if turn := l.turn(w.Claim.Namespace); turn >= 0 {
		in := l.turns[turn]
		if at, found := slices.BinarySearchFunc(in.claims, w, order); found {
			in.claims = slices.Delete(in.claims, at, at+1)
			if at < MaxLooks && len(in.claims) >= MaxLooks {
				up = in.claims[MaxLooks-1]
			}
		}
		if len(in.claims) == 0 {
			l.turns = slices.Delete(l.turns, turn, turn+1)
		}
	}
	delete(l.byKey, w.Claim)
	if w.offered != nil {
		delete(l.offers, *w.offered)
	}
	for e := range w.declined {
		w.forgetTurn(e)
	}
	return up
}

// place is how many claims of its namespace come before a claim that waits.
func (l *waitingList) place(w *waiter) int {
	turn := l.turn(w.Claim.Namespace)
	if turn < 0 {
		return 0
	}
	at, _ := slices.BinarySearchFunc(l.turns[turn].claims, w, order)
	return at
}

// turn is the place of a namespace in the turns; negative for none.
func (l *waitingList) turn(namespace string) int {
	return slices.IndexFunc(l.turns, func(in *line) bool { return in.namespace == namespace })
}

// next is the claim that comes first with a free host; nil for none. Of each namespace
// the first claims come before those that stand behind them in any.
func (l *waitingList) next(e *entry) *waiter {
	for _, in := range l.turns {
		if w := firstOf(in.claims[:min(MaxLooks, len(in.claims))], e); w != nil {
			return w
		}
	}
	for _, in := range l.turns {
		if w := in.behind(e); w != nil {
			return w
		}
	}
	return nil
}

// firstOf is the first of some claims that the host suits, and that neither had its turn
// with it nor has another offer; nil for none.
func firstOf(claims []*waiter, e *entry) *waiter {
	for _, w := range claims {
		switch {
		case w.declined[e], !w.suits(e.host):
		case w.offered != nil:
			w.missed = true
		default:
			w.unsure = false
			return w
		}
	}
	return nil
}

// behind goes on looking at claims behind the first MaxLooks where it stopped last. If
// the host suits none of those, it returns the next claim unseen: looking goes on when
// that one has had its pass.
func (in *line) behind(e *entry) *waiter {
	from := min(MaxLooks, len(in.claims))
	if last, found := in.looked[e]; found {
		at, there := slices.BinarySearchFunc(in.claims, last, func(w *waiter, a age) int { return compare(w.age(), a) })
		if there {
			at++
		}
		from = max(from, at)
	}
	to := min(from+MaxLooks, len(in.claims))
	if w := firstOf(in.claims[from:to], e); w != nil || from == to {
		return w
	}
	in.looked[e] = in.claims[to-1].age()
	for _, w := range in.claims[to:] {
		if w.offered == nil && !w.declined[e] {
			w.unsure = true
			return w
		}
	}
	return nil
}

// restart forgets which claims were looked at for a host, because it is offered anew or
// gone.
func (l *waitingList) restart(e *entry) {
	for _, in := range l.turns {
		delete(in.looked, e)
	}
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

func (w *waiter) age() age { return age{w.Created, w.UID} }

// order sorts claims by age and, of equal age, by UID.
func order(a, b *waiter) int { return compare(a.age(), b.age()) }

func compare(a, b age) int {
	if c := a.created.Compare(b.created); c != 0 {
		return c
	}
	return cmp.Compare(a.uid, b.uid)
}

// keepFrom says that another claim comes first with a host: one that tries to bind it, so
// that it is taken, or that was woken for it, unless it is a younger one of the same
// namespace or may not want it. A claim that is kept from a host has no turn with it now,
// whatever it had before, so it is asked again when the other one does not take the host.
func (l *waitingList) keepFrom(w *waiter, e *entry, taken bool) bool {
	other, offered := l.offers[client.ObjectKeyFromObject(e.host)]
	kept := taken || (offered && !other.unsure && other != w &&
		(other.Claim.Namespace != w.Claim.Namespace || order(other, w) < 0))
	if kept {
		w.forgetTurn(e)
	}
	return kept
}
