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

package served

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/conformance"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// schedules is how many are played against the server without SCHEDULES.
const schedules = 100

var server harness.Server

func TestMain(m *testing.M) {
	os.Exit(server.Run(m))
}

// remote is a backend that sees the namespaces with a prefix.
func remote(log *store.Log, prefix string) *store.Remote {
	return store.NewRemote(log, server.Client, func(namespace string) bool { return strings.HasPrefix(namespace, prefix) })
}

func TestStoreAnswersAsTheAPIServer(t *testing.T) {
	const namespace = "conformance"
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	served := remote(store.NewLog(nil), namespace)
	served.BeginsDeletion = server.NewDeletions(t).Begin
	want := conformance.Play(t.Context(), served, namespace)
	got := conformance.Play(t.Context(), store.NewMemory(store.NewLog(nil), clock), namespace)
	for i := range want {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%s (%s): API server -, store +\n%s", want[i].Request, want[i].Sort, diff)
		}
	}
	t.Logf("%d requests were compared", len(want))
}

func TestSchedulesOnTheAPIServer(t *testing.T) {
	seed, played := model.Number(t, "SEED", rand.Uint64()), int(model.Number(t, "SCHEDULES", schedules))
	t.Logf("SEED=%d", seed)
	deletions := server.NewDeletions(t)
	counts := model.Result{Failed: map[int]*model.Violation{}, Counts: map[string]int{}}
	for i := range played {
		prefix := fmt.Sprintf("s%d-", i)
		w := model.Play(model.Config{
			Steps: 120, Trace: true, Prefix: prefix,
			Backend: func(log *store.Log) store.Backend {
				served := remote(log, prefix)
				served.BeginsDeletion = deletions.Begin
				return served
			},
		}, model.Seeded(seed, i))
		if w.Failure != nil {
			t.Errorf("SEED=%d schedule %d: %s", seed, i, w.Report())
		}
		counts.Add(i, w)
	}
	t.Logf("\n%s", counts.Table())
	if faults := slices.Collect(maps.Keys(counts.Counts)); len(faults) < 30 {
		t.Errorf("hardly anything was played: %v", faults)
	}
}
