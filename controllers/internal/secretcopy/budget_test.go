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

package secretcopy

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func claimNamed(namespace string, i int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("machine-%d", i)}
}

// What ordinary machines need is copied at once.
func TestOrdinaryCopiesDoNotWait(t *testing.T) {
	b, now := &Budget{}, time.Unix(1000, 0)
	for i := range 250 {
		wait := b.Take(claimNamed("tenant", i), 65<<10, now)
		expect.Must(t, wait <= 0, "machine %d of 250 with 64 KiB waits %s", i, wait)
	}
}

// However many claims of a namespace ask for copies, and however often, they get what its budget
// gives, each after one wait; another namespace has its own.
func TestAttackCopiesBeyondTheBudget(t *testing.T) {
	const claims, size, minutes = 18, 700 << 10, 5
	start := time.Unix(1000, 0)
	b, copied, asked, due := &Budget{}, 0, 0, map[int]time.Time{}
	for now := start; now.Before(start.Add(minutes * time.Minute)); now = now.Add(100 * time.Millisecond) {
		for i := range claims { // each is written to all the time
			asked++
			if b.Wait(claimNamed("tenant", i), now) > 0 {
				continue
			}
			at, waited := due[i]
			expect.Must(t, !waited || !now.Before(at), "claim %d gets its turn %s early", i, at.Sub(now))
			delete(due, i)
			if wait := b.Take(claimNamed("tenant", i), size, now); wait > 0 {
				due[i] = now.Add(wait)
			} else {
				copied += size
			}
		}
	}
	most := Burst + minutes*60*PerSecond
	expect.That(t, copied <= most && copied >= most-claims*size, "%d MiB copied, want a little less than %d", copied>>20, most>>20)
	t.Logf("%d passes in %d minutes: %d MiB copied, %d MiB without a budget", asked, minutes, copied>>20, asked*size>>20)
	if wait := b.Take(claimNamed("other", 0), size, start); wait > 0 {
		t.Errorf("a claim of another namespace waits %s", wait)
	}
}

// A turn for few bytes does not cover many, and one that a claim has waited for is not charged again.
func TestTurnOfAClaim(t *testing.T) {
	b, now, claim := &Budget{}, time.Unix(1000, 0), claimNamed("tenant", 0)
	b.Take(claimNamed("tenant", 1), Burst, now)
	expect.Equal(t, time.Second, b.Take(claim, PerSecond, now))
	now = now.Add(time.Second)
	expect.Equal(t, 0, b.Wait(claim, now))
	if wait := b.Take(claim, 3*PerSecond, now); wait != 2*time.Second {
		t.Errorf("waits %s for what it asks besides, want 2s", wait)
	}
	expect.Equal(t, 0, b.Take(claim, 3*PerSecond, now.Add(2*time.Second)))
	expect.Equal(t, 0, b.Take(claim, 2*Burst, now.Add(time.Hour)))
	b.Take(claim, PerSecond, now.Add(time.Hour))
	b.Forget(claim)
	expect.Equal(t, 0, b.Wait(claim, now.Add(time.Hour)))
}
