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

package data_test

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

	// patience is how long a story waits. A step takes milliseconds, and a CRD
	// that has just come some seconds.
	patience = time.Minute
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	os.Exit(server.Run(managed{m}))
}

// managed runs the tests beside one provider manager, which has the rights of
// its service account and no others. When it starts, nothing of address
// management is installed: that comes with the first test.
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
	if addressManagement.stop != nil {
		addressManagement.stop()
	}
	if err := <-ended; err != nil {
		fmt.Fprintf(os.Stderr, "provider manager: %v\n", err)
		return 1
	}
	return code
}

func start(ctx context.Context) (<-chan error, error) {
	if err := server.InstallRoles(ctx, harness.ProviderAccount()); err != nil {
		return nil, err
	}
	if err := addressManagement.remove(ctx); err != nil {
		return nil, err
	}
	provider, err := setup.NewManager(ctx, server.As(harness.ProviderAccount()), options())
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- provider.Start(ctx) }()
	return ended, nil
}

// options are the defaults, without servers that would need ports.
func options() setup.Options {
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.WebhookPort, o.HealthAddress = 0, "0"
	o.IdentityDenied, o.WorkloadDenied = "", "" // the test server is on loopback
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	return o
}
