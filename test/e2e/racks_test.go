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
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	// controlPlaneRacks is how many failure domains a control plane may be in, with a server each.
	controlPlaneRacks = 3
	// workerRack is the number of the failure domain of the workers, with all other servers.
	workerRack = controlPlaneRacks + 1
)

// rack names a failure domain, and its data template and pool.
func rack(number int) string {
	return fmt.Sprintf("rack-%d", number)
}

// subnet is how each address of a rack begins.
func (l *lifeStory) subnet(number int) string {
	return fmt.Sprintf("10.%d.%d.", l.cluster.Subnet, number)
}

// hasRacks puts the servers into failure domains.
func (l *lifeStory) hasRacks(t *testing.T) {
	t.Helper()
	for number := range l.pool.Servers {
		host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: fmt.Sprintf("server-%d", number+1)}}
		merge(t, l.admin, host, map[string]any{"labels": map[string]any{infrav1.FailureDomainLabel: rack(min(number+1, workerRack))}})
	}
}

// comesUpOverRacks creates the cluster with a data template and a pool for each rack. Cluster API
// spreads the control plane, and the MachineDeployment names its rack.
func (l *lifeStory) comesUpOverRacks(t *testing.T) {
	for number := 1; number <= workerRack; number++ {
		l.hasNetwork(t, number)
	}
	expect.NoError(t, l.cluster.Create(t.Context(), lab.Repo, l.Tenant, func(object *unstructured.Unstructured) {
		var domains, templates []any
		for number := 1; number <= workerRack; number++ {
			domains = append(domains, map[string]any{"name": rack(number), "controlPlane": number <= controlPlaneRacks})
			templates = append(templates, map[string]any{"failureDomain": rack(number), "dataTemplate": map[string]any{"name": rack(number)}})
		}
		switch object.GetKind() {
		case "Metal3Cluster":
			expect.NoError(t, unstructured.SetNestedSlice(object.Object, domains, "spec", "failureDomains"))
		case "Metal3MachineTemplate":
			expect.NoError(t, unstructured.SetNestedSlice(object.Object, templates, "spec", "failureDomainDataTemplates"))
		case "MachineDeployment":
			expect.NoError(t, unstructured.SetNestedField(object.Object, rack(workerRack), "spec", "template", "spec", "failureDomain"))
		}
	}))
	l.runsIn(t, l.world)
	l.areInRacks(t)
}

// hasNetwork makes the data template of a rack and its pool.
func (l *lifeStory) hasNetwork(t *testing.T, number int) {
	t.Helper()
	object := metav1.ObjectMeta{Namespace: l.Namespace, Name: rack(number)}
	address := func(last string) *ipamv1alpha1.IPAddressStr {
		return ptr.To(ipamv1alpha1.IPAddressStr(l.subnet(number) + last))
	}
	expect.NoError(t, l.Client.Create(t.Context(), &ipamv1alpha1.IPPool{ObjectMeta: object, Spec: ipamv1alpha1.IPPoolSpec{
		ClusterName: &l.cluster.Name, NamePrefix: rack(number), Prefix: 24, Gateway: address("1"),
		Pools: []ipamv1alpha1.Pool{{Start: address("10"), End: address("99")}},
	}}))
	expect.NoError(t, l.Client.Create(t.Context(), &infrav1.Metal3DataTemplate{ObjectMeta: object, Spec: infrav1.Metal3DataTemplateSpec{
		MetaData: &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "network-of", Value: rack(number)}}},
		NetworkData: &infrav1.NetworkData{
			Links: &infrav1.NetworkDataLink{Ethernets: []infrav1.NetworkDataLinkEthernet{{
				Type: infrav1.EthernetTypePhy, ID: "nic0", MACAddress: &infrav1.NetworkLinkMAC{FromHostInterface: "eth0"},
			}}},
			Networks: &infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{{
				ID: "nodes", Link: "nic0", IPAddressFromIPPool: rack(number),
			}}},
		},
	}}))
}

// areInRacks checks that each control-plane machine is in a rack of its own and the workers are in
// theirs, each on a server of the rack and with an address of its network.
func (l *lifeStory) areInRacks(t *testing.T) {
	t.Helper()
	nodes, used := l.nodes(t), []string{}
	for role, machines := range l.servers(t) {
		for _, m := range machines {
			domain := m.Machine.Spec.FailureDomain
			if role == controlPlane {
				used = append(used, domain)
			}
			expect.That(t, (role == controlPlane) != (domain == rack(workerRack)), "%s is in failure domain %q", m.Name(), domain)
			data := &infrav1.Metal3Data{}
			expect.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: m.Metal3.Status.RenderedData.Name}, data))
			domains := [3]string{m.Host.Labels[infrav1.FailureDomainLabel], m.Metal3.Status.FailureDomain, data.Spec.Template.Name}
			expect.That(t, domains == [3]string{domain, domain, domain}, "server, Metal3Machine and data of %s in %s are of %v", m.Name(), domain, domains)
			var number int
			_, err := fmt.Sscanf(domain, "rack-%d", &number)
			expect.That(t, err == nil, "%s is in failure domain %q: %v", m.Name(), domain, err)
			addresses := nodes[m.Machine.Status.NodeRef.Name].Status.Addresses
			expect.That(t, slices.ContainsFunc(addresses, func(a corev1.NodeAddress) bool {
				return a.Type == corev1.NodeInternalIP && strings.HasPrefix(a.Address, l.subnet(number))
			}), "the Node of %s in %s has addresses %v", m.Name(), domain, addresses)
		}
	}
	slices.Sort(used)
	expect.That(t, len(slices.Compact(slices.Clone(used))) == min(len(used), controlPlaneRacks), "the control plane is in %v", used)
}
