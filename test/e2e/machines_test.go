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
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/netdata"
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
			if other, found := seen[providerID]; found {
				t.Errorf("%s has the provider ID of %s", m.Name(), other)
			}
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
			if diff := cmp.Diff(map[string]string{
				"Machine.spec.providerID":       providerID,
				"Metal3Machine.spec.providerID": providerID,
				"Node.spec.providerID":          providerID,
				"Machine.status.nodeRef":        m.Machine.Name,
				"Node.metadata.name":            m.Machine.Name,
				"Node label metal3.io/uuid":     string(m.Host.UID),
				"host annotation":               m.Host.Namespace + "/" + m.Host.Name,
			}, got); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
			checkAddresses(t, m)
			conditionsHold(t, lab.world, m)
		})
	}
	if nodes := len(nodes[p.a.Namespace]) + len(nodes[p.b.Namespace]); nodes != len(seen) {
		t.Errorf("there are %d Nodes for %d machines", nodes, len(seen))
	}
}

// nodes reads the Nodes of the tenant's cluster with the kubeconfig that Cluster
// API left for the tenant.
func (a *tenantCluster) nodes(t *testing.T) map[string]corev1.Node {
	t.Helper()
	var list corev1.NodeList
	must(t, a.workload(t).List(t.Context(), &list))
	nodes := map[string]corev1.Node{}
	for _, node := range list.Items {
		nodes[node.Name] = node
	}
	return nodes
}

// workload is a client for the tenant's cluster.
func (a *tenantCluster) workload(t *testing.T) client.Client {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, a.Client.Get(t.Context(), client.ObjectKey{Namespace: a.Namespace, Name: a.cluster.Name + "-kubeconfig"}, secret))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	must(t, err)
	workload, err := client.New(config, client.Options{Scheme: a.Client.Scheme()})
	must(t, err)
	return workload
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
	if diff := cmp.Diff(want, internal(m.Metal3.Status.Addresses), anyOrder); diff != "" {
		t.Errorf("addresses of the Metal3Machine (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, internal(m.Machine.Status.Addresses), anyOrder); diff != "" {
		t.Errorf("addresses of the Machine (-want +got):\n%s", diff)
	}
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

// factsArePublished compares what each tenant reads about its servers with what
// the infrastructure knows and lets out.
func (p *poolStory) factsArePublished(t *testing.T) {
	for _, m := range p.machines(t) {
		t.Run(m.Name(), func(t *testing.T) {
			got := &bmov1alpha1.HardwareData{}
			name := m.Claim.Name + infrav1.HardwareDataSuffix
			must(t, p.of(m).Client.Get(t.Context(), client.ObjectKey{Namespace: m.Claim.Namespace, Name: name}, got))
			want := &bmov1alpha1.HardwareData{
				ObjectMeta: metav1.ObjectMeta{
					Name:      name,
					Namespace: m.Claim.Namespace,
					Labels: map[string]string{
						infrav1.ClaimUIDLabel: string(m.Claim.UID),
						"rack":                m.Host.Labels["rack"],
						"model":               "demo",
					},
					Annotations: map[string]string{
						infrav1.HostUIDAnnotation:        string(m.Host.UID),
						infrav1.HostNameAnnotation:       m.Host.Name,
						infrav1.HostNamespaceAnnotation:  p.pool.Namespace,
						infrav1.BootMACAddressAnnotation: m.Host.Spec.BootMACAddress,
					},
					OwnerReferences: []metav1.OwnerReference{{
						APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim",
						Name: m.Claim.Name, UID: m.Claim.UID, Controller: ptr.To(true),
					}},
				},
				Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: m.Host.Status.HardwareDetails},
			}
			ignored := cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "Generation", "CreationTimestamp", "ManagedFields")
			notBlocking := cmpopts.IgnoreFields(metav1.OwnerReference{}, "BlockOwnerDeletion")
			if diff := cmp.Diff(want, got, ignored, notBlocking, cmpopts.IgnoreTypes(metav1.TypeMeta{})); diff != "" {
				t.Errorf("HardwareData (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&bmov1alpha1.ObjectReference{Namespace: got.Namespace, Name: name}, m.Claim.Status.HardwareData); diff != "" {
				t.Errorf("status.hardwareData of the claim (-want +got):\n%s", diff)
			}
		})
	}
}

