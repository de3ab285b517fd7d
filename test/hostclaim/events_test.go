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
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// events returns type and reason of all events of a namespace, sorted; one that
// was emitted several times is there as often.
func (w *world) events(namespace string) []string {
	list := &corev1.EventList{}
	w.OK(w.List(w.Ctx, list, client.InNamespace(namespace)))
	out := []string{}
	for _, e := range list.Items {
		times := 1
		if e.Series != nil {
			times = int(e.Series.Count)
		}
		for range times {
			out = append(out, e.Type+" "+e.Reason)
		}
	}
	slices.Sort(out)
	return out
}

// TestEachSideIsToldOnce follows a claim through its life, with a manager that is stopped and
// started on the way, and compares the events for tenant and administrator.
func TestEachSideIsToldOnce(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0")
	stop := w.manager()
	w.claim("machine", withImage("boot"))
	w.expect("machine", synchronized, "False/UserDataSecretSyncFailure")
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	w.expect("machine", "Ready", "True/Provisioned")

	fail := func(kind bmov1alpha1.ErrorType, text string) {
		w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) { s.ErrorType, s.ErrorMessage = kind, text })
	}
	fail(bmov1alpha1.PowerManagementError, "BMC 192.0.2.7 does not answer")
	w.expect("machine", "Ready", "False/Error")
	// What a manager has not sent when it is stopped is lost.
	w.G.Eventually(func() []string { return w.events(w.tenant) }).Should(gomega.ContainElement("Warning HostError"))
	w.G.Eventually(func() []string { return w.events(w.infra) }).Should(gomega.ContainElement("Warning ClaimAffected"))
	stop()
	w.manager()
	fail("", "")
	w.expect("machine", "Ready", "True/Provisioned")

	w.OK(w.Delete(w.Ctx, &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "policy"}}))
	w.expect("machine", "hostclaim.metal3.io/Admitted", "False/PolicyRevoked")
	w.expect("machine", "Ready", "True/Provisioned")
	w.end("machine")

	// These servers are written, and wiped, so fast that a manager may report the end only.
	tenants := func() []string {
		return slices.DeleteFunc(w.events(w.tenant), func(e string) bool {
			return e == "Normal ProvisioningStarted" || e == "Normal Releasing"
		})
	}
	w.G.Eventually(tenants).Should(gomega.Equal([]string{
		"Normal Bound", "Normal HostErrorGone", "Normal Provisioned",
		"Warning HostError", "Warning PolicyRevoked", "Warning UserDataSecretSyncFailure",
	}))
	w.G.Eventually(func() []string { return w.events(w.infra) }).Should(gomega.Equal([]string{
		"Normal ClaimUnaffected", "Normal Freed", "Warning ClaimAffected", "Warning PolicyRevoked",
	}))
	list := &corev1.EventList{}
	w.OK(w.List(w.Ctx, list, client.InNamespace(w.tenant)))
	w.G.Expect(list.Items).NotTo(gomega.ContainElement(gomega.HaveField("Message", gomega.ContainSubstring("192.0.2.7"))))
}

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
	w := newWorld(t).withRights().withHosts("host-0").withBoot()
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

// machineFacts reads the HardwareData of claim "machine".
func (w *world) machineFacts() *bmov1alpha1.HardwareData {
	data := &bmov1alpha1.HardwareData{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: "machine-hostclaim"}, data))
	return data
}

