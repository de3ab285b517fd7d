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
	"context"
	"errors"
	"os/exec"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestManagersEndWithoutAKubeconfig runs the programs with a kubeconfig that does not exist. They
// must end by themselves with an error that has its path and the remedy.
func TestManagersEndWithoutAKubeconfig(t *testing.T) {
	t.Parallel()
	for _, program := range []string{components.ProviderManager, components.HostClaimManager} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			output := ended(t, program, "--kubeconfig=/nowhere/kubeconfig")
			missing := unsaid(output, "/nowhere/kubeconfig", "give --kubeconfig")
			expect.That(t, missing == nil, "%s does not say %q, but:\n%s", program, missing, output)
		})
	}
}

// ended runs a program that must end by itself with an error, and returns what it wrote.
func ended(t *testing.T, program string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, lab.Repo.Path("bin", program), flags...).CombinedOutput()
	var exit *exec.ExitError
	expect.Must(t, ctx.Err() == nil && errors.As(err, &exit), "%s ended with %v (%v), want an exit code; it wrote:\n%s", program, err, ctx.Err(), output)
	return string(output)
}

// definitions is a client for CRDs.
func definitions(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.NoError(t, apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	expect.NoError(t, err)
	return c
}

// TestWebhooksAreCalled asks the API server, which asks the managers. What the
// webhooks decide in detail is the business of their own tests.
func TestWebhooksAreCalled(t *testing.T) {
	t.Parallel()
	const namespace = "webhooks"
	expect.NoError(t, lab.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
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
		expect.NoError(t, lab.admin.Create(t.Context(), cluster, client.DryRunAll))
		expect.Equal(t, 6443, cluster.Spec.ControlPlaneEndpoint.Port)
	})
}

// refusedWith expects the API server not to take an object, with a message that contains all of the
// parts.
func refusedWith(t *testing.T, object client.Object, parts ...string) {
	t.Helper()
	err := lab.admin.Create(t.Context(), object, client.DryRunAll)
	expect.Must(t, err != nil, "%T %s was accepted", object, object.GetName())
	missing := unsaid(err.Error(), parts...)
	expect.That(t, missing == nil, "the refusal %q does not say %q", err, missing)
}

// TestManagersHoldTheirLeases looks at the leases of both managers, which run
// with leader election as in life.
func TestManagersHoldTheirLeases(t *testing.T) {
	t.Parallel()
	c, err := kubernetes.NewForConfig(lab.Admin)
	expect.NoError(t, err)
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
