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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

// TestWebhooksAreCalled asks the API server, which asks the managers. What the
// webhooks decide in detail is the business of their own tests.
func TestWebhooksAreCalled(t *testing.T) {
	t.Parallel()
	const namespace = "webhooks"
	must(t, lab.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	t.Run("a policy with an invalid expression is refused with field and remedy", func(t *testing.T) {
		policy := policyOf(namespace, "invalid")
		policy.Spec.HostClaimNamespaces = &bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant-("}
		refusedWith(t, policy, "spec.hostClaimNamespaces.nameMatches", `"tenant-("`, "write a regular expression in RE2 syntax")
	})
	t.Run("a template whose network is on an unknown link is refused with field and choice", func(t *testing.T) {
		refusedWith(t, &infrav1.Metal3DataTemplate{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dangling"},
			Spec: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{
				Links: &infrav1.NetworkDataLink{Ethernets: []infrav1.NetworkDataLinkEthernet{{
					ID: "nic0", Type: infrav1.EthernetTypePhy, MACAddress: &infrav1.NetworkLinkMAC{FromHostInterface: "eth0"},
				}}},
				Networks: &infrav1.NetworkDataNetwork{IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "n", Link: "nic1"}}},
			}},
		}, "spec.networkData.networks.ipv4DHCP[0].link", `"nic1"`, "nic0")
	})
	t.Run("an endpoint without a port gets the usual one", func(t *testing.T) {
		cluster := &infrav1.Metal3Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "portless"},
			Spec:       infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1"}},
		}
		must(t, lab.admin.Create(t.Context(), cluster, client.DryRunAll))
		if got := cluster.Spec.ControlPlaneEndpoint.Port; got != 6443 {
			t.Errorf("spec.controlPlaneEndpoint.port is %d, want 6443", got)
		}
	})
}

// refusedWith expects the API server not to take an object, with a message that
// says all of the parts.
func refusedWith(t *testing.T, object client.Object, parts ...string) {
	t.Helper()
	err := lab.admin.Create(t.Context(), object, client.DryRunAll)
	if err == nil {
		t.Fatalf("%T %s was accepted", object, object.GetName())
	}
	if missing := unsaid(err.Error(), parts...); len(missing) > 0 {
		t.Errorf("the refusal %q does not say %q", err, missing)
	}
}

// TestManagersHoldTheirLeases looks at the leases of both managers, which run
// with leader election as in life.
func TestManagersHoldTheirLeases(t *testing.T) {
	t.Parallel()
	c, err := kubernetes.NewForConfig(lab.Admin)
	must(t, err)
	for component, name := range map[string]string{
		components.ProviderManager:  "controller-leader-election-capm3",
		components.HostClaimManager: "hostclaim-manager-leader-election",
	} {
		eventually(t, component+" holds its lease", func(g gomega.Gomega) {
			lease, err := c.CoordinationV1().Leases(lab.Running[component].Namespace).Get(t.Context(), name, metav1.GetOptions{})
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(lease.Spec.HolderIdentity).To(gomega.HaveValue(gomega.Not(gomega.BeEmpty())))
		})
	}
}
