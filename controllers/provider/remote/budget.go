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

package remote

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

// budget bounds the memory that the objects of other clusters take: those that the cache of
// each connection holds, and all together with the answers that are being read. A connection
// that passes its bound is cut off. When all together pass theirs, the largest connection of
// the largest namespace is cut off.
type budget struct {
	each, all int64 // weight, see transport.Weigh

	mu     sync.Mutex
	meters map[*meter]struct{}
	sum    int64
}

// meter counts for one connection. budget.mu guards what changes.
type meter struct {
	budget    *budget
	namespace string
	target    identity.Target

	held    int64                   // in the cache
	answers int64                   // being read
	cut     context.CancelCauseFunc // cuts the connection off with a problem; nil if that was done: no more is read
}

func newBudget(each, all int64) *budget {
	return &budget{each: each, all: all, meters: map[*meter]struct{}{}}
}

// meter returns the meter of a new connection for a reference of a namespace.
func (b *budget) meter(namespace string, target identity.Target) *meter {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &meter{budget: b, namespace: namespace, target: target}
	b.meters[m] = struct{}{}
	return m
}

// begin prepares the meter for another cache, which is empty.
func (m *meter) begin(cut context.CancelCauseFunc) {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	m.budget.sum -= m.held
	m.held, m.cut = 0, cut
}

// close ends the meter with its connection.
func (m *meter) close() {
	m.begin(nil)
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	delete(m.budget.meters, m)
}

// read counts the weight of a part of an answer, or takes it back if it is negative, and
// reports whether more may be read.
func (m *meter) read(weight int64) bool { return m.count(0, weight) }

// replace counts that an object of the cache became another one; nil stands for none.
func (m *meter) replace(before, after any) { m.count(weightOf(after)-weightOf(before), 0) }

func (m *meter) count(held, answers int64) bool {
	b := m.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	m.held += held
	m.answers += answers
	b.sum += held + answers
	if m.held > b.each {
		m.cutLocked(identity.ConnectionTooLarge, b.each)
	}
	for b.sum > b.all {
		most, sum := b.mostLocked()
		if most == nil || sum <= b.all {
			break
		}
		most.cutLocked(identity.ConnectionsTooLarge, b.all)
	}
	return m.cut != nil
}

// weightOf returns the weight of an object of a cache.
func weightOf(object any) int64 {
	if object == nil {
		return 0
	}
	text, _ := json.Marshal(object) //nolint:errchkjson // it was decoded from JSON
	return transport.Weigh(text)
}

// mostLocked returns the largest connection of the largest namespace, and the sum of all.
// Those that are cut off already are left out: they give back what they take.
func (b *budget) mostLocked() (most *meter, sum int64) {
	namespaces := map[string]int64{}
	for m := range b.meters {
		if m.cut != nil {
			namespaces[m.namespace] += m.held + m.answers
			sum += m.held + m.answers
		}
	}
	for m := range b.meters {
		switch {
		case m.cut == nil:
		case most == nil, namespaces[m.namespace] > namespaces[most.namespace],
			m.namespace == most.namespace && m.held+m.answers > most.held+most.answers:
			most = m
		}
	}
	return most, sum
}

func (m *meter) cutLocked(cause identity.Cause, bound int64) {
	if m.cut != nil {
		m.cut(cause.Problem(m.target.Namespace, m.target.Server, bound>>20))
		m.cut = nil
	}
}

// byNamespace returns the weight of what the connections of each namespace hold.
func (b *budget) byNamespace() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]int64{}
	for m := range b.meters {
		out[m.namespace] += m.held
	}
	return out
}
