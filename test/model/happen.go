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

package model

import (
	"strings"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// happening is something that may happen in a step: how often, what it needs, and what it does; do
// reports whether it did anything.
type happening struct {
	weight  int
	feature Feature // empty if it may happen in every schedule
	do      func(*World) bool
}

// happenings are everything that a step may be.
func happenings() []happening {
	return []happening{
		{150, "", (*World).goOn},
		{50, "", (*World).begin},
		{50, "", (*World).see},
		{40, "", (*World).operate},
		{12, "", (*World).wakeDelayed},
		{2, "", (*World).collectGarbage},
		{10, "", (*World).makeClaimSometimes},
		{4, "", (*World).askForImage},
		{6, ClaimsDeleted, (*World).deleteClaim},
		{8, ClaimsRaced, (*World).raceClaim},
		{4, Stripped, (*World).strip},
		{6, StatusWiped, (*World).wipe},
		{20, Moved, (*World).move},
		{2, Restored, (*World).restore},
		{4, SelectorEdits, (*World).editSelector},
		{1, ClaimsPaused, (*World).pauseClaim},
		{1, SecretEdits, (*World).editSecret},
		{4, PolicyEdits, (*World).editPolicy},
		{1, LabelEdits, (*World).editLabels},
		{1, HostErrors, (*World).toggleError},
		{1, HostsHeld, (*World).holdHost},
		{1, HostsReplaced, (*World).replaceHost},
		{1, CleaningEdited, (*World).switchCleaning},
		{3, Reboots, (*World).askForReboot},
		{6, Rebuilds, (*World).askForRebuild},
		{1, Reservations, (*World).reserve},
		{4, Forged, (*World).forge},
		{3, Classed, (*World).editClass},
		{16, Classed, (*World).otherWorks},
		{1, Crashes, (*World).crash},
		{2, TwoLeaders, (*World).secondLeader},
	}
}

// table is happenings with the sum of all weights, and of those with a feature,
// which come last.
type table struct {
	rows        []happening
	sum, faults int
}

// happen lets one thing happen. Where hosts stand beside their claims, the managers get
// on faster, since a move there and back takes many requests.
func (w *World) happen() {
	w.clock.pass(time.Second)
	w.row(w.draw())
	if !w.beside {
		return
	}
	for range 2 {
		w.row(w.choices.Intn(w.table.sum - w.table.faults))
	}
}

// row lets happen what is at a place in the table.
func (w *World) row(at int) {
	for _, h := range w.table.rows {
		if at -= h.weight; at >= 0 {
			continue
		}
		if h.do(w) && h.feature != "" {
			w.count("fault: " + string(h.feature))
		}
		return
	}
}

// draw chooses a place in the table, by weight. While requests stall, there is
// more trouble than else.
func (w *World) draw() int {
	if len(w.attention) > 0 && w.table.faults > 0 && chance(w.choices, 4) {
		return w.table.sum - w.table.faults + w.choices.Intn(w.table.faults)
	}
	return w.choices.Intn(w.table.sum)
}

// newTable is the table of a schedule with some features.
func newTable(features map[Feature]bool) table {
	var t table
	for _, h := range happenings() {
		if h.feature != "" && !features[h.feature] {
			continue
		}
		t.rows = append(t.rows, h)
		t.sum += h.weight
		if h.feature != "" {
			t.faults += h.weight
		}
	}
	return t
}

// goOn lets one pass carry out its request, or fail with it.
func (w *World) goOn() bool {
	var awake []*pass
	for _, m := range w.managers {
		for _, p := range m.passes {
			if p.sleeps <= w.step {
				awake = append(awake, p)
			}
		}
	}
	if len(awake) == 0 {
		return w.begin()
	}
	p := one(w.choices, awake)
	if w.features[Stall] && !w.draining && p.sleeps == 0 && chance(w.choices, stallsOnceIn(p.pending)) {
		w.stall(p)
		return true
	}
	if p.sleeps > 0 {
		p.sleeps, w.attention = 0, nil
	}
	p.verdict = w.judge(p.pending)
	p.manager.resume(p)
	return true
}

// stallsOnceIn is how seldom a request stalls: those that write hosts decide most.
func stallsOnceIn(request store.Request) int {
	if request.Writes() && request.Kind == store.Hosts {
		return 4
	}
	return 12
}

// stall lets a pass sleep before its request. Often that is because its manager
// has lost the lead, and often another client meddles with what the request is about.
func (w *World) stall(p *pass) {
	p.sleeps = w.step + 20 + w.choices.Intn(150)
	w.count("fault: " + string(Stall))
	w.attention = append(w.attention, p.key.NamespacedName, p.pending.Key)
	w.tracef("%s stalls before %s %s %s", p, p.pending.Verb, where(p.pending), p.pending.Key)
	if w.features[TwoLeaders] && chance(w.choices, 2) && w.secondLeader() {
		w.count("fault: " + string(TwoLeaders))
	}
	for range w.choices.Intn(3) {
		if w.table.faults == 0 {
			break // this schedule was drawn without any other fault
		}
		at := w.table.sum - w.table.faults + w.choices.Intn(w.table.faults)
		w.row(at)
	}
}

// judge chooses what becomes of a request.
func (w *World) judge(request store.Request) verdict {
	if w.draining || request.Cached {
		return granted
	}
	var v verdict
	var f Feature
	switch n := w.choices.Intn(16); {
	case n == 0 && w.features[Refusals]:
		v, f = w.refuse(request), Refusals
	case n == 1 && w.features[Conflicts] && request.Verb == "patch":
		v, f = conflicted, Conflicts
	case n == 2 && w.features[LostAnswers] && request.Writes():
		v, f = w.loseAnswer(request), LostAnswers
	default:
		return granted
	}
	w.count("fault: " + string(f))
	return v
}

// refuse chooses whether a request is refused for the moment or, as a write may be, until a
// person changes something.
func (w *World) refuse(request store.Request) verdict {
	if request.Writes() && chance(w.choices, 2) {
		return denied
	}
	return refused
}

// loseAnswer chooses what the client makes of a lost answer.
func (w *World) loseAnswer(request store.Request) verdict {
	if request.Verb == "patch" && strings.Contains(request.Body, "resourceVersion") && chance(w.choices, 2) {
		return repeated
	}
	return unanswered
}

// resume runs a pass up to its next request, or to its end.
func (m *manager) resume(p *pass) {
	if _, more := p.next(); more {
		return
	}
	for i, other := range m.passes {
		if other == p {
			m.passes = append(m.passes[:i:i], m.passes[i+1:]...)
			break
		}
	}
	q := p.controller.queue
	q.done(p.key)
	switch {
	case p.err != nil:
		q.AddRateLimited(p.key)
	case p.result.RequeueAfter > 0:
		q.AddAfter(p.key, p.result.RequeueAfter)
	}
	m.world.count("passes")
	m.world.tracef("%s ends: %v %v", p, p.result.RequeueAfter, p.err)
}

// begin begins a pass.
func (w *World) begin() bool {
	type start struct {
		m *manager
		c *controller
	}
	var able []start
	for _, m := range w.managers {
		if !m.leads || len(m.passes) >= m.workers {
			continue
		}
		for _, c := range m.controllers {
			if len(c.queue.ready) > 0 {
				able = append(able, start{m, c})
			}
		}
	}
	if len(able) == 0 {
		return false
	}
	s := one(w.choices, able)
	p := newPass(s.m, s.c, s.c.queue.take(w.choices.Intn(len(s.c.queue.ready))))
	s.m.passes = append(s.m.passes, p)
	w.tracef("%s begins", p)
	s.m.resume(p)
	return true
}

// see lets a cache catch up by an event or more. Without lag it catches up
// altogether.
func (w *World) see() bool {
	type lag struct {
		m    *manager
		kind store.Kind
	}
	var lags []lag
	for _, m := range w.managers {
		for _, kind := range store.Kinds() {
			if m.cache != nil && m.behind(kind) {
				lags = append(lags, lag{m, kind})
			}
		}
	}
	if len(lags) == 0 {
		return false
	}
	if !w.features[Lag] {
		for _, l := range lags {
			w.catchUp(l.m, l.kind)
		}
		return true
	}
	l := one(w.choices, lags)
	if chance(w.choices, 2) {
		w.catchUp(l.m, l.kind)
	} else {
		l.m.advance(l.kind)
	}
	return true
}

// catchUp brings a kind in the cache of a manager to the present.
func (w *World) catchUp(m *manager, kind store.Kind) {
	for m.behind(kind) {
		m.advance(kind)
	}
}

// wakeDelayed ends the pause of a key.
func (w *World) wakeDelayed() bool {
	for _, m := range w.managers {
		for _, c := range m.controllers {
			if at := c.queue.due(); at >= 0 {
				c.queue.wakeLater(at)
				return true
			}
		}
	}
	return false
}

// crash ends one manager, and perhaps the same or the other one leads then.
func (w *World) crash() bool {
	m := one(w.choices, w.managers)
	if m.cache == nil {
		return false
	}
	m.crash()
	w.ensureLeader()
	return true
}

// ensureLeader starts a manager if none is left.
func (w *World) ensureLeader() {
	for _, m := range w.managers {
		if m.leads {
			return
		}
	}
	one(w.choices, w.managers).start()
}

// secondLeader lets the other manager lead as well, while the first does not know
// that it has lost the lead.
func (w *World) secondLeader() bool {
	m := one(w.choices, w.managers)
	if m.cache != nil {
		return false
	}
	m.start()
	return true
}
