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

package machine

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

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	secretsRole = "capm3-tenant-secrets"

	// patience is how long a story waits for the manager. A step takes
	// milliseconds; only the connection to a workload cluster is slow.
	patience = 90 * time.Second
)

// server is the cluster of the tenants, and hosts one that holds hosts for some of
// them.
var server, hosts harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	// As the book has it for sites whose tenants have further roles.
	server.AdmissionPlugins = []string{"OwnerReferencesPermissionEnforcement"}
	os.Exit(hosts.Run(beside{m}))
}

// beside runs the tests with the cluster of the tenants beside that of the hosts.
type beside struct{ tests *testing.M }

func (b beside) Run() int { return server.Run(managed(b)) }

// managed runs the tests beside one manager, which has the rights of its
// service account and no others.
type managed struct{ tests *testing.M }

func (m managed) Run() int {
	ctx, stop := context.WithCancel(ctrl.LoggerInto(context.Background(), klog.Background()))
	defer stop()
	ctrl.SetLogger(klog.Background())
	ended, err := start(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "start the provider manager: %v\n", err)
		return 1
	}
	code := m.tests.Run()
	stop()
	if err := <-ended; err != nil {
		fmt.Fprintf(os.Stderr, "provider manager: %v\n", err)
		return 1
	}
	return code
}

func start(ctx context.Context) (<-chan error, error) {
	for _, account := range []harness.Account{harness.ProviderAccount(), harness.HostClaimAccount()} {
		if err := server.InstallRoles(ctx, account); err != nil {
			return nil, err
		}
	}
	if err := hooks.prepare(ctx); err != nil {
		return nil, err
	}
	mgr, err := setup.NewManager(ctx, server.As(harness.ProviderAccount()), options())
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended, nil
}

// options are the defaults, without webhooks and servers for diagnostics.
func options() setup.Options {
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.WebhookPort, o.HealthAddress = 0, "0"
	o.RuntimeExtensionPort, o.WebhookCertDir = hooks.LocalServingPort, hooks.LocalServingCertDir
	o.IdentityDenied, o.WorkloadDenied = "", "" // the test server is on loopback
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	return o
}

// tenant is a namespace with the objects of one story.
type tenant struct {
	harness.Tenant
	// claim is the name of the machine's claim, where it is in this namespace.
	claim string
}

// newTenant makes a namespace whose secrets the manager may use.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	t.Parallel()
	tn := &tenant{Tenant: server.NewTenant(t, "tenant"), claim: machineName}
	tn.G.Expect(server.Bind(tn.Ctx, harness.ProviderAccount(), tn.Namespace, secretsRole)).To(gomega.Succeed())
	return tn
}