func TestPublishedFactsAreKeptCurrent(t *testing.T) {
	w := newWorld(t).withRights()
	w.policy(map[string]string{
		"hostclaim.metal3.io/publish-labels":      "rack|size",
		"hostclaim.metal3.io/publish-annotations": "example.com/.*",
	}, w.tenant)
	w.host("host-0", map[string]string{"rack": "a1", "secret": "x"})
	w.manager()
	w.claim("machine")
	w.expect("machine", "hostclaim.metal3.io/HardwareDataPublished", "True/Published")
	policy := w.readPolicy()
	hardware := func(edit func(*bmov1alpha1.HardwareDetails)) func() {
		return func() {
			w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) { edit(s.HardwareDetails) })
		}
	}
	label := func(key string) func() any { return func() any { return w.machineFacts().Labels[key] } }
	steps := []struct {
		when string
		do   func()
		see  func() any
		want any
	}{
		{"it is published", func() {}, label("rack"), "a1"},
		{"a label changes", func() {
			harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Labels["rack"] = "a2" })
		}, label("rack"), "a2"},
		{"a label comes", func() {
			harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Labels["size"] = "large" })
		}, label("size"), "large"},
		{"an annotation comes", func() {
			harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Annotations["example.com/a"] = "b" })
		}, func() any { return w.machineFacts().Annotations["example.com/a"] }, "b"},
		{"the hardware changes", hardware(func(h *bmov1alpha1.HardwareDetails) {
			h.RAMMebibytes, h.Storage = 2048, []bmov1alpha1.Storage{{Name: "/dev/sda"}}
		}), func() any { return len(w.machineFacts().Spec.HardwareDetails.Storage) }, 1},
		{"a part of the hardware is taken out", hardware(func(h *bmov1alpha1.HardwareDetails) {
			h.Storage = nil
		}), func() any { return len(w.machineFacts().Spec.HardwareDetails.Storage) }, 0},
		{"a tenant edits the facts", func() {
			harness.Change(w.Story, w.machineFacts(), func(d *bmov1alpha1.HardwareData) { d.Spec.HardwareDetails.RAMMebibytes = 1 })
		}, func() any { return w.machineFacts().Spec.HardwareDetails.RAMMebibytes }, 2048},
		{"a tenant takes the facts out", func() {
			harness.Change(w.Story, w.machineFacts(), func(d *bmov1alpha1.HardwareData) { d.Spec.HardwareDetails = nil })
		}, func() any { return w.machineFacts().Spec.HardwareDetails != nil }, true},
		{"a tenant takes the owner out", func() {
			harness.Change(w.Story, w.machineFacts(), func(d *bmov1alpha1.HardwareData) { d.OwnerReferences = nil })
		}, func() any { return len(w.machineFacts().OwnerReferences) }, 1},
		{"the policy lets fewer labels out", func() {
			harness.Change(w.Story, policy, func(p *bmov1alpha1.HostDeployPolicy) { p.Annotations["hostclaim.metal3.io/publish-labels"] = "rack" })
		}, label("size"), ""},
		{"the policy lets no annotations out", func() {
			harness.Change(w.Story, policy, func(p *bmov1alpha1.HostDeployPolicy) {
				delete(p.Annotations, "hostclaim.metal3.io/publish-annotations")
			})
		}, func() any { return w.machineFacts().Annotations["example.com/a"] }, ""},
	}
	for _, step := range steps {
		step.do()
		w.G.Eventually(step.see).Should(gomega.Equal(step.want), "when %s", step.when)
	}
	w.G.Expect(w.machineFacts().Labels).NotTo(gomega.HaveKey("secret"))

	w.end("machine")
	err := w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: "machine-hostclaim"}, &bmov1alpha1.HardwareData{})
	w.G.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "the facts go with the claim, got %v", err)
}

// The manager holds hosts without their hardware. What it writes to them must take
// nothing away, and bring nothing of the cache along.
func TestWhatTheCacheLacksSurvivesOnTheHost(t *testing.T) {
	w := newWorld(t).withRights().withHosts().withBoot()
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.Description = "third from above"
		h.Spec.RootDeviceHints = &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sda"}
		h.Status.HardwareProfile = "unknown"
		h.Status.GoodCredentials = bmov1alpha1.CredentialsStatus{Version: "7"}
	})
	before := w.readHost("host-0")
	w.manager()
	w.served()
	w.G.Expect(w.machineFacts().Spec.HardwareDetails).To(gomega.Equal(before.Status.HardwareDetails))
	w.end("machine")
	after := w.readHost("host-0")
	after.Status.LastUpdated = before.Status.LastUpdated
	expect.Equal(t, before.Spec, after.Spec)
	expect.Equal(t, before.Status, after.Status)
}
