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
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
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
