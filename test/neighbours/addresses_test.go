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

package neighbours

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// A template asks 500 pools for each of 10 machines. ip-address-manager, a process with its default
// flags, answers the claims of all tenants in one queue. Of those there are few at any time, and
// machines of the honest tenant get their addresses long before the others have theirs.
func TestAttackManyPools(t *testing.T) {
	const pools, machines, most = 500, 10, 5 + 2*workers // two of each worker that counts at the same time
	startPools(t)
	s := begin(t, "pools")
	defer s.end()
	seen, err := place.FollowAddresses(s.ctx)
	s.ok(err)
	s.ok(place.AskEach(s.ctx, types.NamespacedName{Namespace: honest, Name: "nodes"}, 1))
	s.data("first", 1)
	alone := s.data("alone", 7)

	s.ok(place.AskEach(s.ctx, types.NamespacedName{Namespace: s.tenant, Name: "nodes"}, pools))
	s.ok(place.Quiet(s.ctx, time.Second))
	for n := range machines {
		s.ok(place.MachineOf(s.ctx, types.NamespacedName{Namespace: s.tenant, Name: fmt.Sprintf("machine-%d", n)}, "nodes"))
	}
	s.until("ip-address-manager has spent its burst of requests", func() bool { return seen.Of(s.tenant).Answered > 3*machines })
	before := seen.Of(s.tenant)
	beside := s.data("beside", 7)
	after := seen.Of(s.tenant)

	s.Logf("%d claims at once and %d answered, of %d; the data of an honest machine is ready %.1f times as late beside them",
		after.Most, after.Answered, pools*machines, float64(beside)/float64(alone))
	s.atMost("claims at once", int64(after.Most), most)
	if after.Answered == before.Answered || after.Answered >= pools*machines {
		s.Errorf("%d and then %d claims were answered: the honest tenant was not served beside them", before.Answered, after.Answered)
	}
}

// startPools runs ip-address-manager until the test ends.
func startPools(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	manager, err := place.StartPools(ctx, t.TempDir())
	expect.NoError(t, err)
	t.Cleanup(func() { // it would wait for requests that it may send later
		if err := manager.Kill(); err != nil {
			t.Error(err)
		}
	})
}

// data makes machines of the honest tenant one after the other, and returns the median of how long
// each waits for its data.
func (s *story) data(when string, count int) time.Duration {
	s.Helper()
	waits := make([]time.Duration, count)
	for n := range waits {
		key := types.NamespacedName{Namespace: honest, Name: fmt.Sprintf("%s-%s-%d", s.tenant, when, n)}
		s.ok(place.MachineOf(s.ctx, key, "nodes"))
		waited, err := place.AwaitData(s.ctx, key)
		s.ok(err)
		waits[n] = waited.Round(time.Millisecond)
	}
	slices.Sort(waits)
	s.Logf("%s: an honest machine has its data after %s of %v", when, waits[count/2], waits)
	return waits[count/2]
}
