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

package fairqueue

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// perConnection is how many passes use one connection at a time. The requests of
	// more would wait for its rate limit.
	perConnection = 2
	// slowAfter is how long a pass may take before its namespace counts as slow.
	slowAfter = time.Second
	// slowFactor times the length of a slow pass, slowLongest at most, is how long its
	// namespace counts as slow.
	slowFactor  = 60
	slowLongest = 10 * time.Minute
)

// order decides which object is next. Of the passes under way at a time,
//
//   - as many as Options.PerNamespace says work for one namespace,
//   - two use the same connection,
//   - a third of all workers works for the connections of one namespace,
//   - a fifth of all workers works for objects without a connection only,
//   - half of all workers works for namespaces whose passes took long; while nothing else
//     may be next, all but a fifth,
//
// at most, and at least one worker each. Among the namespaces with an object that may be
// next, each has its turn. Of those that use one connection, the first to come is the first
// to go, but what has begun goes before the others, three to one.
type order struct {
	options Options

	mu          sync.Mutex
	tenants     map[string]*tenant // by namespace
	turns       []string           // namespaces with waiting objects, in their order
	running     map[reconcile.Request]pass
	connections map[string]int // passes under way by connection
	connected   int            // passes under way that use any connection
	slow        int            // passes under way of slow namespaces
	next        *candidate     // what Len has found and Pop returns, if no object came in between
	waking      bool           // wakeUp is in the queue
}

// wakeUp is no object. The queue wakes one worker for each object that is added, and none
// when an object that waits may begin: wakeUp is added for it then. No object has its name.
func wakeUp() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: "/"}}
}

// tenant is what is known of one namespace.
type tenant struct {
	// waiting are the objects by connection, as it was when they were looked at last.
	waiting   map[string]*line
	passes    int // under way
	connected int // of these, those that use a connection
	slowUntil time.Time
}

// pass is one pass under way.
type pass struct {
	connection string
	began      time.Time
	slow       bool
}

// candidate is an object that may be next.
type candidate struct {
	object     reconcile.Request
	connection string
}

func newOrder(o Options) *order {
	if o.ConnectionOf == nil {
		o.ConnectionOf = func(reconcile.Request) string { return "" }
	}
	if o.PerNamespace == 0 {
		o.PerNamespace = o.Workers
	}
	if o.Begun == nil {
		o.Begun = func(reconcile.Request) bool { return false }
	}
	if o.Spent == nil {
		o.Spent = func(string, time.Duration) {}
	}
	return &order{
		options: o, tenants: map[string]*tenant{}, running: map[reconcile.Request]pass{}, connections: map[string]int{},
	}
}

// share is a part of the workers, one at least.
func (o *order) share(of int) int {
	return max(1, o.options.Workers/of)
}

// Touch looks again at an object that waits and has been added once more: it keeps its place, unless
// it has begun meanwhile.
func (o *order) Touch(object reconcile.Request) {
	if !o.options.Begun(object) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.tenants[object.Namespace]
	if t == nil {
		return
	}
	for _, waiting := range t.waiting {
		if waiting.begin(object) {
			o.next = nil // the object may go before it
		}
	}
}

// Push adds an object.
func (o *order) Push(object reconcile.Request) {
	if object == wakeUp() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.waking = true
		return
	}
	connection, begun := o.options.ConnectionOf(object), o.options.Begun(object)
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.tenants[object.Namespace]
	if t == nil {
		t = &tenant{waiting: map[string]*line{}}
		o.tenants[object.Namespace] = t
	}
	if len(t.waiting) == 0 {
		o.turns = append(o.turns, object.Namespace)
	}
	t.line(connection).add(object, begun)
	o.next = nil // the object may go before it
}

// Len is 1 if an object may be next, and 0 if none may.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.waking && !o.moreLocked() {
		return 0
	}
	return 1
}

func (o *order) moreLocked() bool {
	if o.next == nil {
		o.next = o.findLocked()
	}
	return o.next != nil
}

