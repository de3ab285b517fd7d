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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
)

const (
	// Burst is how many bytes may be copied at once for the claims of one namespace: user data of
	// 64 KiB for 250 servers.
	Burst = 16 << 20
	// PerSecond is how many bytes a second follow: 75 MiB between two compactions of etcd, which
	// come every 5 minutes.
	PerSecond = 256 << 10
)

// Size is what the budget is charged for a copy: its content, and 1 KiB for all the rest.
func Size(secret *corev1.Secret) int {
	size := 1 << 10
	for _, value := range secret.Data {
		size += len(value)
	}
	return size
}

// Budget bounds what is copied for the claims of one namespace. The zero value is ready for use.
type Budget struct {
	mu         sync.Mutex
	namespaces *queue.Buckets[string]
	turns      map[types.NamespacedName]turn
}

// turn is when a claim may have bytes copied that the budget was charged for already.
type turn struct {
	at    time.Time
	bytes int
}

// Wait is how long a claim still waits for its turn; 0 for one that has none to wait for.
func (b *Budget) Wait(claim types.NamespacedName, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.turns[claim].at.Sub(now), 0)
}

// Take charges the budget of the claim's namespace. The bytes may be copied if it returns 0; else
// the claim has a turn after that time, and is charged for no more than it then asks for besides.
func (b *Budget) Take(claim types.NamespacedName, bytes int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.namespaces == nil {
		b.namespaces, b.turns = queue.NewBuckets[string](PerSecond, Burst), map[types.NamespacedName]turn{}
	}
	t := b.turns[claim]
	if more := min(bytes, Burst) - t.bytes; more > 0 {
		t = turn{at: now.Add(b.namespaces.Charge(claim.Namespace, more, now)), bytes: t.bytes + more}
	}
	wait := t.at.Sub(now)
	if wait <= 0 {
		delete(b.turns, claim)
		return 0
	}
	b.turns[claim] = t
	return wait
}

// Forget drops the turn of a claim that is gone.
func (b *Budget) Forget(claim types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.turns, claim)
}
