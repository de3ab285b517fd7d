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
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	thirdImage = "http://images.example.com/node-v1.36.1-third.qcow2"
	// greeting is a file that only the changed bootstrap configuration has.
	greeting = "written-in-place"
)

// kept is what an update in place leaves as it was.
type kept struct {
	Machine, Infra, Claim, Host, Node types.UID
	ProviderID, NodeName, Data        string
	Index                             int
	Addresses                         clusterv1.MachineAddresses
}

// kept reads it for each worker, by name.
func (l *lifeStory) kept(t *testing.T) map[string]kept {
	t.Helper()
	out := map[string]kept{}
	nodes := l.nodes(t)
	for _, m := range l.servers(t)[worker] {
		data := &infrav1.Metal3Data{}
		expect.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: m.Metal3.Status.RenderedData.Name}, data))
		node := nodes[m.Machine.Status.NodeRef.Name]
		expect.That(t, node.Spec.ProviderID == m.Machine.Spec.ProviderID, "Node %q of %s has provider ID %q", node.Name, m.Name(), node.Spec.ProviderID)
		out[m.Name()] = kept{
			Machine: m.UID(), Infra: m.Metal3.UID, Claim: m.Claim.UID, Host: m.Host.UID, Node: node.UID,
			ProviderID: m.Machine.Spec.ProviderID, NodeName: node.Name, Data: data.Name, Index: int(ptr.Deref(data.Spec.Index, -1)),
			Addresses: m.Machine.Status.Addresses,
		}
	}
	return out
}

// knowTheirNodes waits until each worker has the name of its Node among its addresses: that is reported after
// the machine runs.
func (l *lifeStory) knowTheirNodes(t *testing.T) {
	t.Helper()
	eventually(t, "the workers tell the names of their Nodes", func(g gomega.Gomega) {
		for _, m := range l.servers(t)[worker] {
			node := clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: m.Machine.Status.NodeRef.Name}
			g.Expect(m.Machine.Status.Addresses).To(gomega.ContainElement(node), m.Name())
		}
	})
}

// workersAreKept gives the MachineDeployment another image and another bootstrap configuration where
// Cluster API may update in place. Each worker is the one that it was, on a server that was wiped
// and written once.
func (l *lifeStory) workersAreKept(t *testing.T) {
	expect.NoError(t, story.UpdateInPlace(t.Context(), l.home, l.Namespace))
	eventually(t, "Cluster API knows the extension", func(g gomega.Gomega) {
		extension := &runtimev1.ExtensionConfig{}
		g.Expect(l.home.Get(t.Context(), client.ObjectKey{Name: "capm3-in-place-updates"}, extension)).To(gomega.Succeed())
		g.Expect(meta.IsStatusConditionTrue(extension.Status.Conditions, runtimev1.ExtensionConfigDiscoveredCondition)).To(gomega.BeTrue())
	})
	l.knowTheirNodes(t)
	before, seen := l.kept(t), l.seen(l.servers(t)[worker])
	third := l.cluster.Name + "-workers-third"
	l.derive(t, l.nextTemplate("workers"), third, func(m *infrav1.Metal3MachineSpec) { m.Image.URL = thirdImage })
	l.greets(t, third)
	l.edit(t, &clusterv1.MachineDeployment{}, l.cluster.Name, `{"spec": {"template": {"spec": {
		"infrastructureRef": {"name": "`+third+`"}, "bootstrap": {"configRef": {"name": "`+third+`"}}}}}}`)
	l.isUpToDate(t, thirdImage)
	l.runsIn(t, l.world)
	expect.Equal(t, before, l.kept(t))
	for _, m := range l.servers(t)[worker] {
		l.wasWipedOnce(t, m, seen[client.ObjectKeyFromObject(m.Host)])
		secret, ref := &corev1.Secret{}, m.Host.Spec.UserData
		expect.NoError(t, l.admin.Get(t.Context(), client.ObjectKey{Namespace: m.Host.Namespace, Name: ref.Name}, secret))
		data := string(secret.Data["userData"]) + string(secret.Data["value"])
		expect.That(t, strings.Contains(data, greeting), "the server of %s was not given the new bootstrap data", m.Name())
	}
	l.isQuiet(t)
}

