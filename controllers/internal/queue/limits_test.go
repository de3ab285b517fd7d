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
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestTakeRefusesWhatIsNotThere(t *testing.T) {
	b, now := NewBuckets[string](rate.Every(2*time.Second), 3), time.Unix(1000, 0)
	for _, step := range []struct {
		what string
		key  string
		at   time.Duration
		want time.Duration
	}{
		{what: "the first", key: "a"},
		{what: "the second", key: "a"},
		{what: "the last that is there", key: "a"},
		{what: "one too many", key: "a", want: 2 * time.Second},
		{what: "a refusal takes none", key: "a", want: 2 * time.Second},
		{what: "another key has its own", key: "b"},
		{what: "half a token later", key: "a", at: time.Second, want: time.Second},
		{what: "at the time that was told", key: "a", at: 2 * time.Second},
		{what: "and right after that", key: "a", at: 2 * time.Second, want: 2 * time.Second},
	} {
		t.Run(step.what, func(t *testing.T) { expect.Equal(t, step.want, b.Take(step.key, now.Add(step.at))) })
	}
}

func TestChargeTakesWhatIsNotThere(t *testing.T) {
	b, now := NewBuckets[string](1, 10), time.Unix(1000, 0)
	for _, step := range []struct {
		tokens int
		want   time.Duration
	}{{8, 0}, {5, 3 * time.Second}, {1, 4 * time.Second}, {1000, 14 * time.Second}} {
		got := b.Charge("a", step.tokens, now)
		expect.That(t, got == step.want, "%d tokens are covered after %s, want %s", step.tokens, got, step.want)
	}
	if b.Full("a", now.Add(23*time.Second)) || !b.Full("a", now.Add(24*time.Second)) || !b.Full("unknown", now) {
		t.Error("a bucket is full at another time than when it has gained what it has lost")
	}
}

// Any number of keys that come and go takes no more memory than those in use.
func TestFullBucketsAreForgotten(t *testing.T) {
	b, now := NewBuckets[int](1, 1), time.Unix(1000, 0)
	for key := range 10_000 {
		b.Take(key, now)
		now = now.Add(100 * time.Millisecond)
		n := len(b.byKey)
		expect.Must(t, n <= 25, "%d keys are kept, of which 10 are in use", n)
	}
}