// templatesAreRendered compares metaData and networkData of each machine with
// pool, host, labels and names, key by key, as the tenant reads them.
func (p *poolStory) templatesAreRendered(t *testing.T) {
	given := map[string]string{}
	for _, m := range p.machines(t) {
		t.Run(m.Name(), func(t *testing.T) {
			actor := p.of(m)
			data := &infrav1.Metal3Data{}
			must(t, actor.Client.Get(t.Context(), client.ObjectKey{Namespace: actor.Namespace, Name: m.Metal3.Status.RenderedData.Name}, data))
			address := actor.address(t, data)
			if other, found := given[address]; found {
				t.Errorf("address %s was given to %s as well", address, other)
			}
			given[address] = m.Name()

			var meta map[string]string
			must(t, yaml.Unmarshal(actor.secret(t, m.Metal3.Status.MetaData.Name)["metaData"], &meta))
			if diff := cmp.Diff(actor.metaData(m, data, address), meta); diff != "" {
				t.Errorf("metaData (-want +got):\n%s", diff)
			}
			network, err := netdata.Parse(actor.secret(t, m.Metal3.Status.NetworkData.Name)["networkData"])
			must(t, err)
			if diff := cmp.Diff(actor.networkData(m, address), network); diff != "" {
				t.Errorf("networkData (-want +got):\n%s", diff)
			}
		})
	}
}

// address returns what the pool of the cluster gave to a Metal3Data.
func (a *tenantCluster) address(t *testing.T, data *infrav1.Metal3Data) string {
	t.Helper()
	var claims ipamv1alpha1.IPClaimList
	must(t, a.Client.List(t.Context(), &claims, client.InNamespace(a.Namespace)))
	for _, claim := range claims.Items {
		if util.IsOwnedByObject(&claim, data, infrav1.GroupVersion.WithKind("Metal3Data").GroupKind()) {
			address := &ipamv1alpha1.IPAddress{}
			must(t, a.Client.Get(t.Context(), client.ObjectKey{Namespace: a.Namespace, Name: claim.Status.Address.Name}, address))
			if claim.Spec.Pool.Name != a.cluster.Name+"-nodes" {
				t.Errorf("IPClaim %s asks pool %s", claim.Name, claim.Spec.Pool.Name)
			}
			return string(address.Spec.Address)
		}
	}
	t.Fatalf("Metal3Data %s has no IPClaim", data.Name)
	return ""
}

// metaData is what the cluster template asks for, for one machine.
func (a *tenantCluster) metaData(m world.Machine, data *infrav1.Metal3Data, address string) map[string]string {
	role := "worker"
	if util.IsControlPlaneMachine(m.Machine) {
		role = "control-plane"
	}
	return map[string]string{
		"role":                 role,
		"name":                 m.Machine.Name,
		"local-hostname":       m.Machine.Name,
		"local_hostname":       m.Machine.Name,
		"host-name":            m.Host.Name,
		"index":                fmt.Sprintf("%s-%d", role, ptr.Deref(data.Spec.Index, 0)),
		"metal3-namespace":     a.Namespace,
		"mac-address":          m.Host.Status.HardwareDetails.NIC[0].MAC,
		"boot-mac-address":     m.Host.Spec.BootMACAddress,
		"provisioning-ip":      address,
		"provisioning-prefix":  "24",
		"provisioning-gateway": fmt.Sprintf("192.168.%d.1", a.cluster.Subnet),
		"cluster-name":         a.cluster.Name,
		"rack":                 m.Host.Labels["rack"],
		"providerid":           strings.TrimPrefix(m.Machine.Spec.ProviderID, "metal3://"),
	}
}

