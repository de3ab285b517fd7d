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

package queue

import (
	"slices"
	"sync"
)

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
