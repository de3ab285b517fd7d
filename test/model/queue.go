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
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a work queue: a key waits in it once, and one that is added while it
// is worked on waits until that ends.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request] // nil: handlers only add

	clock   *steady
	ready   []reconcile.Request
	running map[reconcile.Request]bool
	again   map[reconcile.Request]bool
	later   []delayed
}

// delayed is a key that comes back at a time.
type delayed struct {
	key reconcile.Request
	due time.Time
}

func newQueue(clock *steady) *queue {
	return &queue{clock: clock, running: map[reconcile.Request]bool{}, again: map[reconcile.Request]bool{}}
}

// Add puts a key in the queue.
func (q *queue) Add(key reconcile.Request) {
	switch {
	case q.running[key]:
		q.again[key] = true
	case !slices.Contains(q.ready, key):
		q.ready = append(q.ready, key)
	}
}

// AddAfter puts a key in the queue later.
func (q *queue) AddAfter(key reconcile.Request, after time.Duration) {
	q.later = append(q.later, delayed{key, q.clock.Now().Add(after)})
}

// AddRateLimited puts a key in the queue after a pause.
func (q *queue) AddRateLimited(key reconcile.Request) {
	q.AddAfter(key, time.Second)
}

// take hands out a waiting key.
func (q *queue) take(at int) reconcile.Request {
	key := q.ready[at]
	q.ready = slices.Delete(q.ready, at, at+1)
	q.running[key] = true
	return key
}

// done ends the work on a key.
func (q *queue) done(key reconcile.Request) {
	delete(q.running, key)
	if q.again[key] {
		delete(q.again, key)
		q.Add(key)
	}
}

// soon is how long a pause may be for which a schedule does not wait.
const soon = time.Minute

// due is the first key whose pause is short or over; -1 if there is none.
func (q *queue) due() int {
	return slices.IndexFunc(q.later, func(d delayed) bool { return d.due.Sub(q.clock.Now()) <= soon })
}

// wakeLater puts a delayed key in the queue; the time is at least what it waited
// for.
func (q *queue) wakeLater(at int) {
	d := q.later[at]
	q.later = slices.Delete(q.later, at, at+1)
	if d.due.After(q.clock.now) {
		q.clock.now = d.due
	}
	q.Add(d.key)
}
