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
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/cluster-api/test/framework/ginkgoextensions"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// The flags are named as those of Cluster API's suite.
var (
	configPath     = flag.String("e2e.config", "config/metal3.yaml", "configuration of the suite")
	artifactFolder = flag.String("e2e.artifacts-folder", "", "folder for logs, and for the objects and events of each spec")
	skipCleanup    = flag.Bool("e2e.skip-resource-cleanup", false, "leave what the specs make, and the management cluster, behind")
	useKind        = flag.Bool("e2e.kind", false, "play the specs on a kind cluster instead of a dev cluster")
)

var (
	// ctx ends by a signal; Ginkgo takes the same signals, interrupts the spec and cleans up.
	ctx, _ = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	e2eConfig *clusterctl.E2EConfig
	// clusterctlConfigPath is the configuration of clusterctl, with a local repository.
	clusterctlConfigPath string
	// bootstrapClusterProxy is the management cluster as the specs see it.
	bootstrapClusterProxy framework.ClusterProxy
	// serverAddress is where simulated servers serve their clusters.
	serverAddress string
)

const (
	// infrastructureProvider names our release; without a version, clusterctl would ask the inventory of a
	// cluster that it has installed.
	infrastructureProvider = "metal3:v1.14.99"
	// serverNamespace and servers are the pool; the largest spec has twelve machines and replaces some.
	serverNamespace = "infra"
	servers         = 36
)

func TestE2E(t *testing.T) {
	g := gomega.NewWithT(t)
	ctrl.SetLogger(klog.Background())
	folder, err := filepath.Abs(*artifactFolder)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	*artifactFolder = folder
	g.Expect(os.MkdirAll(folder, 0o755)).To(gomega.Succeed())
	gomega.RegisterFailHandler(ginkgo.Fail)
	log, err := ginkgoextensions.EnableFileLogging(filepath.Join(folder, "ginkgo-log.txt"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	defer log.Close()
	ginkgo.RunSpecs(t, "capi-e2e")
}

// The first process starts what all of them share.
var _ = ginkgo.SynchronizedBeforeSuite(func() []byte {
	e2eConfig = loadConfig()
	for i := range e2eConfig.Providers {
		if isOurs(e2eConfig.Providers[i]) {
			addFlavors(&e2eConfig.Providers[i])
		}
	}
	repository := clusterctl.CreateRepository(ctx, clusterctl.CreateRepositoryInput{
		RepositoryFolder: filepath.Join(*artifactFolder, "repository"), E2EConfig: e2eConfig,
	})
	repo, err := components.FindRepo(".")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	kubeconfig, address := "", "127.0.0.1"
	if *useKind {
		kubeconfig, address = startKind(repo, repository)
	} else {
		kubeconfig = startDevCluster(repo)
	}
	return []byte(strings.Join([]string{repository, kubeconfig, address}, "\n"))
}, func(shared []byte) {
	parts := strings.Split(string(shared), "\n")
	gomega.Expect(parts).To(gomega.HaveLen(3))
	var kubeconfig string
	clusterctlConfigPath, kubeconfig, serverAddress = parts[0], parts[1], parts[2]
	e2eConfig = loadConfig()
	bootstrapClusterProxy = framework.NewClusterProxy("bootstrap", kubeconfig, scheme())
})

var _ = ginkgo.SynchronizedAfterSuite(func() {}, func() {
	if bootstrapClusterProxy != nil {
		bootstrapClusterProxy.Dispose(ctx)
	}
})

// Each cluster is served at a port of its own, so that none waits for another to be gone.
var _ = ginkgo.BeforeEach(func() {
	ginkgo.GinkgoT().Setenv("CLUSTER_APIENDPOINT_HOST", serverAddress)
	ginkgo.GinkgoT().Setenv("CLUSTER_APIENDPOINT_PORT", freePort())
})

// freePort returns a port on which nothing listens.
func freePort() string {
	ports, err := cluster.FreeEndpoints(1)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return strconv.Itoa(ports[0])
}

// loadConfig reads the configuration. On the dev cluster, Cluster API runs already, and clusterctl needs no
// other provider than ours.
func loadConfig() *clusterctl.E2EConfig {
	config := clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: *configPath})
	if !*useKind {
		config.Providers = slices.DeleteFunc(config.Providers, func(p clusterctl.ProviderConfig) bool { return !isOurs(p) })
	}
	return config
}

// isOurs reports whether a provider is the one that this repository releases with templates.
func isOurs(p clusterctl.ProviderConfig) bool {
	return p.Name == "metal3" && p.Type == "InfrastructureProvider"
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	framework.TryAddDefaultSchemes(s)
	gomega.Expect(bmov1alpha1.AddToScheme(s)).To(gomega.Succeed())
	return s
}

// startDevCluster starts a dev cluster with servers whose power is simulated too, ends it with the suite, and
// returns the kubeconfig of its administrator.
func startDevCluster(repo components.Repo) string {
	out := console.New(ginkgo.GinkgoWriter)
	up, err := stack.Up(ctx, stack.Options{
		Repo: repo, Dir: filepath.Join(*artifactFolder, "dev-cluster"), Managers: manager.WithSimulatedHosts(), Out: out,
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if !*skipCleanup {
		ginkgo.DeferCleanup(endDevCluster, up)
	}
	publishServer(up.Admin, up.Server)
	registerServers(up.Admin)
	return cluster.AdminKubeconfig(up.Dir)
}

// registerServers makes the pool that every namespace may have servers of.
func registerServers(admin *rest.Config) {
	w, err := world.Open(ctx, admin)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	pool := story.Pool{Namespace: serverNamespace, Servers: servers}
	gomega.Expect(pool.Register(ctx, w.Hosts)).To(gomega.Succeed())
	gomega.Expect(pool.WaitAvailable(ctx, w, func(string) {})).To(gomega.Succeed())
}

// endDevCluster leaves the logs of its processes among the artifacts.
func endDevCluster(up *stack.Stack) error {
	logs := filepath.Join(*artifactFolder, "clusters", "bootstrap", "logs")
	return errors.Join(
		up.Group.Stop(),
		os.RemoveAll(logs), os.MkdirAll(filepath.Dir(logs), 0o755), os.Rename(filepath.Join(up.Dir, "logs"), logs),
		os.RemoveAll(up.Dir),
	)
}

// bindManagers gives our managers their rights in the namespace of a spec, as the team that installs them does.
func bindManagers(proxy framework.ClusterProxy, namespace string) {
	gomega.Expect(story.BindManagers(ctx, proxy.GetClient(), namespace)).To(gomega.Succeed())
}
