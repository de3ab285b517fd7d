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
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/bootstrap"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// startKind starts a kind cluster, has clusterctl install the providers of the configuration, and plays the servers
// beside it, at the address of this machine in kind's network: Pods and the suite reach it. It returns the
// kubeconfig and that address.
func startKind(repo components.Repo, clusterctlConfig string) (kubeconfig, address string) {
	logs := filepath.Join(*artifactFolder, "clusters", "bootstrap")
	kind := bootstrap.CreateKindBootstrapClusterAndLoadImages(ctx, bootstrap.CreateKindBootstrapClusterAndLoadImagesInput{
		Name: e2eConfig.ManagementClusterName, KubernetesVersion: e2eConfig.MustGetVariable(e2e.KubernetesVersionManagement),
		Images: e2eConfig.Images, IPFamily: e2eConfig.MustGetVariable(e2e.IPFamily), LogFolder: logs,
	})
	if !*skipCleanup {
		// ctx is over if the suite was interrupted.
		ginkgo.DeferCleanup(func() { kind.Dispose(context.Background()) })
	}
	proxy := framework.NewClusterProxy("bootstrap", kind.GetKubeconfigPath(), scheme())
	// The kinds of hosts come first: the hostclaim manager puts its own two over those of baremetal-operator.
	installHosts(repo, proxy.GetClient())
	clusterctl.InitManagementClusterAndWatchControllerLogs(ctx, clusterctl.InitManagementClusterAndWatchControllerLogsInput{
		ClusterProxy: proxy, ClusterctlConfigPath: clusterctlConfig, LogFolder: logs,
		InfrastructureProviders: e2eConfig.InfrastructureProviders(), IPAMProviders: e2eConfig.IPAMProviders(),
		AddonProviders: e2eConfig.AddonProviders(),
	}, e2eConfig.GetIntervals("bootstrap", "wait-controllers")...)
	playServers(repo, kind.GetKubeconfigPath())
	registerServers(proxy.GetRESTConfig())
	return kind.GetKubeconfigPath(), addressBeside(proxy.GetClient())
}

// installHosts installs the kinds of baremetal-operator.
func installHosts(repo components.Repo, c client.Client) {
	found, err := components.Lookup(components.BareMetalOperator)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	source, err := repo.Source(ctx, found[0])
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	crds, err := manifests.Render(filepath.Join(source, "config", "base", "crds"), nil)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(manifests.Apply(ctx, c, crds)).To(gomega.Succeed())
}

// playServers runs hostsim, which plays the BareMetalHosts too, until the suite ends.
func playServers(repo components.Repo, kubeconfig string) {
	gomega.Expect(repo.Build(ctx, console.New(ginkgo.GinkgoWriter), components.HostSim)).To(gomega.Succeed())
	dir := filepath.Join(*artifactFolder, "hostsim")
	_, err := process.End(dir)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	group, err := process.NewGroup(dir)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() error {
		logs := filepath.Join(*artifactFolder, "clusters", "bootstrap", "logs")
		return errors.Join(group.Stop(), os.MkdirAll(filepath.Dir(logs), 0o755), os.Rename(filepath.Join(dir, "logs"), logs), os.RemoveAll(dir))
	})
	_, err = group.Start(process.Spec{
		Name: components.HostSim, Path: repo.Path("bin", components.HostSim),
		Args: []string{"--kubeconfig=" + kubeconfig, "--mode=all", "--delays=all=200ms", "--health-addr=0"},
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// addressBeside returns the address from which this machine reaches the Node of the kind cluster.
func addressBeside(c client.Client) string {
	nodes := &corev1.NodeList{}
	gomega.Expect(c.List(ctx, nodes)).To(gomega.Succeed())
	gomega.Expect(nodes.Items).NotTo(gomega.BeEmpty())
	for _, a := range nodes.Items[0].Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		// UDP sends nothing until something is written; it only chooses the way.
		connection, err := net.Dial("udp", net.JoinHostPort(a.Address, "9"))
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		defer connection.Close()
		host, _, err := net.SplitHostPort(connection.LocalAddr().String())
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		return host
	}
	ginkgo.Fail("the Node of the kind cluster has no address")
	return ""
}
