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

package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/metal3-io/cluster-api-provider-metal3/test/model"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// TestEveryRequestOfTheReconcilersIsInTheTable lets reconcilers run and wants each
// sort of request that they send to an API server to be compared with a real one.
func TestEveryRequestOfTheReconcilersIsInTheTable(t *testing.T) {
	run := model.Run{Seed: 1, Schedules: 300, Config: model.Config{Steps: 250}}
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	compared := map[string]bool{}
	for _, answer := range Play(t.Context(), store.NewMemory(store.NewLog(nil), clock), "conformance") {
		compared[answer.Sort] = true
	}
	sent := 0
	for _, what := range slices.Sorted(maps.Keys(run.Play().Counts)) {
		verb, kind, _ := strings.Cut(what, " ")
		if !slices.Contains([]string{"get", "list", "create", "patch", "delete"}, verb) || strings.Contains(kind, "(cached)") {
			continue
		}
		sent++
		if !compared[what] {
			t.Errorf("the reconcilers send %q, which is not compared", what)
		}
	}
	if sent < 10 {
		t.Errorf("only %d sorts of requests were sent", sent)
	}
}
