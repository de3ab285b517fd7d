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
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestDeletedInAnyOrder deletes something that a machine needs before the machine itself. The
// machine reports what it waits for, its claim stays until the server is wiped, and then all
// objects go.
func TestDeletedInAnyOrder(t *testing.T) {
	// The claim is with the holder. These are orders in which another cluster may matter.
	remoteOrders := []string{
		"after its Cluster", "after its Metal3Cluster", "while its Metal3Cluster is being deleted", "after its Machine",
		"after its user data", "after the facts of its host", "while its claim is going",
	}
	orders := map[string]func(tn, holder *tenant){
		"after its Cluster": func(tn, _ *tenant) { tn.away(clusterName, &clusterv1.Cluster{}) },
		"after its Metal3Cluster": func(tn, _ *tenant) {
			tn.away(clusterName, &infrav1.Metal3Cluster{})
		},
		"after its Machine":          func(tn, _ *tenant) { tn.away(machineName, &clusterv1.Machine{}) },
		"after its data template":    func(tn, _ *tenant) { tn.away("template", &infrav1.Metal3DataTemplate{}) },
		"after its machine template": func(tn, _ *tenant) { tn.away(templateName, &infrav1.Metal3MachineTemplate{}) },
		"while its data template is being deleted": func(tn, _ *tenant) {
			tn.deleted("template", &infrav1.Metal3DataTemplate{})
		},
		"while its Metal3Cluster is being deleted": func(tn, _ *tenant) {
			tn.deleted(clusterName, &infrav1.Metal3Cluster{})
			tn.ready(metav1.ConditionFalse, "Deleting")
		},
		"after its user data":     func(tn, _ *tenant) { tn.away(bootSecret, &corev1.Secret{}) },
		"after its metadata":      func(tn, _ *tenant) { tn.deleted(machineName+"-metadata", &corev1.Secret{}) },
		"after its data":          func(tn, _ *tenant) { tn.stripped("template-0", &infrav1.Metal3Data{}) },
		"after its data claim":    func(tn, _ *tenant) { tn.stripped(machineName, &infrav1.Metal3DataClaim{}) },
		"while its data is going": func(tn, _ *tenant) { tn.deleted(machineName, &infrav1.Metal3DataClaim{}) },
		"after its kubeconfig":    func(tn, _ *tenant) { tn.away(clusterName+"-kubeconfig", &corev1.Secret{}) },
		"after the facts of its host": func(_, holder *tenant) {
			holder.away(holder.claim+infrav1.HardwareDataSuffix, &bmov1alpha1.HardwareData{})
		},
		"after its host": func(tn, holder *tenant) {
			holder.claimStatus(func(c *bmov1alpha1.HostClaim) { c.Status.BareMetalHost = nil },
				metav1.Condition{Type: "Associated", Status: metav1.ConditionFalse, Reason: "MissingBareMetalHost", Message: "gone"})
			tn.waits("AssociateBareMetalHost", "HostLost", "must be replaced")
		},
		"while its claim is going": func(_, holder *tenant) { holder.deleted(holder.claim, &bmov1alpha1.HostClaim{}) },
	}
	for name, first := range orders {
		t.Run(name, func(t *testing.T) {
			t.Run("with hosts in its namespace", func(t *testing.T) {
				tn := newTenant(t)
				tn.goes(tn, first)
			})
			if !slices.Contains(remoteOrders, name) {
				return
			}
			t.Run("with hosts in another cluster", func(t *testing.T) {
				tn, s := newTenantOfSite(t)
				tn.goes(s.tenant, first)
			})
		})
	}
}

// goes plays one order. Only the Metal3Cluster knows of another cluster.
func (tn *tenant) goes(holder *tenant, first func(tn, holder *tenant)) {
	tn.T.Helper()
	change := []func(*infrav1.Metal3Cluster){withEndpoint}
	if holder != tn {
		change = append(change, withHosts)
	}
	cluster := tn.infrastructure(change...)
	tn.ready(metav1.ConditionTrue, "Ready")
	tn.machineTemplate(templateName, cluster)
	tn.template()
	tn.kubeconfig()
	tn.makeBootstrap("value", "#cloud-config")
	tn.machine(withTemplate, fromTemplate)
	claim := holder.only()
	m := tn.runs(holder)

	first(tn, holder)
	tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
	tn.waits("HostClaimReady", "Deprovisioning", holder.claim)
	tn.waits("Ready", "Deleting", holder.claim)
	holder.Await(claim, func(g gomega.Gomega) {
		g.Expect(claim.DeletionTimestamp).NotTo(gomega.BeNil())
		g.Expect(claim.Finalizers).To(gomega.ConsistOf(infrav1.HostClaimFinalizer))
	})
	tn.G.Expect(tn.Find(machineName, m)).To(gomega.Succeed(), "the machine goes after its server")
	holder.release()
	tn.gone(machineName, m)
	tn.gone(machineName, &infrav1.Metal3DataClaim{})
	tn.gone("template-0", &infrav1.Metal3Data{})
}

// only waits for the one claim of the namespace.
func (tn *tenant) only() *bmov1alpha1.HostClaim {
	var list bmov1alpha1.HostClaimList
	tn.G.Eventually(func() []bmov1alpha1.HostClaim {
		tn.OK(tn.List(tn.Ctx, &list, client.InNamespace(tn.Namespace)))
		return list.Items
	}).Should(gomega.HaveLen(1))
	tn.claim = list.Items[0].Name
	return &list.Items[0]
}

// deleted has an object begin to go.
func (tn *tenant) deleted(name string, o client.Object) {
	tn.T.Helper()
	tn.G.Expect(tn.Delete(tn.Ctx, tn.Named(name, o))).To(gomega.Succeed())
}

// stripped makes an object go whatever holds it. A controller may make it anew.
func (tn *tenant) stripped(name string, o client.Object) {
	tn.T.Helper()
	tn.deleted(name, o)
	if tn.Find(name, o) == nil {
		tn.OK(client.IgnoreNotFound(tn.Patch(tn.Ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`)))))
	}
}

// away makes an object go for good.
func (tn *tenant) away(name string, o client.Object) {
	tn.T.Helper()
	tn.stripped(name, o)
	tn.gone(name, o)
}
