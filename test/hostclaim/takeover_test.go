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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// capm3 is a host that CAPM3 has bound to its machine, and the claim that is to take it over.
type capm3 struct {
	*world
	machine *infrav1.Metal3Machine
}

// ofCAPM3 makes host-0 as CAPM3 leaves it, and its machine, in the namespace of the claim.
func ofCAPM3(t *testing.T, changes ...func(*bmov1alpha1.BareMetalHost, *infrav1.Metal3Machine)) capm3 {
	t.Helper()
	w := newWorld(t)
	w.tenant = w.infra
	c := capm3{world: w.withRights().withBoot(), machine: &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.infra, Name: "machine",
		Annotations: map[string]string{infrav1.HostAnnotation: w.infra + "/host-0", infrav1.TakeOverAnnotation: "true"},
	}, Spec: infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: osImage, Checksum: new("abc123")}}}}
	w.host("host-0", map[string]string{clusterv1.ClusterNameLabel: "a"}, func(h *bmov1alpha1.BareMetalHost) {
		// Held back until the status is there.
		h.Annotations = map[string]string{heldBack: "", infrav1.BlockMoveAnnotation: ""}
		h.Spec.Online, h.Spec.Image = true, &bmov1alpha1.Image{URL: osImage, Checksum: "abc123"}
		h.Spec.UserData = &corev1.SecretReference{Namespace: w.infra, Name: "boot"}
		h.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: w.infra, Name: "machine",
		}
		for _, change := range changes {
			change(h, c.machine)
		}
		h.Status.PoweredOn, h.Status.Provisioning.State, h.Status.Provisioning.Image = true, bmov1alpha1.StateProvisioned, *h.Spec.Image
	})
	w.Make(c.machine)
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, heldBack) })
	return c
}

// takesOver is the claim that the provider manager makes for the machine.
func (c capm3) takesOver(claim *bmov1alpha1.HostClaim) {
	withImage("boot")(claim)
	claim.Spec.PoweredOn = true
	claim.Annotations = map[string]string{infrav1.TakeOverAnnotation: "host-0"}
	claim.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: c.infra, Name: "machine", UID: c.machine.UID,
	}
}

// A host of CAPM3 is taken over as it runs: the claim has it, and no server was written or switched. It is given back
// wiped, with the cleaning mode of its administrator.
func TestHostsOfCAPM3AreTakenOver(t *testing.T) {
	w := ofCAPM3(t)
	before := w.readHost("host-0")
	w.manager()
	w.claim("machine", w.takesOver)
	w.expect("machine", "Ready", "True/Provisioned")
	w.expectBound("machine")
	w.keepsRunning(before)
	w.givenBack("host-0")
}

// keepsRunning checks that a host runs what it did before, and has done so all the time.
func (c capm3) keepsRunning(before *bmov1alpha1.BareMetalHost) {
	c.T.Helper()
	host := c.readHost("host-0")
	kept, now := before.DeepCopy().Spec, host.DeepCopy().Spec
	kept.ConsumerRef, now.ConsumerRef = nil, nil
	kept.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
	c.G.Expect(now).To(gomega.Equal(kept))
	c.G.Expect(host.Status).To(gomega.Equal(before.Status))
	c.G.Expect(host.Labels).NotTo(gomega.HaveKey(clusterv1.ClusterNameLabel))
	c.G.Expect(host.Annotations).To(gomega.HaveKeyWithValue(infrav1.BlockMoveAnnotation, infrav1.HostClaimManagerFieldOwner))
	c.G.Expect(c.operator.drives).To(gomega.BeEmpty())
	c.G.Expect(c.operator.switched.Load()).To(gomega.BeZero())
}

// A manager that dies after any of its writes leaves the host to the next one, as it runs.
func TestTakeOverGoesOnAfterACrash(t *testing.T) {
	harness.Crashes(t, func(t *testing.T, crash *harness.Crash) { //nolint:thelper // The story itself.
		w := ofCAPM3(t)
		before := w.readHost("host-0")
		w.claim("machine", w.takesOver)
		replace := crash.Manager(w.managerWith)
		w.G.Eventually(func() string {
			replace()
			return harness.Condition(w.readClaim("machine").Status.Conditions, "Ready")
		}).Should(gomega.Equal("True/Provisioned"))
		w.keepsRunning(before)
	})
}

