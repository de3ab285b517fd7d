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

package orphans

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/orphan"
)

func host(namespace, name string) *bmov1alpha1.BareMetalHost {
	return &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// gauges returns what the registry shows by namespace.
func gauges(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			out[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
		}
	}
	return out
}

func TestEachChangeIsToldOnceAndCounted(t *testing.T) {
	registry, recorder := prometheus.NewRegistry(), events.NewFakeRecorder(100)
	metrics, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Recorder: recorder, Metrics: metrics}
	a, b, c := host("infra", "a"), host("infra", "b"), host("other", "c")
	wait := orphan.Plan{Step: orphan.Wait, Reason: orphan.OrphanedReason, Message: "gone"}
	releasing := orphan.Plan{Step: orphan.Release, Reason: orphan.ReleasingReason, Message: "wiped"}
	for _, plan := range []orphan.Plan{{Step: orphan.Mark}, wait, wait, releasing} {
		r.note(a, plan)
	}
	// The release comes by its own words again and again, and each obstacle once.
	for range 3 {
		r.note(a, releasing)
		r.waitForHost(a, binding.Wait{Reason: binding.HostDeprovisioningReason, Message: "wait"})
		r.waitForHost(a, binding.Wait{Reason: binding.HostInErrorReason, Message: "mend it"})
	}
	r.note(b, wait)
	r.note(c, orphan.Plan{Step: orphan.Mark})
	close(recorder.Events)
	var told []string
	for line := range recorder.Events {
		told = append(told, strings.TrimSpace(line))
	}
	want := []string{
		"Warning Orphaned gone", "Normal ReleasingOrphan wiped", "Warning HostInError mend it", "Warning Orphaned gone",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"infra": 2, "other": 1}, gauges(t, registry)); diff != "" {
		t.Errorf("gauges (-want +got):\n%s", diff)
	}

	// Rights on the secrets of a namespace wake its orphans, a secret wakes none.
	var woken []string
	for _, request := range r.SecretToHosts(t.Context(), "infra", "") {
		woken = append(woken, request.Name)
	}
	slices.Sort(woken)
	if diff := cmp.Diff([]string{"a", "b"}, woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	if got := r.SecretToHosts(t.Context(), "infra", "boot"); got != nil {
		t.Errorf("a secret wakes %v", got)
	}

	for _, gone := range []*bmov1alpha1.BareMetalHost{a, a, c, host("infra", "never-seen")} {
		r.forget(client.ObjectKeyFromObject(gone))
	}
	if diff := cmp.Diff(map[string]float64{"infra": 1, "other": 0}, gauges(t, registry)); diff != "" {
		t.Errorf("gauges after some went (-want +got):\n%s", diff)
	}
}

func bound(h *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "machine", UID: "claim-uid"}}
	return binding.Bind(h, claim)
}

func TestWhatWakesAHost(t *testing.T) {
	free, taken := host("infra", "a"), bound(host("infra", "a"))
	stray := host("infra", "a")
	stray.Labels = map[string]string{infrav1.ClaimUIDLabel: "claim-uid"}
	predicate := ours()
	for name, tt := range map[string]struct {
		before, after *bmov1alpha1.BareMetalHost
		want          bool
	}{
		"a free host is left alone":          {free, free, false},
		"a host that is bound":               {free, taken, true},
		"a host that ceases to name a claim": {taken, free, true},
		"a stray":                            {stray, stray, true},
	} {
		if got := predicate.Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
		if got := predicate.Create(event.CreateEvent{Object: tt.after}) || predicate.Delete(event.DeleteEvent{Object: tt.before}); got != tt.want {
			t.Errorf("%s comes or goes: %t, want %t", name, got, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		before, after types.UID
		want          bool
	}{
		"a claim that changes":                                 {"u", "u", false},
		"a claim that was replaced while the watch was broken": {"u", "v", true},
	} {
		claim := func(uid types.UID) *bmov1alpha1.HostClaim {
			return &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		}
		if got := comesOrGoes().Update(event.UpdateEvent{ObjectOld: claim(tt.before), ObjectNew: claim(tt.after)}); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
