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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// madeAnew is a machine that was deleted by force while its Cluster was paused, and made anew
// under the same names and with the same provider ID; its server runs on. What becomes of the
// claim in between is left to the story.
func madeAnew(t *testing.T, becomes func(tn *tenant, claim *bmov1alpha1.HostClaim)) (*tenant, *bmov1alpha1.HostClaim) {
	t.Helper()
	tn := newTenant(t)
	tn.kubeconfig()
	tn.makeBootstrap("value", "#cloud-config")
	cluster := tn.cluster()
	tn.machine()
	tn.claimed()
	former := tn.runs(tn)
	claim := tn.pauseCluster(cluster)
	owner := &clusterv1.Machine{}
	for _, o := range []client.Object{tn.Named(machineName, former), tn.Named(machineName, owner)} {
		tn.Edit(o, func() { o.SetFinalizers(nil) })
		tn.OK(tn.Delete(tn.Ctx, o))
		tn.AwaitGone(o)
	}
	becomes(tn, claim)
	boot := &corev1.Secret{}
	tn.Edit(tn.Named(bootSecret, boot), func() { boot.Data = nil })
	tn.machine(func(m *infrav1.Metal3Machine) { m.Spec.ProviderID = former.Spec.ProviderID })
	tn.Edit(cluster, func() { cluster.Spec.Paused = ptr.To(false) })
	return tn, claim
}

// pauseCluster pauses a Cluster and returns the claim once it is paused, too.
func (tn *tenant) pauseCluster(cluster *clusterv1.Cluster) *bmov1alpha1.HostClaim {
	tn.Edit(cluster, func() { cluster.Spec.Paused = ptr.To(true) })
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(tn.claim, claim), func(g gomega.Gomega) {
		g.Expect(claim.Annotations).To(gomega.HaveKey(clusterv1.PausedAnnotation))
	})
	return claim
}

// The claim kept its server for its former machine. A client that may write the claim, such as the
// restore of a backup, hands it on; the server is not touched.
func TestMachineMadeAnewTakesItsServerBack(t *testing.T) {
	tn, claim := madeAnew(t, func(tn *tenant, claim *bmov1alpha1.HostClaim) {
		tn.Edit(claim, func() { claim.OwnerReferences = nil })
	})
	before := claim.DeepCopy()
	tn.waits("AssociateBareMetalHost", "HostClaimNameTaken", machineName, "not given back", "ownerReferences", "UID")
	tn.Read(claim)
	tn.G.Expect(claim.ResourceVersion).To(gomega.Equal(before.ResourceVersion), "names and provider ID take nothing")

	m := &infrav1.Metal3Machine{}
	tn.Read(tn.Named(machineName, m))
	tn.Edit(claim, func() {
		claim.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: m.Name, UID: m.UID, Controller: ptr.To(true),
		}}
	})
	tn.Await(claim, func(g gomega.Gomega) {
		g.Expect(claim.UID).To(gomega.Equal(before.UID))
		g.Expect(claim.Spec.ConsumerRef.UID).To(gomega.Equal(m.UID))
		g.Expect(claim.Annotations).NotTo(gomega.HaveKey(clusterv1.PausedAnnotation))
	})
	after := claim.DeepCopy()
	tn.provision() // the hostclaim manager looks at the claim as it is now
	tn.provisioned()
	after.Spec.ConsumerRef.UID = before.Spec.ConsumerRef.UID
	tn.G.Expect(after.Spec).To(gomega.Equal(before.Spec), "the server keeps what it has")
}

// The claim went with its former machine, as the garbage collector sees to: that cannot be undone,
// and the condition of the machine has the remedy.
func TestMachineMadeAnewAfterItsClaimWasDeleted(t *testing.T) {
	tn, claim := madeAnew(t, func(tn *tenant, claim *bmov1alpha1.HostClaim) { tn.OK(tn.Delete(tn.Ctx, claim)) })
	tn.waits("AssociateBareMetalHost", "HostClaimNameTaken", "is being deleted", "not given back", "runs on", clusterv1.PausedAnnotation)
	tn.Edit(claim, func() { delete(claim.Annotations, clusterv1.PausedAnnotation) })
	tn.waits("AssociateBareMetalHost", "HostLost", "is being deleted", "must be replaced")
	tn.release()
	tn.waits("AssociateBareMetalHost", "HostLost", "given back", "must be replaced")
}

// A tenant that knows name, provider ID and UID of another one's machine gets nothing of it, be
// the claim ready to be handed on.
func TestAttackMachineMadeAnewByAnotherTenant(t *testing.T) {
	tn, claim := madeAnew(t, func(tn *tenant, claim *bmov1alpha1.HostClaim) {
		tn.Edit(claim, func() { claim.OwnerReferences = nil })
	})
	m := &infrav1.Metal3Machine{}
	tn.Read(tn.Named(machineName, m))
	other := &tenant{Tenant: server.NewTenant(t, "tenant"), claim: machineName}
	other.OK(server.Bind(other.Ctx, harness.ProviderAccount(), other.Namespace, secretsRole))
	other.makeBootstrap("value", "#cloud-config")
	other.cluster()
	other.machine(func(forged *infrav1.Metal3Machine) { forged.Spec.ProviderID = m.Spec.ProviderID })
	other.Add(&bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Name: machineName, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: m.Name, UID: m.UID, Controller: ptr.To(true),
		}}},
		Spec: claim.Spec,
	})
	tn.waits("AssociateBareMetalHost", "HostClaimNameTaken", "not given back")
	other.waits("AssociateBareMetalHost", "HostLost")
	before := claim.ResourceVersion
	tn.Read(claim)
	tn.G.Expect(claim.ResourceVersion).To(gomega.Equal(before))
}
