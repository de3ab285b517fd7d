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
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// Buckets are token buckets, one for each key, such as an object or a namespace. A full one is
// forgotten, since a new one is as full.
type Buckets[K comparable] struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	byKey   map[K]*rate.Limiter
	cleanAt int // so many keys; then the full ones are looked for
}

// NewBuckets returns full buckets of burst tokens, which gain perSecond ones.
func NewBuckets[K comparable](perSecond rate.Limit, burst int) *Buckets[K] {
	return &Buckets[K]{rate: perSecond, burst: burst, byKey: map[K]*rate.Limiter{}}
}

// Charge takes tokens, no more than a bucket holds, and returns after what time they are
// covered.
func (b *Buckets[K]) Charge(key K, tokens int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(key, now).ReserveN(now, min(tokens, b.burst)).DelayFrom(now)
}

// Take takes one token if there is one, and returns 0; else it takes none and returns after
// what time there is one.
func (b *Buckets[K]) Take(key K, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	token := b.of(key, now).ReserveN(now, 1)
	wait := token.DelayFrom(now)
	if wait > 0 {
		token.CancelAt(now)
	}
	return wait
}

// Full reports whether nothing is missing in a bucket.
func (b *Buckets[K]) Full(key K, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter, found := b.byKey[key]
	return !found || b.full(limiter, now)
}

// of returns the bucket of a key. Before it adds one to twice as many as there were when it
// looked last, it forgets those that are full.
func (b *Buckets[K]) of(key K, now time.Time) *rate.Limiter {
	limiter, found := b.byKey[key]
	if !found {
		if len(b.byKey) >= b.cleanAt {
			maps.DeleteFunc(b.byKey, func(_ K, l *rate.Limiter) bool { return b.full(l, now) })
			b.cleanAt = 2*len(b.byKey) + 1
		}
		limiter = rate.NewLimiter(b.rate, b.burst)
		b.byKey[key] = limiter
	}
	return limiter
}

func (b *Buckets[K]) full(limiter *rate.Limiter, now time.Time) bool {
	return limiter.TokensAt(now) >= float64(b.burst)
}

const (
	// afterConflict is when a pass that met a newer object is made again. By then the cache
	// mostly shows that object, and its event has asked for the pass anyway.
	afterConflict = 50 * time.Millisecond
	// passBurst is how many passes of an object may follow each other at once, and passEvery
	// how long each one after these takes to come back. An object needs fewer in its life; one
	// that has more is turned back and forth, by another cluster perhaps, or loses to another
	// writer each time.
	passBurst = 30
	passEvery = 2 * time.Second
)

// Conflicts returns a reconciler that runs r. Where r fails for nothing but conflicts, it asks for
// another pass soon: the write was refused as it had to be, and the next pass decides anew.
func Conflicts(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, object request) (ctrl.Result, error) {
		result, err := r.Reconcile(ctx, object)
		if err == nil || !patch.OnlyConflicts(err) {
			return result, err
		}
		ctrl.LoggerFrom(ctx).V(4).Info("Another write came first, trying again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: afterConflict}, nil
	})
}

// Spaced is Conflicts, and spaces out the passes of an object that has very many.
func Spaced(r reconcile.Reconciler, clock clock.PassiveClock) reconcile.Reconciler {
	passes, r := NewBuckets[request](rate.Every(passEvery), passBurst), Conflicts(r)
	return reconcile.Func(func(ctx context.Context, object request) (ctrl.Result, error) {
		if wait := passes.Take(object, clock.Now()); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		return r.Reconcile(ctx, object)
	})
}
