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

package hostclaim

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	providersetup "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// The roles of config/hostclaim/rbac under the names that kustomize gives them.
const (
	sourceSecretsRole = "hostclaim-source-secrets"
	hostSecretsRole   = "hostclaim-host-secrets"

	// timeout is how long a test waits; each step takes milliseconds.
	timeout = time.Minute
	// stillness is how long something is watched that must not happen.
	stillness = 500 * time.Millisecond
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(timeout)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(stillness)
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(withRoles{m}))
}

// withRoles installs the roles of the manager before the tests run.
type withRoles struct{ tests *testing.M }

func (w withRoles) Run() int {
	if err := server.InstallRoles(context.Background(), harness.HostClaimAccount()); err != nil {
		fmt.Fprintf(os.Stderr, "install the roles: %v\n", err)
		return 1
	}
	for _, name := range movedKinds {
		if err := labelKind(context.Background(), name, true); err != nil {
			fmt.Fprintf(os.Stderr, "label the kinds that move: %v\n", err)
			return 1
		}
	}
	return w.tests.Run()
}

// TestMissingCRDsAreNamedAtStart starts the manager on an API server that knows
// none of its kinds: it names them and ends, as the provider manager does. When they have been installed, it starts.
func TestMissingCRDsAreNamedAtStart(t *testing.T) {
	w := newWorld(t)
	repo, err := components.FindRepo(".")
	w.OK(err)
	assets, err := repo.Assets()
	w.OK(err)
	bare := &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: 2 * time.Minute}
	config, err := bare.Start()
	w.OK(err)
	t.Cleanup(func() {
		if err := bare.Stop(); err != nil {
			t.Errorf("stop the bare API server: %v", err)
		}
	})
	w.options.WebhookPort, w.options.HealthAddress, w.options.Serving.DiagnosticsAddress = 0, "0", "0"
	_, err = setup.NewManager(t.Context(), config, w.options)
	w.G.Expect(err).To(gomega.MatchError(gomega.And(
		gomega.ContainSubstring("CRD hostclaims.metal3.io does not exist"),
		gomega.ContainSubstring("CRD baremetalhosts.metal3.io does not exist"),
		gomega.ContainSubstring("install baremetal-operator, 0.13 or later"),
	)))
	o := providersetup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	_, err = providersetup.NewManager(t.Context(), config, o)
	w.G.Expect(err).To(gomega.MatchError(gomega.And(
		gomega.ContainSubstring("CRD metal3machines.infrastructure.cluster.x-k8s.io"), gomega.ContainSubstring("install the provider"),
		gomega.ContainSubstring("CRD clusters.cluster.x-k8s.io"), gomega.ContainSubstring("install Cluster API"),
	)))

	crds, err := harness.CRDFiles(t.Context(), repo)
	w.OK(err)
	_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true})
	w.OK(err)
	_, err = setup.NewManager(t.Context(), config, w.options)
	w.OK(err)
}