// greets makes the KubeadmConfigTemplate of the workers with a file more.
func (l *lifeStory) greets(t *testing.T, name string) {
	t.Helper()
	template := &bootstrapv1.KubeadmConfigTemplate{}
	expect.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: l.cluster.Name + "-workers"}, template))
	next := &bootstrapv1.KubeadmConfigTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name}, Spec: *template.Spec.DeepCopy(),
	}
	next.Spec.Template.Spec.Files = append(next.Spec.Template.Spec.Files, bootstrapv1.File{Path: "/etc/" + greeting, Content: greeting})
	expect.NoError(t, l.Client.Create(t.Context(), next))
}

// isUpToDate waits until Cluster API has nothing left to do for the workers, whose servers have the image.
func (l *lifeStory) isUpToDate(t *testing.T, image string) {
	t.Helper()
	eventually(t, "the workers are up to date", func(g gomega.Gomega) {
		deployment := &clusterv1.MachineDeployment{}
		g.Expect(l.world.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: l.cluster.Name}, deployment)).To(gomega.Succeed())
		g.Expect(deployment.Status.ObservedGeneration).To(gomega.Equal(deployment.Generation))
		machines, err := l.world.Machines(t.Context(), l.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, m := range machines {
			if roleOf(m) == worker {
				g.Expect(imageOn(m)).To(gomega.Equal(image), explainMachine(m))
				g.Expect(m.Machine.Annotations).NotTo(gomega.HaveKey(clusterv1.UpdateInProgressAnnotation), explainMachine(m))
			}
		}
		g.Expect(deployment.Status.UpToDateReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(l.cluster.Workers)))
		g.Expect(deployment.Status.Replicas).To(gomega.HaveValue(gomega.BeEquivalentTo(l.cluster.Workers)))
	})
}

// wasWipedOnce checks that the server has been its claim's since it was seen that often, and was
// emptied and written once.
func (l *lifeStory) wasWipedOnce(t *testing.T, m world.Machine, seen int) {
	t.Helper()
	states := map[bmov1alpha1.ProvisioningState]int{}
	last := bmov1alpha1.StateProvisioned
	for _, host := range l.history.versions(client.ObjectKeyFromObject(m.Host), seen) {
		ref := host.Spec.ConsumerRef
		expect.That(t, ref != nil && ref.UID == m.Claim.UID, "server %s was that of %v", host.Name, ref)
		if state := host.Status.Provisioning.State; state != last {
			states[state]++
			last = state
		}
	}
	for _, state := range []bmov1alpha1.ProvisioningState{bmov1alpha1.StateDeprovisioning, bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned} {
		expect.That(t, states[state] == 1, "server %s of %s was %v", m.Host.Name, m.Name(), states)
	}
}

// replaces asks for what no update in place brings about, where Cluster API may update in place: other
// servers for the workers, and another image for a control plane that can do without a surge. Their
// machines are other ones then. Node reuse lets the control plane have its servers.
func (l *lifeStory) replaces(t *testing.T) {
	before := l.servers(t)
	fourth := l.cluster.Name + "-workers-fourth"
	l.derive(t, l.cluster.Name+"-workers-third", fourth, func(m *infrav1.Metal3MachineSpec) {
		m.HostSelector = &infrav1.HostSelector{MatchLabels: map[string]string{"model": "demo"}}
	})
	l.edit(t, &clusterv1.MachineDeployment{}, l.cluster.Name, `{"spec": {"template": {"spec": {"infrastructureRef": {"name": "`+fourth+`"}}}}}`)
	if l.cluster.ControlPlanes >= 3 {
		third := l.cluster.Name + "-controlplane-third"
		l.derive(t, l.nextTemplate("controlplane"), third, func(m *infrav1.Metal3MachineSpec) { m.Image.URL = thirdImage })
		l.edit(t, &controlplanev1.KubeadmControlPlane{}, l.cluster.Name, `{"spec": {"machineTemplate": {"spec": {"infrastructureRef": {"name": "`+third+`"}}}}}`)
		l.areReplaced(t, controlPlane, before[controlPlane], thirdImage)
	}
	l.areReplaced(t, worker, before[worker], thirdImage)
	l.isUpToDate(t, thirdImage)
	l.runsIn(t, l.world)
	l.keepServers(t, controlPlane, before[controlPlane])
	l.replaced += l.cluster.Workers
	eventually(t, "the workers have given their servers back", func(g gomega.Gomega) {
		_, freed := l.history.traffic(l.pool.Namespace)
		g.Expect(freed).To(gomega.Equal(l.replaced))
	})
	l.isQuiet(t)
	l.areInRacks(t)
}
