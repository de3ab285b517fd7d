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
// The queue is client-go's, with its metrics; only the order is its own, see order. It knows
// no kinds.
package queue

import (
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
