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

package capie2e

import (
	"context"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
)

const (
	// holdAnnotation has a simulated server wait at boot.
	holdAnnotation = "hostsim.metal3.io/hold"
	// heldServers are three machines, and what their replacements need meanwhile.
	heldServers = 6
	// gatePeriod is how often the ConfigMap of the spec is read. It is shorter than the way of a server from one
	// machine to the next.
	gatePeriod = 200 * time.Millisecond
)

// holdServers gives the namespace of a spec servers of its own, which hold at boot. KCPRemediationSpec has its
// machines run a command before kubeadm that waits until data.signal of ConfigMap mhc-test is "pass" and
// answers "ack-pass"; simulated servers run no commands, so the suite answers for them.
func holdServers(proxy framework.ClusterProxy, namespace string) {
	bindManagers(proxy, namespace)
	c := proxy.GetClient()
	pool := story.Pool{Namespace: namespace + "-servers", Servers: heldServers, Tenants: []string{namespace}}
	gomega.Expect(pool.Register(ctx, c)).To(gomega.Succeed())
	hosts := &bmov1alpha1.BareMetalHostList{}
	gomega.Expect(c.List(ctx, hosts, client.InNamespace(pool.Namespace))).To(gomega.Succeed())
	for i := range hosts.Items {
		gomega.Expect(hold(ctx, c, &hosts.Items[i], `""`)).To(gomega.Succeed())
	}
	spec, end := context.WithCancel(ctx)
	ginkgo.DeferCleanup(end)
	go wait.UntilWithContext(spec, func(ctx context.Context) {
		if err := openGate(ctx, c, namespace, pool.Namespace); client.IgnoreNotFound(err) != nil {
			ginkgo.GinkgoLogr.Error(err, "A machine may go on holding")
		}
	}, gatePeriod)
}

// openGate lets the machine that holds go on, if the spec asks for it. A server holds again when its machine is gone.
func openGate(ctx context.Context, c client.Client, namespace, servers string) error {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := c.List(ctx, hosts, client.InNamespace(servers)); err != nil {
		return err
	}
	signal := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "mhc-test"}, signal); client.IgnoreNotFound(err) != nil {
		return err
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		_, holds := host.Annotations[holdAnnotation]
		switch provisioned := host.Status.Provisioning.State == bmov1alpha1.StateProvisioned; {
		case !holds && !provisioned:
			if err := hold(ctx, c, host, `""`); err != nil {
				return err
			}
		case holds && provisioned && signal.Data["signal"] == "pass":
			before := signal.DeepCopy()
			signal.Data["signal"] = "ack-pass"
			if err := hold(ctx, c, host, "null"); err != nil {
				return err
			}
			if err := c.Patch(ctx, signal, client.MergeFrom(before)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold sets the annotation of a server to a JSON value.
func hold(ctx context.Context, c client.Client, host *bmov1alpha1.BareMetalHost, value string) error {
	patch := `{"metadata": {"annotations": {"` + holdAnnotation + `": ` + value + `}}}`
	return c.Patch(ctx, host, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// publishServer says where the API server of the dev cluster is, as kubeadm does for a real one.
func publishServer(admin *rest.Config, server string) {
	c, err := client.New(admin, client.Options{Scheme: scheme()})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: server}
	text, err := clientcmd.Write(*config)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(c.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"}, Data: map[string]string{"kubeconfig": string(text)},
	})).To(gomega.Succeed())
}