// idle says that an object may be next for which there is a worker without a pass.
func (o *order) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.running) < o.options.Workers && o.moreLocked()
}

// Pop returns the object that Len has found, and begins its pass. The queue calls both
// under its lock.
func (o *order) Pop() reconcile.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waking {
		o.waking = false
		return wakeUp()
	}
	object, connection := o.next.object, o.next.connection
	o.next = nil
	t := o.tenants[object.Namespace]
	t.take(connection)
	if i := slices.Index(o.turns, object.Namespace); i >= 0 {
		o.turns = slices.Delete(o.turns, i, i+1)
	}
	if len(t.waiting) > 0 {
		o.turns = append(o.turns, object.Namespace)
	}
	p := pass{connection: connection, began: o.options.Clock.Now()}
	p.slow = p.began.Before(t.slowUntil)
	o.running[object] = p
	o.countLocked(t, p, 1)
	return object
}

// done ends the pass over an object.
func (o *order) done(object reconcile.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, found := o.running[object]
	if !found {
		return
	}
	delete(o.running, object)
	t := o.tenants[object.Namespace]
	o.countLocked(t, p, -1)
	now := o.options.Clock.Now()
	took := now.Sub(p.began)
	o.options.Spent(object.Namespace, took)
	if took >= slowAfter {
		t.slowUntil = now.Add(min(slowFactor*took, slowLongest))
	}
	o.forgetLocked(now)
}

// forgetLocked drops namespaces of which nothing is to be known.
func (o *order) forgetLocked(now time.Time) {
	for namespace, t := range o.tenants {
		if t.passes == 0 && len(t.waiting) == 0 && !now.Before(t.slowUntil) {
			delete(o.tenants, namespace)
		}
	}
}

func (o *order) countLocked(t *tenant, p pass, n int) {
	t.passes += n
	if p.slow {
		o.slow += n
	}
	if p.connection == "" {
		return
	}
	t.connected += n
	o.connected += n
	o.connections[p.connection] += n
	if o.connections[p.connection] == 0 {
		delete(o.connections, p.connection)
	}
}

// findLocked returns the object that is next; nil if none may be.
func (o *order) findLocked() *candidate {
	if found := o.firstLocked(o.slow < o.share(2)); found != nil {
		return found
	}
	if len(o.running) < max(1, o.options.Workers-o.share(5)) {
		return o.firstLocked(true)
	}
	return nil
}

// firstLocked returns the first object that may be next, of slow namespaces too if they may
// have another worker.
func (o *order) firstLocked(slow bool) *candidate {
	now := o.options.Clock.Now()
	for _, namespace := range o.turns {
		t := o.tenants[namespace]
		if now.Before(t.slowUntil) && !slow || t.passes >= o.options.PerNamespace {
			continue
		}
		t.move(o.options.ConnectionOf)
		for connection, waiting := range t.waiting {
			if o.roomLocked(t, connection) {
				object, _ := waiting.first()
				return &candidate{object, connection}
			}
		}
	}
	return nil
}

// move has the first object of each connection wait for the one that it uses now.
func (t *tenant) move(connectionOf func(reconcile.Request) string) {
	for connection, waiting := range maps.Clone(t.waiting) {
		for !waiting.empty() {
			object, begun := waiting.first()
			now := connectionOf(object)
			if now == connection {
				break
			}
			t.take(connection)
			t.line(now).add(object, begun)
		}
	}
}

// line returns what waits for a connection.
func (t *tenant) line(connection string) *line {
	if t.waiting[connection] == nil {
		t.waiting[connection] = &line{}
	}
	return t.waiting[connection]
}

// take removes the first object that waits for a connection.
func (t *tenant) take(connection string) {
	t.waiting[connection].take()
	if t.waiting[connection].empty() {
		delete(t.waiting, connection)
	}
}

// roomLocked says that a pass may use a connection.
func (o *order) roomLocked(t *tenant, connection string) bool {
	return connection == "" ||
		o.connections[connection] < perConnection &&
			t.connected < o.share(3) &&
			o.connected < max(1, o.options.Workers-o.share(5))
}
