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

package withoutlocalhosts

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// patience is how long a story waits for the manager; a kind that has just come
// takes a few seconds to be known.
const patience = time.Minute

// server is a cluster without hosts, and hosts one that has them.
var server, hosts harness.Server

// kinds are the CRDs that are taken out of server before the manager starts.
var kinds = []string{"hostclaims.metal3.io", "hardwaredata.metal3.io"}

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	os.Exit(hosts.Run(run(func() int { return server.Run(m) })))
}

type run func() int

func (r run) Run() int { return r() }

// take deletes a CRD and returns what installs it again.
func take(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := client.ObjectKey{Name: name}
	if err := server.Client.Get(ctx, key, crd); err != nil {
		return nil, err
	}
	if err := server.Client.Delete(ctx, crd); err != nil {
		return nil, err
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := server.Client.Get(ctx, key, &apiextensionsv1.CustomResourceDefinition{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return nil, fmt.Errorf("CRD %s does not go: %w", name, err)
	}
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: crd.Annotations}, Spec: crd.Spec}, nil
}

// start runs the manager until the test ends.
func start(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(ctrl.LoggerInto(context.Background(), klog.Background()))
	ctrl.SetLogger(klog.Background())
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.WebhookPort, o.HealthAddress = 0, "0"
	o.IdentityDenied, o.WorkloadDenied = "", "" // the test server is on loopback
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	mgr, err := setup.NewManager(ctx, server.Config, o)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("manager: %v", err)
		}
	})
}

// TestHostless has one machine with its host in a remote cluster, and one that waits for the
// kinds and gets a claim as soon as they are installed.
func TestHostless(t *testing.T) {
	g := gomega.NewWithT(t)
	var later []*apiextensionsv1.CustomResourceDefinition
	for _, name := range kinds {
		crd, err := take(t.Context(), name)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		later = append(later, crd)
	}
	start(t)
	namespace, there := server.Namespace(t, "tenant", nil), hosts.Namespace(t, "hosts", nil)
	create := func(o client.Object) {
		o.SetNamespace(namespace)
		g.Expect(server.Client.Create(t.Context(), o)).To(gomega.Succeed())
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "OtherCluster", Name: "a"},
	}}
	create(cluster)
	ready := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"initialization":{"infrastructureProvisioned":true}}}`))
	g.Expect(server.Client.Status().Patch(t.Context(), cluster, ready)).To(gomega.Succeed())
	create(builder.Bootstrap(namespace, "a"))
	create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hosts"}, Data: map[string][]byte{"kubeconfig": kubeconfig(g, there)}})
	for name, ref := range map[string]*infrav1.IdentityReference{"here": nil, "elsewhere": {Name: "hosts"}} {
		owner := builder.Machine(types.NamespacedName{Namespace: namespace, Name: name}, "a")
		create(owner)
		create(&infrav1.Metal3Machine{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: owner.Labels, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: owner.UID, Controller: ptr.To(true),
			}}},
			Spec: infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://x/i", Checksum: ptr.To("abc")}, IdentityRef: ref},
		})
	}

	condition := func(g gomega.Gomega, name, conditionType string) string {
		m := &infrav1.Metal3Machine{}
		g.Expect(server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, m)).To(gomega.Succeed())
		c := meta.FindStatusCondition(m.Status.Conditions, conditionType)
		g.Expect(c).NotTo(gomega.BeNil())
		return string(c.Status) + "/" + c.Reason
	}
	claims := func(s *harness.Server, namespace string) []bmov1alpha1.HostClaim {
		var list bmov1alpha1.HostClaimList
		if s.Client.List(t.Context(), &list, client.InNamespace(namespace)) != nil {
			return nil
		}
		return list.Items
	}
	g.Eventually(func(g gomega.Gomega) {
		g.Expect(condition(g, "here", "AssociateBareMetalHost")).To(gomega.Equal("False/HostClaimAPIMissing"))
		g.Expect(condition(g, "elsewhere", "IdentityReady")).To(gomega.Equal("True/Connected"))
		g.Expect(claims(&hosts, there)).To(gomega.HaveLen(1))
	}).Should(gomega.Succeed())

	for _, crd := range later {
		g.Expect(server.Client.Create(t.Context(), crd)).To(gomega.Succeed())
	}
	g.Eventually(func(g gomega.Gomega) {
		g.Expect(condition(g, "here", "AssociateBareMetalHost")).To(gomega.Equal("False/HostClaimNotBound"))
		g.Expect(claims(&server, namespace)).To(gomega.HaveLen(1))
	}).Should(gomega.Succeed())

	// The kinds are watched from now on.
	claim := claims(&server, namespace)[0]
	said := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"conditions":[{"type":"Associated","status":"False",`+
		`"reason":"NoBareMetalHost","message":"8 hosts seen","lastTransitionTime":"2026-01-02T12:00:00Z"}]}}`))
	g.Expect(server.Client.Status().Patch(t.Context(), &claim, said)).To(gomega.Succeed())
	g.Eventually(func(g gomega.Gomega) {
		m := &infrav1.Metal3Machine{}
		g.Expect(server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "here"}, m)).To(gomega.Succeed())
		g.Expect(meta.FindStatusCondition(m.Status.Conditions, "AssociateBareMetalHost").Message).To(gomega.ContainSubstring("8 hosts seen"))
	}).Should(gomega.Succeed())
}

// kubeconfig leads the administrator of the other cluster to a namespace.
func kubeconfig(g *gomega.WithT, namespace string) []byte {
	config, err := clientcmd.Load(hosts.Kubeconfig())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	config.Contexts[config.CurrentContext].Namespace = namespace
	text, err := clientcmd.Write(*config)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return text
}
