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

package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// machinesAreNodes checks names, provider IDs, addresses and conditions on both
// sides of each machine, and its Node in the cluster that the tenant reaches.
func (p *poolStory) machinesAreNodes(t *testing.T) {
	seen := map[string]string{}
	nodes := map[string]map[string]corev1.Node{
		p.a.Namespace: p.a.nodes(t),
		p.b.Namespace: p.b.nodes(t),
	}
	for _, m := range p.machines(t) {
		t.Run(m.Name(), func(t *testing.T) {
			providerID := fmt.Sprintf("metal3://%s/%s/%s", m.Machine.Namespace, m.Host.Name, m.Metal3.Name)
			other, found := seen[providerID]
			expect.That(t, !found, "%s has the provider ID of %s", m.Name(), other)
			seen[providerID] = m.Name()
			node := nodes[m.Machine.Namespace][m.Machine.Name]
			got := map[string]string{
				"Machine.spec.providerID":       m.Machine.Spec.ProviderID,
				"Metal3Machine.spec.providerID": m.Metal3.Spec.ProviderID,
				"Node.spec.providerID":          node.Spec.ProviderID,
				"Machine.status.nodeRef":        m.Machine.Status.NodeRef.Name,
				"Node.metadata.name":            node.Name,
				"Node label metal3.io/uuid":     node.Labels[infrav1.NodeUUIDLabel],
				"host annotation":               m.Metal3.Annotations[infrav1.HostAnnotation],
			}
			expect.Equal(t, map[string]string{
				"Machine.spec.providerID":       providerID,
				"Metal3Machine.spec.providerID": providerID,
				"Node.spec.providerID":          providerID,
				"Machine.status.nodeRef":        m.Machine.Name,
				"Node.metadata.name":            m.Machine.Name,
				"Node label metal3.io/uuid":     string(m.Host.UID),
				"host annotation":               m.Host.Namespace + "/" + m.Host.Name,
			}, got)
			checkAddresses(t, m)
			conditionsHold(t, lab.world, m)
		})
	}
	count := len(nodes[p.a.Namespace]) + len(nodes[p.b.Namespace])
	expect.That(t, count == len(seen), "there are %d Nodes for %d machines", count, len(seen))
}

// nodes reads the Nodes of the tenant's cluster with the kubeconfig that Cluster
// API left for the tenant.
func (a *tenantCluster) nodes(t *testing.T) map[string]corev1.Node {
	t.Helper()
	var list corev1.NodeList
	expect.NoError(t, a.workload(t).List(t.Context(), &list))
	nodes := map[string]corev1.Node{}
	for _, node := range list.Items {
		nodes[node.Name] = node
	}
	return nodes
}

// workload is a client for the tenant's cluster.
func (a *tenantCluster) workload(t *testing.T) client.Client {
	t.Helper()
	workload, err := a.connect(t)
	expect.NoError(t, err)
	return workload
}

// connect returns an error while the tenant's cluster does not answer.
func (a *tenantCluster) connect(t *testing.T) (client.Client, error) {
	t.Helper()
	secret := &corev1.Secret{}
	expect.NoError(t, a.Client.Get(t.Context(), client.ObjectKey{Namespace: a.Namespace, Name: a.cluster.Name + "-kubeconfig"}, secret))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	expect.NoError(t, err)
	return client.New(config, client.Options{Scheme: a.Client.Scheme()})
}

// checkAddresses compares with what the server's cards were given.
func checkAddresses(t *testing.T, m world.Machine) {
	t.Helper()
	want := []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: m.Machine.Status.NodeRef.Name}}
	for _, nic := range m.Host.Status.HardwareDetails.NIC {
		want = append(want, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: nic.IP})
	}
	anyOrder := cmpopts.SortSlices(func(a, b clusterv1.MachineAddress) bool {
		return a.Type+"/"+clusterv1.MachineAddressType(a.Address) < b.Type+"/"+clusterv1.MachineAddressType(b.Address)
	})
	internal := func(all []clusterv1.MachineAddress) (out []clusterv1.MachineAddress) {
		for _, address := range all {
			if address.Type == clusterv1.MachineInternalIP || address.Type == clusterv1.MachineHostName {
				out = append(out, address)
			}
		}
		return out
	}
	expect.Equal(t, want, internal(m.Metal3.Status.Addresses), anyOrder)
	expect.Equal(t, want, internal(m.Machine.Status.Addresses), anyOrder)
}

// conditionsHold expects every condition of Metal3Machine and claim to hold. The
// one about the Node may come a moment after the Node itself.
func conditionsHold(t *testing.T, w *world.World, m world.Machine) {
	t.Helper()
	want := map[string]metav1.ConditionStatus{
		infrav1.AssociateBareMetalHostCondition:         metav1.ConditionTrue,
		infrav1.AssociateMetal3MachineMetaDataCondition: metav1.ConditionTrue,
		infrav1.Metal3DataReadyCondition:                metav1.ConditionTrue,
		infrav1.HostClaimReadyCondition:                 metav1.ConditionTrue,
		infrav1.KubernetesNodeReadyCondition:            metav1.ConditionTrue,
		infrav1.ReadyCondition:                          metav1.ConditionTrue,
		infrav1.PausedCondition:                         metav1.ConditionFalse,
	}
	if m.Metal3.Annotations[infrav1.EffectiveIdentityAnnotation] != "" {
		want[infrav1.IdentityReadyCondition] = metav1.ConditionTrue
	}
	wantClaim := map[string]metav1.ConditionStatus{
		bmov1alpha1.AssociatedCondition:   metav1.ConditionTrue,
		bmov1alpha1.SynchronizedCondition: metav1.ConditionTrue,
		bmov1alpha1.ProvisionedCondition:  metav1.ConditionTrue,
		bmov1alpha1.ReadyCondition:        metav1.ConditionTrue,
		// It would be available for others if this claim did not have it.
		bmov1alpha1.AvailableForProvisioningCondition: metav1.ConditionFalse,
		infrav1.AdmittedCondition:                     metav1.ConditionTrue,
		infrav1.HardwareDataPublishedCondition:        metav1.ConditionTrue,
	}
	eventually(t, m.Name()+" has all conditions", func(g gomega.Gomega) {
		metal3, claim := &infrav1.Metal3Machine{}, &bmov1alpha1.HostClaim{}
		g.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(m.Metal3), metal3)).To(gomega.Succeed())
		g.Expect(w.Hosts.Get(t.Context(), client.ObjectKeyFromObject(m.Claim), claim)).To(gomega.Succeed())
		g.Expect(statuses(metal3.Status.Conditions)).To(gomega.Equal(want), "conditions of the Metal3Machine")
		g.Expect(statuses(claim.Status.Conditions)).To(gomega.Equal(wantClaim), "conditions of the HostClaim")
	})
}

func statuses(conditions []metav1.Condition) map[string]metav1.ConditionStatus {
	out := map[string]metav1.ConditionStatus{}
	for _, c := range conditions {
		out[c.Type] = c.Status
	}
	return out
}
