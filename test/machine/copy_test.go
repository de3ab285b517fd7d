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

package machine

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// TestRemoteTakeover moves a machine as clusterctl does: it vanishes without a
// deletion of its claim, and comes back under another UID. It finds its claim and takes it over.
func TestRemoteTakeover(t *testing.T) {
	tn, s, claim := remoteClaim(t)
	m := tn.runs(s.tenant)
	moved := tn.move(m)
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) {
		g.Expect(m.UID).NotTo(gomega.Equal(claim.Spec.ConsumerRef.UID))
		g.Expect(harness.Condition(m.Status.Conditions, "IdentityReady")).To(gomega.Equal("True/Connected"))
		g.Expect(tn.recorded(m).UID).To(gomega.Equal(moved))
		g.Expect(ptr.Deref(m.Status.Initialization.Provisioned, false)).To(gomega.BeTrue())
	})
	now := s.only()
	tn.G.Expect(now.UID).To(gomega.Equal(claim.UID))
	tn.G.Expect(now.Spec.ConsumerRef.UID).To(gomega.Equal(m.UID))
	tn.G.Expect(now.Spec.Image).NotTo(gomega.BeNil())
	tn.leaves(s.tenant, m)
}

// TestRemoteCopy lets a copy of a machine take the claim over while the machine lives.
// The machine does not fight for it, and does not take it along when it is deleted.
func TestRemoteCopy(t *testing.T) {
	tn, s, _ := remoteClaim(t)
	claim := s.only()
	s.Edit(s.Named(s.claim, claim), func() { claim.Spec.ConsumerRef.UID = "of-the-copy" })
	tn.waits("AssociateBareMetalHost", "HostClaimTakenOver", "copy")
	tn.G.Expect(s.only().Spec.ConsumerRef.UID).To(gomega.BeEquivalentTo("of-the-copy"))
	m := &infrav1.Metal3Machine{}
	tn.deleted(machineName, m)
	tn.gone(machineName, m)
	tn.G.Expect(s.only().DeletionTimestamp).To(gomega.BeNil())
}

// TestRemoteClone copies the manifest of a machine, annotations and all, to another
// name. The copy gets a claim of its own.
func TestRemoteClone(t *testing.T) {
	tn, s, claim := remoteClaim(t)
	m := find(tn, machineName, &infrav1.Metal3Machine{})
	owner := find(tn, machineName, &clusterv1.Machine{})
	owner.Name, owner.ResourceVersion, owner.UID = "twin", "", ""
	owner.Spec.InfrastructureRef.Name = "twin"
	twin := m.DeepCopy()
	twin.Name, twin.ResourceVersion, twin.UID = "twin", "", ""
	tn.Add(owner)
	twin.OwnerReferences[0].Name, twin.OwnerReferences[0].UID = "twin", owner.UID
	tn.Add(twin)
	tn.G.Eventually(s.claims).Should(gomega.HaveLen(2))
	tn.Await(tn.Named("twin", twin), func(g gomega.Gomega) {
		g.Expect(twin.Annotations[infrav1.OriginKey]).NotTo(gomega.Equal(m.Annotations[infrav1.OriginKey]))
		g.Expect(tn.recorded(twin).Machine).To(gomega.Equal(tn.Namespace + "/twin"))
	})
	tn.G.Expect(tn.Delete(tn.Ctx, twin)).To(gomega.Succeed())
	tn.gone("twin", twin)
	tn.G.Expect(s.only().UID).To(gomega.Equal(claim.UID))
}

// move replaces the machine by one of another UID and without a status, while the
// Cluster is paused. It returns the new UID.
func (tn *tenant) move(m *infrav1.Metal3Machine) types.UID {
	c := &clusterv1.Cluster{}
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.Paused = ptr.To(true) })
	tn.shows(machineName, m, "Paused", "True/Paused")
	again := m.DeepCopy()
	tn.Edit(tn.Named(machineName, m), func() { m.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""} })
	again.UID, again.ResourceVersion, again.Status = "", "", infrav1.Metal3MachineStatus{}
	tn.Edit(tn.Named(machineName, m), func() { m.Finalizers = nil })
	tn.G.Expect(client.IgnoreNotFound(tn.Delete(tn.Ctx, m))).To(gomega.Succeed())
	tn.patchAway(m)
	tn.Add(again)
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.Paused = nil })
	return again.UID
}

// patchAway takes finalizers off until the object is gone, as clusterctl does.
func (tn *tenant) patchAway(m *infrav1.Metal3Machine) {
	tn.G.Eventually(func() bool {
		if tn.Find(m.Name, m) != nil {
			return true
		}
		before := m.DeepCopy()
		m.Finalizers = nil
		tn.G.Expect(client.IgnoreNotFound(tn.Patch(tn.Ctx, m, client.MergeFrom(before)))).To(gomega.Succeed())
		return false
	}).Should(gomega.BeTrue())
}
