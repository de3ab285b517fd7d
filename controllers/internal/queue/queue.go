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

// Package queue is a work queue that shares the workers of a controller between namespaces,
// so that the objects of one tenant do not hold up those of another, and a wrapper for
// reconcilers that does the same for the passes of one object.
//
// The queue is client-go's, with its metrics; only the order is its own. It knows
// no kinds.
package queue

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// request is what all queues hold.
type request = reconcile.Request

// New returns a function for controller.Options.NewQueue of a controller with so many workers.
// ConnectionOf names the connection to another server that a pass over an object uses; empty
// if it uses none. It must be quick. Nil means that no pass uses one.
func New(workers int, connectionOf func(request) string) func(string, workqueue.TypedRateLimiter[request]) workqueue.TypedRateLimitingInterface[request] {
	return func(name string, limiter workqueue.TypedRateLimiter[request]) workqueue.TypedRateLimitingInterface[request] {
		order := newOrder(workers, connectionOf)
		inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[request]{Name: name, Queue: order})
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[request]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[request]{
				Name: name, Queue: queue{inner, order},
			}),
		})
	}
}

// queue informs the order when a pass has ended.
type queue struct {
	workqueue.TypedInterface[request]

	order *order
}

// Done ends the pass over an object. One more object may begin by that at most, and the
// worker that calls it asks for one next, so no other worker has to be woken.
func (q queue) Done(object request) {
	q.order.done(object)
	q.TypedInterface.Done(object)
}

const (
	// firstRetry is how long after its first failure an object is tried again; each further time it
	// takes twice as long.
	firstRetry = 10 * time.Millisecond
	// lastRetry is the longest that it takes, so that a mended cause which cannot be watched is
	// noticed soon.
	lastRetry = 15 * time.Second
)

// Limiter returns the backoff of one controller. Each object has its own count of failures, and one
// that fails holds up no other.
func Limiter() workqueue.TypedRateLimiter[request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[request](firstRetry, lastRetry)
}

// perConnection is how many passes use one connection at a time. The requests of
// more would wait for its rate limit.
const perConnection = 2

// order decides which object is next:
//
//   - Namespaces take turns, and in each the connections that its objects use.
//   - Two fifths of the workers, rounded up, work for one namespace at most.
//   - Two passes use the same connection at most. An object waits for the one that it had when
//     it was added.
//   - Of the objects that are left, the first to come is the first to go.
//
// Client-go's queue calls its methods under a lock, except done.
type order struct {
	share        int
	connectionOf func(request) string

	mu      sync.Mutex
	turns   []*tenant // the next to be served first
	running map[request]*line
}

// tenant is a namespace with objects that wait or are worked on.
type tenant struct {
	namespace string
	passes    int     // under way
	lines     []*line // the next to be served first
}

// line is the objects of a namespace that use one connection, or none.
type line struct {
	tenant     *tenant
	connection string
	passes     int
	waiting    []request
}

func newOrder(workers int, connectionOf func(request) string) *order {
	if connectionOf == nil {
		connectionOf = func(request) string { return "" }
	}
	return &order{share: (2*workers + 4) / 5, connectionOf: connectionOf, running: map[request]*line{}}
}

// Touch is for an object that waits and is added once more: it keeps its place.
func (o *order) Touch(request) {}

// Push adds an object.
func (o *order) Push(object request) {
	connection := o.connectionOf(object)
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.turns, func(t *tenant) bool { return t.namespace == object.Namespace })
	if at < 0 {
		at = len(o.turns)
		o.turns = append(o.turns, &tenant{namespace: object.Namespace})
	}
	t := o.turns[at]
	at = slices.IndexFunc(t.lines, func(l *line) bool { return l.connection == connection })
	if at < 0 {
		at = len(t.lines)
		t.lines = append(t.lines, &line{tenant: t, connection: connection})
	}
	t.lines[at].waiting = append(t.lines[at].waiting, object)
}

// Len is 1 if an object may be next, and 0 if none may.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.nextLocked() == nil {
		return 0
	}
	return 1
}

// Pop begins the pass over the object that is next. Len has just found that there is one.
func (o *order) Pop() request {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.nextLocked()
	object := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.passes++
	l.tenant.passes++
	o.running[object] = l
	last(o.turns, l.tenant)
	last(l.tenant.lines, l)
	return object
}

// nextLocked returns the line whose first object is next; nil if none may be. It looks at few
// others before: there are no more than workers.
func (o *order) nextLocked() *line {
	for _, t := range o.turns {
		if t.passes >= o.share {
			continue
		}
		for _, l := range t.lines {
			if len(l.waiting) > 0 && (l.connection == "" || l.passes < perConnection) {
				return l
			}
		}
	}
	return nil
}

// done ends the pass over an object, and forgets connection and namespace if it was the last.
func (o *order) done(object request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l, found := o.running[object]
	if !found {
		return
	}
	delete(o.running, object)
	t := l.tenant
	l.passes--
	t.passes--
	if l.passes == 0 && len(l.waiting) == 0 {
		t.lines = slices.DeleteFunc(t.lines, func(other *line) bool { return other == l })
	}
	if len(t.lines) == 0 {
		o.turns = slices.DeleteFunc(o.turns, func(other *tenant) bool { return other == t })
	}
}

// last moves one of the elements behind all others.
func last[E comparable](elements []E, e E) {
	at := slices.Index(elements, e)
	copy(elements[at:], elements[at+1:])
	elements[len(elements)-1] = e
}
