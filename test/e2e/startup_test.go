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
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// TestManagersEndWithoutAKubeconfig runs the programs with a kubeconfig that does not exist. They
// must end by themselves with an error that has its path and the remedy.
func TestManagersEndWithoutAKubeconfig(t *testing.T) {
	t.Parallel()
	for _, program := range []string{components.ProviderManager, components.HostClaimManager} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			output := ended(t, program, "--kubeconfig=/nowhere/kubeconfig")
			if missing := unsaid(output, "/nowhere/kubeconfig", "give --kubeconfig"); len(missing) > 0 {
				t.Errorf("%s does not say %q, but:\n%s", program, missing, output)
			}
		})
	}
}

// TestManagersEndWithoutTheirCRDs starts both programs beside an API server where nothing was
// installed. They name each CRD and who brings it, and end; started again once that is mended,
// they become ready.
func TestManagersEndWithoutTheirCRDs(t *testing.T) {
	t.Parallel()
	bare := newBareCluster(t)
	needed := map[string][]string{
		components.ProviderManager: {
			"CRD metal3machines.infrastructure.cluster.x-k8s.io", "install the provider", "CRD clusters.cluster.x-k8s.io", "install Cluster API",
		},
		components.HostClaimManager: {
			"CRD hostclaims.metal3.io", "config/hostclaim/crd", "CRD baremetalhosts.metal3.io", "install baremetal-operator",
		},
	}
	for program, parts := range needed {
		output := ended(t, program, bare.flags()...)
		if missing := unsaid(output, parts...); len(missing) > 0 {
			t.Errorf("%s does not say %q, but:\n%s", program, missing, output)
		}
	}
	bare.installCRDs(t)
	for program := range needed {
		check := bare.start(t, program)
		eventually(t, program+" is ready", func(g gomega.Gomega) {
			g.Expect(check(t.Context())).To(gomega.Succeed())
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
	if ctx.Err() != nil || !errors.As(err, &exit) {
		t.Fatalf("%s ended with %v (%v), want an exit code; it wrote:\n%s", program, err, ctx.Err(), output)
	}
	return string(output)
}

// bareCluster is a control plane of its own.
type bareCluster struct {
	*cluster.Cluster
}

// newBareCluster starts it, with nothing installed.
func newBareCluster(t *testing.T) bareCluster {
	t.Helper()
	group, err := process.NewGroup(lab.bare())
	must(t, err)
	t.Cleanup(func() {
		if err := group.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := cluster.Start(t.Context(), cluster.Options{Dir: lab.bare(), Repo: lab.Repo, Group: group, Out: console.New(t.Output())})
	must(t, err)
	return bareCluster{c}
}

// flags have a program of ours run as the administrator, without ports.
func (b bareCluster) flags() []string {
	return []string{
		"--kubeconfig=" + cluster.AdminKubeconfig(b.Dir), "--leader-elect=false", "--webhook-port=0",
		"--health-addr=0", "--diagnostics-address=0",
	}
}

// start starts one of our programs as the administrator, and returns a check
// that it is ready.
func (b bareCluster) start(t *testing.T, program string) func(context.Context) error {
	t.Helper()
	ports, err := cluster.FreePorts(1)
	must(t, err)
	health := fmt.Sprintf("127.0.0.1:%d", ports[0])
	_, err = b.Group.Start(process.Spec{
		Name: program,
		Path: lab.Repo.Path("bin", program),
		Args: append(b.flags(), "--health-addr="+health),
		Tier: cluster.TierManagers,
	})
	must(t, err)
	return cluster.Healthy(http.DefaultClient, "http://"+health+"/readyz")
}

// installCRDs installs what the other cluster has, and waits until it is served. No conversion is served here.
func (b bareCluster) installCRDs(t *testing.T) {
	t.Helper()
	var crds apiextensionsv1.CustomResourceDefinitionList
	must(t, definitions(t, lab.Admin).List(t.Context(), &crds))
	into := definitions(t, b.Admin)
	for _, crd := range crds.Items {
		crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels}
		crd.Spec.Conversion = nil
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		must(t, into.Create(t.Context(), &crd))
	}
	served, err := discovery.NewDiscoveryClientForConfig(b.Admin)
	must(t, err)
	eventually(t, "the kinds are served", func(g gomega.Gomega) {
		_, lists, err := served.ServerGroupsAndResources()
		g.Expect(err).NotTo(gomega.HaveOccurred())
		resources := map[string]bool{}
		for _, list := range lists {
			for _, resource := range list.APIResources {
				resources[list.GroupVersion+"/"+resource.Name] = true
			}
		}
		for _, crd := range crds.Items {
			for _, version := range crd.Spec.Versions {
				if version.Served {
					g.Expect(resources).To(gomega.HaveKey(crd.Spec.Group + "/" + version.Name + "/" + crd.Spec.Names.Plural))
				}
			}
		}
	})
}

// definitions is a client for CRDs.
func definitions(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	return c
}

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
	t.Run("an object of v1beta1 is read in v1beta2", func(t *testing.T) {
		remediation := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"strategy": map[string]any{"timeout": "5m"}},
		}}
		remediation.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("Metal3Remediation"))
		remediation.SetNamespace(namespace)
		remediation.SetName("old")
		must(t, lab.admin.Create(t.Context(), remediation))
		stored := &infrav1.Metal3Remediation{}
		must(t, lab.admin.Get(t.Context(), client.ObjectKeyFromObject(remediation), stored))
		if got := stored.Spec.Strategy.TimeoutSeconds; got != 300 {
			t.Errorf("spec.strategy.timeoutSeconds is %d, want 300", got)
		}
	})
}

// refusedWith expects the API server not to take an object, with a message that contains all of the
// parts.
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
