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
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const holdOff = infrav1.RemediationRebootPrefix + machineName

// TestRemediation reboots the server of a machine whose claim is in its own namespace.
func TestRemediation(t *testing.T) {
	tn := newTenant(t)
	tn.unhealthy(tn)
	tn.rebooted(tn)
	tn.G.Eventually(tn.events).Should(gomega.ContainElements("PoweringOff", "NodeOutOfService", "PoweringOn", "NodeRestored", "Rebooted"))
}

// TestDeletedWhileItIsRebooted deletes a machine whose server is held off. Neither waits for the
// other: the server goes back, and the remediation has nothing to take back any more.
func TestDeletedWhileItIsRebooted(t *testing.T) {
	tn := newTenant(t)
	tn.unhealthy(tn)
	r := tn.remedy()
	claim, m, owner := &bmov1alpha1.HostClaim{}, &infrav1.Metal3Machine{}, &clusterv1.Machine{}
	tn.Await(tn.Named(tn.claim, claim), func(g gomega.Gomega) { g.Expect(claim.Annotations).To(gomega.HaveKey(holdOff)) })
	tn.deleted(machineName, m)
	tn.waits("HostClaimReady", "Deprovisioning", tn.claim)
	tn.remedies(r, "False/MachineDeleting")
	tn.release()
	tn.gone(machineName, m)
	tn.away(machineName, owner)
	tn.OK(tn.Delete(tn.Ctx, r)) // as the garbage collector does
	tn.AwaitGone(r)
}

// TestRemoteRemediation reboots the server of a machine whose claim is in another cluster.
// While that cluster cannot be reached, a remediation waits and reports the reason; one that has
// changed nothing yet is deleted without that cluster.
func TestRemoteRemediation(t *testing.T) {
	tn, s := newTenantOfSite(t)
	tn.unhealthy(s.tenant, withIdentityRef)
	secret := &corev1.Secret{}
	tn.OK(tn.Delete(tn.Ctx, tn.Named(kubeconfigSecret, secret)))
	tn.identity("False/SecretNotFound")
	r := tn.remedy()
	tn.remedies(r, "False/HostClaimUnreachable")
	tn.G.Expect(harness.Message(r.Status.Conditions, "Ready")).To(gomega.ContainSubstring(kubeconfigSecret))
	tn.OK(tn.Delete(tn.Ctx, r))
	tn.AwaitGone(r)
	s.give(tn)
	tn.rebooted(s.tenant)
	tn.noLocalClaim()
}

// unhealthy makes a machine with a Node, whose claim is with the holder.
func (tn *tenant) unhealthy(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.cluster()
	tn.joined(holder, change...)
}

// joined makes a machine with a Node in a Cluster that is there, whose claim is with the
// holder.
func (tn *tenant) joined(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.kubeconfig()
	tn.makeBootstrap("value", "#cloud-config")
	tn.machine(change...)
	holder.only()
	holder.bind()
	holder.provision()
	holder.claimStatus(func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = true })
	m := tn.provisioned()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "joined-" + tn.Namespace}, Spec: corev1.NodeSpec{ProviderID: m.Spec.ProviderID}}
	tn.Make(node)
	owner := &clusterv1.Machine{}
	tn.EditStatus(tn.Named(machineName, owner), func() { owner.Status.NodeRef.Name = node.Name })
	tn.G.Eventually(func(g gomega.Gomega) {
		tn.Read(m)
		g.Expect(harness.Condition(m.Status.Conditions, "KubernetesNodeReady")).To(gomega.Equal("True/NodeFound"))
	}).Should(gomega.Succeed())
}

// remedy makes the remediation of the machine, as a MachineHealthCheck does.
func (tn *tenant) remedy() *infrav1.Metal3Remediation {
	owner := find(tn, machineName, &clusterv1.Machine{})
	r := &infrav1.Metal3Remediation{ObjectMeta: metav1.ObjectMeta{
		Name: machineName, Labels: owner.Labels,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: owner.Name, UID: owner.UID,
		}},
	}}
	tn.Add(r)
	return r
}

func (tn *tenant) remedies(r *infrav1.Metal3Remediation, want string) {
	tn.T.Helper()
	tn.Await(r, func(g gomega.Gomega) {
		g.Expect(harness.Condition(r.Status.Conditions, "Ready")).To(gomega.Equal(want), harness.Message(r.Status.Conditions, "Ready"))
	})
}

// rebooted follows a remediation whose claim is with the holder, until it ends.
func (tn *tenant) rebooted(holder *tenant) {
	r := tn.remedy()
	claim, node := &bmov1alpha1.HostClaim{}, &corev1.Node{}
	node.Name = "joined-" + tn.Namespace
	holder.Await(holder.Named(holder.claim, claim), func(g gomega.Gomega) {
		g.Expect(claim.Annotations).To(gomega.HaveKeyWithValue(holdOff, `{"mode":"hard"}`))
	})
	tn.Read(node)
	tn.G.Expect(node.Spec.Taints).NotTo(outOfService())
	holder.claimStatus(func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = false })
	holder.Await(claim, func(g gomega.Gomega) { g.Expect(claim.Annotations).NotTo(gomega.HaveKey(holdOff)) })
	tn.remedies(r, "False/PoweringOn")
	tn.Read(node)
	tn.G.Expect(node.Spec.Taints).To(outOfService())
	holder.SetStatus(claim, map[string]any{"poweredOn": true})
	tn.remedies(r, "True/Rebooted")
	tn.Read(node)
	tn.G.Expect(node.Spec.Taints).NotTo(outOfService())
	tn.OK(tn.Delete(tn.Ctx, r))
	tn.AwaitGone(r)
}

// outOfService matches the taints of a Node whose workload is moved away.
func outOfService() types.GomegaMatcher {
	return gomega.ContainElement(gomega.HaveField("Key", corev1.TaintNodeOutOfService))
}
