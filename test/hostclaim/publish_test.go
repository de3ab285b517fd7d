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
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

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
	policy := &bmov1alpha1.HostDeployPolicy{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: "policy"}, policy))
	hardware := func(edit func(*bmov1alpha1.HardwareDetails)) func() {
		return func() {
			host := w.readHost("host-0")
			before := host.DeepCopy()
			edit(host.Status.HardwareDetails)
			w.OK(w.Status().Patch(w.Ctx, host, client.MergeFrom(before)))
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

	w.OK(w.Delete(w.Ctx, w.readClaim("machine")))
	w.expectGone("machine")
	err := w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: "machine-hostclaim"}, &bmov1alpha1.HardwareData{})
	w.G.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "the facts go with the claim, got %v", err)
}

// The manager holds hosts without their hardware. What it writes to them must take
// nothing away, and bring nothing of the cache along.
func TestWhatTheCacheLacksSurvivesOnTheHost(t *testing.T) {
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.Description = "third from above"
		h.Spec.RootDeviceHints = &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sda"}
		h.Status.HardwareProfile = "unknown"
		h.Status.GoodCredentials = bmov1alpha1.CredentialsStatus{Version: "7"}
	})
	before := w.readHost("host-0")
	w.manager()
	claim := w.claim("machine", withImage("boot"))
	w.expect("machine", "Ready", "True/Provisioned")
	w.G.Expect(w.machineFacts().Spec.HardwareDetails).To(gomega.Equal(before.Status.HardwareDetails))
	w.OK(w.Delete(w.Ctx, claim))
	w.expectGone("machine")
	after := w.readHost("host-0")
	after.Status.LastUpdated = before.Status.LastUpdated
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Status, after.Status); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
}