// A claim that kube-apiserver removes while it takes a host over leaves the host to its machine, as it was.
func TestTakeOverIsTakenBackIfTheClaimGoes(t *testing.T) {
	w := ofCAPM3(t)
	before := w.readHost("host-0")
	end, transport, bound := endedByBind()
	w.transport = transport
	w.manager()
	end <- w.beginDeletion(server.NewDeletions(t), "machine", w.takesOver)
	w.G.Eventually(bound).Should(gomega.BeClosed())
	w.expectGone("machine")
	w.G.Eventually(func(g gomega.Gomega) {
		now := w.readHost("host-0")
		g.Expect(now.Spec).To(gomega.Equal(before.Spec))
		g.Expect(now.Labels).To(gomega.Equal(before.Labels))
		g.Expect(now.Annotations).To(gomega.Equal(before.Annotations))
	}).Should(gomega.Succeed())
	w.G.Expect(w.operator.switched.Load()).To(gomega.BeZero())
}

// Who may write claims, and no machines, gets no host of a machine by it: host and machine must name each other, and
// the administrator of the machine must have asked. The host stays as it is, and what is in the way is named; most can
// be mended at the host, and the claim then goes on.
func TestTakeOverIsRefused(t *testing.T) {
	type change = func(*bmov1alpha1.BareMetalHost, *infrav1.Metal3Machine)
	for name, test := range map[string]struct {
		spoil change
		claim func(*bmov1alpha1.HostClaim)
		want  string
		mend  func(*bmov1alpha1.BareMetalHost)
	}{
		"the host has another machine": {
			spoil: func(h *bmov1alpha1.BareMetalHost, _ *infrav1.Metal3Machine) { h.Spec.ConsumerRef.Name = "other" },
			want:  "does not name the Metal3Machine of this claim",
			mend:  func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Name = "machine" },
		},
		"the host has a machine of another namespace": {
			spoil: func(h *bmov1alpha1.BareMetalHost, _ *infrav1.Metal3Machine) { h.Spec.ConsumerRef.Namespace = "other" },
			want:  "does not name the Metal3Machine of this claim",
		},
		"the host has no consumer": {
			spoil: func(h *bmov1alpha1.BareMetalHost, _ *infrav1.Metal3Machine) { h.Spec.ConsumerRef = nil },
			want:  "does not name the Metal3Machine of this claim",
		},
		"the machine names another host": {
			spoil: func(_ *bmov1alpha1.BareMetalHost, m *infrav1.Metal3Machine) {
				m.Annotations[infrav1.HostAnnotation] = m.Namespace + "/other"
			},
			want: `annotation metal3.io/BareMetalHost of its Metal3Machine names`,
		},
		"nobody asked for it": {
			spoil: func(_ *bmov1alpha1.BareMetalHost, m *infrav1.Metal3Machine) {
				delete(m.Annotations, infrav1.TakeOverAnnotation)
			},
			want: "put it on the Metal3Cluster",
		},
		"the claim is of an earlier machine": {
			claim: func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef.UID = "other" },
			want:  "no Metal3Machine of the name and UID",
		},
		"the claim names no machine": {
			claim: func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef = nil },
			want:  "does not name the Metal3Machine of this claim",
		},
		"there is no such host": {
			claim: func(c *bmov1alpha1.HostClaim) { c.Annotations[infrav1.TakeOverAnnotation] = "host-1" },
			want:  `no BareMetalHost "host-1"`,
		},
		"the claim asks for another image": {
			claim: func(c *bmov1alpha1.HostClaim) { c.Spec.Image.Checksum = "def456" },
			want:  "told to run something else",
		},
		"the host would be deleted with the machine": {
			spoil: func(h *bmov1alpha1.BareMetalHost, m *infrav1.Metal3Machine) {
				h.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: m.Name, UID: "of-the-machine",
				}}
			},
			want: "take the reference off",
			mend: func(h *bmov1alpha1.BareMetalHost) { h.OwnerReferences = nil },
		},
		"the host is paused": {
			spoil: func(h *bmov1alpha1.BareMetalHost, _ *infrav1.Metal3Machine) {
				metav1.SetMetaDataAnnotation(&h.ObjectMeta, bmov1alpha1.PausedAnnotation, "metal3.io/capm3")
			},
			want: "remove annotation baremetalhost.metal3.io/paused",
			mend: func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, bmov1alpha1.PausedAnnotation) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var spoil []change
			if test.spoil != nil {
				spoil = []change{test.spoil}
			}
			w := ofCAPM3(t, spoil...)
			w.policy(nil, w.infra)
			w.host("free", nil)
			w.manager()
			before := w.readHost("host-0")
			claim := []func(*bmov1alpha1.HostClaim){w.takesOver}
			if test.claim != nil {
				claim = append(claim, test.claim)
			}
			w.claim("machine", claim...)
			w.expect("machine", associated, "False/TakeOverRefused", test.want)
			w.G.Expect(w.readHost("host-0")).To(gomega.Equal(before))
			w.G.Expect(w.readHost("free").Spec.ConsumerRef).To(gomega.BeNil())
			if test.mend != nil {
				harness.Change(w.Story, w.readHost("host-0"), test.mend)
				w.expectBound("machine")
			}
		})
	}
}
