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

package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// The times of a run in the smallest size mean nothing. Figures are named that must be more than zero, that
// must exist, and that must have a value.
func TestSmallRuns(t *testing.T) {
	ctrl.SetLogger(klog.Background())
	for name, tt := range map[string]struct {
		positive, present []string
		exact             map[string]float64
	}{
		"bind": {
			positive: []string{
				"one bind, 60 hosts, requests", "in turn with one among 10 hosts, median", "cost among 60 compared with 10 hosts",
				"10 claims on 20 hosts, until all are bound", "processor time of the manager for each of them",
				"PATCH baremetalhosts", "one claim told why it has no host, 60 hosts, median",
				"host becomes available among 60 until it is claimed, p99", "the same with 3 at once, p99",
				"memory of the manager, 66 hosts, 21 bound", "after a restart",
			},
			present: []string{ // these may be zero: the clock of the processor ticks every 10 ms
				"reconciles in 1s with 10 bound claims",
				"one claim told why it has no host, 60 hosts, processor time of the manager",
			},
		},
		"scale": {
			positive: []string{
				"2 machines in one cluster, until all are Ready", "4 machines in 2 clusters, until each is replaced",
				"4 machines in 2 clusters, until all are gone", "requests of all managers for each of them",
				"4 machines in 2 clusters, the provider manager starts anew, until it is settled",
				"4 machines in 2 clusters, until all are Ready although both leaders die",
				"Metal3DataClaim until its Metal3Data, p99", "Metal3Data until it is ready, p99",
				"ip-address-manager: claim on a pool until its address, p99",
			},
			present: []string{
				"4 machines in 2 clusters, hostclaim manager, passes in 1s of rest", "wait in the queue of metal3machine, p99",
			},
			exact: map[string]float64{
				"hosts taken that no machine has": 0, "POST metal3datas": 1, "POST ipclaims": 1, // ip-address-manager may post an address again
			},
		},
		"remote": {
			positive: []string{
				"12 machines in 4 clusters, until all are Ready", "change of a claim there until it is seen on the Metal3Machine, p99",
				"the same, while 12 claims change, p99", "change of a claim after that, p99", "memory",
			},
			exact: map[string]float64{
				"connections for each identity": 1, "watches on hostclaims there for each identity": 1,
				"watches on hardwaredata there for each identity": 1, "watches on secrets there for each identity": 1,
				"12 machines in 4 clusters, provider manager, passes in 1s of rest": 0,
				"machines that left Ready while 4 tokens were renewed":              0, "connections for each identity after that": 1,
			},
		},
		"neighbours": {positive: []string{
			"created until bound, before a slow tenant came, p99", "created until bound, beside a slow tenant, p99",
			"created until first status, beside a flooding tenant, median", "created until bound, beside a hoarding tenant, median",
			"created until bound, beside a lying tenant, p99", "created until bound, beside a streaming tenant, p99", "p99 over that of the tenant alone",
			"memory of the provider manager, at most, 36 honest machines", "memory of the hostclaim manager, at most, 36 honest machines",
		}},
		"rollout": {positive: []string{
			"requests per machine until it runs, all managers audited", "writes of Metal3Machine and its status per machine",
			"requests per machine to delete, all managers audited",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			figures, err := measure(t.Context(), name, options{size: "small"})
			expect.NoError(t, err)
			got := map[string]float64{}
			for _, figure := range figures.Figures {
				got[strings.TrimSpace(figure.Name)] = figure.Value
			}
			for _, name := range tt.positive {
				if got[name] <= 0 {
					t.Errorf("no figure for %q", name)
				}
			}
			for _, name := range tt.present {
				if _, found := got[name]; !found {
					t.Errorf("no figure for %q", name)
				}
			}
			maps.DeleteFunc(got, func(name string, _ float64) bool { _, asked := tt.exact[name]; return !asked })
			expect.Equal(t, tt.exact, got, cmpopts.EquateEmpty())
		})
	}
}
