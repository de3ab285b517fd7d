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
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Options say how the workers of a controller are shared.
type Options struct {
	// Workers is how many objects the controller works on at a time.
	Workers int
	// PerNamespace is how many of them work for one namespace at most, so that a burst of one
	// leaves workers for the next one, and asks others, such as address pools, for less at a time.
	// Zero means all.
	PerNamespace int
	// ConnectionOf names the connection that a pass over an object uses; empty if there
	// is none. It must be quick. Nil means that no pass uses one.
	ConnectionOf func(reconcile.Request) string
	// Begun says that an object is on its way: of those of its namespace it goes before the ones
	// that are not, three to one, so that many that come at a time reach their end one after the
	// other. It is called under the lock of the queue: it must be quick, and take no lock under
	// which objects are added. Nil means that none is on its way.
	Begun func(reconcile.Request) bool
	// Clock tells how long passes take.
	Clock clock.PassiveClock
	// Spent hears how long each pass over an object of a namespace took. It must be quick.
	// Nil means that it is not needed.
	Spent func(namespace string, took time.Duration)
}

// New returns a function for controller.Options.NewQueue.
func New(o Options) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		order := newOrder(o)
		inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: order})
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
				Name: name, Queue: &queue{inner, order},
			}),
		})
	}
}

// queue tells the order when a pass has ended, and wakes workers for objects that may
// begin since then.
type queue struct {
	workqueue.TypedInterface[reconcile.Request]

	order *order
}

// Get returns the object that is next. The worker that got one wakes another while there
// is more to do.
func (q *queue) Get() (reconcile.Request, bool) {
	for {
		object, shutdown := q.TypedInterface.Get()
		if object == wakeUp() {
			q.TypedInterface.Done(wakeUp())
			continue
		}
		if !shutdown && q.order.idle() {
			q.Add(wakeUp())
		}
		return object, shutdown
	}
}

// Done ends the pass over an object. The worker that ended it asks for the next object
// right away; there may be others, or the object that is next may be found by Get only.
func (q *queue) Done(object reconcile.Request) {
	q.order.done(object)
	q.TypedInterface.Done(object)
}