// networkData is the same for the network.
func (a *tenantCluster) networkData(m world.Machine, address string) netdata.Document {
	return netdata.Document{
		Links: []netdata.Link{{ID: "nic0", Type: "phy", MAC: m.Host.Status.HardwareDetails.NIC[0].MAC}},
		Networks: []netdata.Network{{
			ID: "nodes", Type: "ipv4", Link: "nic0", Address: address, Netmask: "255.255.255.0",
			Routes: []netdata.Route{{Network: "0.0.0.0", Netmask: "0.0.0.0", Gateway: fmt.Sprintf("192.168.%d.1", a.cluster.Subnet)}},
		}},
		Services: []netdata.Service{{Type: "dns", Address: fmt.Sprintf("192.168.%d.2", a.cluster.Subnet)}},
	}
}

// secret reads a secret as the tenant.
func (a *tenantCluster) secret(t *testing.T, name string) map[string][]byte {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, a.Client.Get(t.Context(), client.ObjectKey{Namespace: a.Namespace, Name: name}, secret))
	return secret.Data
}

// copiesAreNarrow checks the secrets next to the hosts: the one key that the
// server reads, marked and owned so that they go with the claim; and that
// nothing went the other way.
func (p *poolStory) copiesAreNarrow(t *testing.T) {
	for _, m := range p.machines(t) {
		t.Run(m.Name(), func(t *testing.T) {
			for _, part := range []struct {
				kind, key, sourceName, sourceKey string
				ref                              *corev1.SecretReference
			}{
				{"userdata", "userData", *m.Machine.Spec.Bootstrap.DataSecretName, "value", m.Host.Spec.UserData},
				{"metadata", "metaData", m.Metal3.Status.MetaData.Name, "metaData", m.Host.Spec.MetaData},
				{"networkdata", "networkData", m.Metal3.Status.NetworkData.Name, "networkData", m.Host.Spec.NetworkData},
			} {
				source := p.of(m).secret(t, part.sourceName)[part.sourceKey]
				want := copyOf(m, part.kind, part.ref, map[string][]byte{part.key: source})
				want.Annotations[infrav1.SecretSourceAnnotation] = m.Machine.Namespace + "/" + part.sourceName
				content := secretkeys.Content{Key: part.key, Value: source}
				want.Annotations[infrav1.ContentHashAnnotation] = content.Hash(m.Claim.UID)
				got := &corev1.Secret{}
				must(t, lab.admin.Get(t.Context(), client.ObjectKey{Namespace: part.ref.Namespace, Name: part.ref.Name}, got))
				got.ObjectMeta = metav1.ObjectMeta{
					Namespace: got.Namespace, Name: got.Name, Labels: got.Labels,
					Annotations: got.Annotations, OwnerReferences: got.OwnerReferences,
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("copy of %s (-want +got):\n%s", part.kind, diff)
				}
			}
		})
	}
	for _, actor := range []*tenantCluster{p.a, p.b} {
		actor.hasNoPassword(t)
	}
}

// copyOf is the secret that is expected next to the host of a machine.
func copyOf(m world.Machine, kind string, ref *corev1.SecretReference, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Host.Namespace,
			Name:      ref.Name,
			Labels: map[string]string{
				infrav1.SecretClaimUIDLabel:  string(m.Claim.UID),
				infrav1.SecretKindLabel:      kind,
				infrav1.SecretHostUIDLabel:   string(m.Host.UID),
				infrav1.BareMetalSecretLabel: infrav1.BareMetalSecretLabelValue,
			},
			Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "BareMetalHost", Name: m.Host.Name, UID: m.Host.UID,
			}},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
}

// hasNoPassword searches the secrets of a tenant for those of BMCs.
func (a *tenantCluster) hasNoPassword(t *testing.T) {
	t.Helper()
	var list corev1.SecretList
	must(t, a.Client.List(t.Context(), &list, client.InNamespace(a.Namespace)))
	for _, secret := range list.Items {
		for key, value := range secret.Data {
			if bytes.Contains(value, []byte("of-server-")) {
				t.Errorf("secret %s/%s has a BMC password under %s", a.Namespace, secret.Name, key)
			}
		}
	}
}
