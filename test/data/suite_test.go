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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	managerRole = "capm3-manager-role"
	secretsRole = "capm3-tenant-secrets"
	managerUser = "system:serviceaccount:capm3-system:capm3-manager"

	// patience is how long a story waits. A step takes milliseconds, and a CRD
	// that has just come some seconds.
	patience = 30 * time.Second
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
	if err := grantRoles(ctx); err != nil {
		return nil, err
	}
	if err := addressManagement.remove(ctx); err != nil {
		return nil, err
	}
	provider, err := setup.NewManager(ctx, asManager(), options())
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
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	return o
}

// asManager is the way into the cluster with the rights of the manager.
func asManager() *rest.Config {
	config := rest.CopyConfig(server.Config)
	config.Impersonate.UserName = managerUser
	return config
}

// grantRoles installs the roles of config/rbac and binds the one that the
// hardened form binds for the whole cluster.
func grantRoles(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	for file, name := range map[string]string{"role.yaml": managerRole, "tenant_secrets_role.yaml": secretsRole} {
		text, err := os.ReadFile(repo.Path("config", "rbac", file))
		if err != nil {
			return err
		}
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(text, role); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		role.Name = name
		if err := server.Client.Create(ctx, role); err != nil {
			return err
		}
	}
	return server.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: managerRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: managerRole},
		Subjects:   subjects(),
	})
}

func subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: managerUser}}
}
