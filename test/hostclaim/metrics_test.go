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

package hostclaim

import (
	"maps"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
)

// measured gives the gauges and counters of the manager by name and values of the
// labels, and of histograms how often they were fed. Policies are left out, and stale
// decisions, of which a slow cache may make any number, and what a namespace costs.
func (w *world) measured() map[string]int {
	families, err := w.registry.Gather()
	w.OK(err)
	out := map[string]int{}
	for _, family := range families {
		name := strings.TrimPrefix(family.GetName(), "hostclaim_")
		if strings.HasPrefix(name, "namespace_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			parts := []string{name}
			for _, label := range metric.GetLabel() {
				parts = append(parts, label.GetValue())
			}
			key := strings.ReplaceAll(strings.Join(parts, " "), w.infra, "infra")
			out[key] = int(metric.GetGauge().GetValue() + metric.GetCounter().GetValue())
			if h := metric.GetHistogram(); h != nil {
				out[key] = int(h.GetSampleCount())
			}
		}
	}
	return out
}

// TestMetricsFollowHostsAndClaims compares all that a manager measures after each
// scene with what there is.
func TestMetricsFollowHostsAndClaims(t *testing.T) {
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	w.host("host-0", nil)
	w.host("host-1", nil, func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = bmov1alpha1.StateInspecting })
	stop := w.manager()
	scene := func(what string, want map[string]int) {
		t.Helper()
		for _, name := range []string{"bind_duration_seconds", "provision_duration_seconds", "release_duration_seconds"} {
			want[name] += 0
		}
		w.G.Eventually(w.measured).Should(gomega.Equal(want), what)
	}
	scene("no claim asks", map[string]int{"hosts infra available": 1, "hosts infra inspecting": 1, "free_hosts infra": 1})

	first := w.claim("machine", withImage("boot"))
	waiting := w.claim("picky", withLabel("rack", "a1"))
	running := map[string]int{
		"hosts infra provisioned": 1, "hosts infra inspecting": 1, "free_hosts infra": 0, "waiting_claims NoBareMetalHost": 1,
	}
	with := func(more map[string]int) map[string]int {
		out := maps.Clone(running)
		maps.Copy(out, more)
		return out
	}
	scene("one runs and one waits", with(map[string]int{
		"bind_duration_seconds": 1, "provision_duration_seconds": 1, "secrets_synchronized_total userdata written": 1,
	}))
	stop()
	stop = w.manager()
	scene("another manager sees the same, and counts no bind of its own", with(nil))

	w.OK(w.Delete(w.Ctx, waiting))
	w.OK(w.Delete(w.Ctx, first))
	scene("all is given back", map[string]int{
		"hosts infra available": 1, "hosts infra inspecting": 1, "free_hosts infra": 1, "release_duration_seconds": 1,
	})
	w.OK(w.Delete(w.Ctx, w.readHost("host-0")))
	scene("a server is taken away", map[string]int{"hosts infra inspecting": 1, "free_hosts infra": 0, "release_duration_seconds": 1})
	stop()
}
