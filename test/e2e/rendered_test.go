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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/netdata"
)

// templatesAreRendered compares metaData and networkData of each machine with
// pool, host, labels and names, key by key, as the tenant reads them.
func (p *play) templatesAreRendered(t *testing.T) {
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
func (a *actor) address(t *testing.T, data *infrav1.Metal3Data) string {
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
func (a *actor) metaData(m world.Machine, data *infrav1.Metal3Data, address string) map[string]string {
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
func (a *actor) networkData(m world.Machine, address string) netdata.Document {
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
func (a *actor) secret(t *testing.T, name string) map[string][]byte {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, a.Client.Get(t.Context(), client.ObjectKey{Namespace: a.Namespace, Name: name}, secret))
	return secret.Data
}

// copiesAreNarrow checks the secrets next to the hosts: the one key that the
// server reads, marked and owned so that they go with the claim; and that
// nothing went the other way.
func (p *play) copiesAreNarrow(t *testing.T) {
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
	for _, actor := range []*actor{p.a, p.b} {
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
func (a *actor) hasNoPassword(t *testing.T) {
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
