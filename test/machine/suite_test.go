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
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	managerRole   = "capm3-manager-role"
	secretsRole   = "capm3-tenant-secrets"
	managerUser   = "system:serviceaccount:capm3-system:capm3-manager"
	managerName   = "capm3-manager"
	managerSystem = "capm3-system"

	// patience is how long a story waits for the manager. A step takes
	// milliseconds; only the connection to a workload cluster is slow.
	patience = 20 * time.Second
	// connecting is how long ClusterCache may take to connect.
	connecting = 60 * time.Second
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	os.Exit(server.Run(managed{m}))
}

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
	if err := grantRoles(ctx); err != nil {
		return nil, err
	}
	mgr, err := setup.NewManager(ctx, asManager(), options())
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
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

// grantRoles installs the roles of config/rbac as kustomize names them, and
// binds the one that is bound cluster-wide in the hardened form.
func grantRoles(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	for file, name := range map[string]string{"role.yaml": managerRole, "tenant_secrets_role.yaml": secretsRole} {
		text, err := os.ReadFile(filepath.Clean(repo.Path("config", "rbac", file)))
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

// grantSecrets lets the manager at the secrets of one namespace.
func grantSecrets(ctx context.Context, namespace string) error {
	return server.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secretsRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: secretsRole},
		Subjects:   subjects(),
	})
}

func subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: managerSystem, Name: managerName}}
}

// tenant is a namespace with the objects of one story.
type tenant struct {
	client.Client
	g         *gomega.WithT
	ctx       context.Context
	namespace string
}

// newTenant makes a namespace whose secrets the manager may use.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	t.Parallel()
	tn := &tenant{
		Client: server.Client, g: gomega.NewWithT(t), ctx: t.Context(),
		namespace: server.Namespace(t, "tenant", nil),
	}
	tn.g.Expect(grantSecrets(tn.ctx, tn.namespace)).To(gomega.Succeed())
	return tn
}

func (tn *tenant) create(objects ...client.Object) {
	for _, o := range objects {
		o.SetNamespace(tn.namespace)
		tn.g.Expect(tn.Create(tn.ctx, o)).To(gomega.Succeed())
	}
}

// get reads an object of the namespace.
func (tn *tenant) get(name string, into client.Object) error {
	return tn.Get(tn.ctx, client.ObjectKey{Namespace: tn.namespace, Name: name}, into)
}

// eventually reads the object until the check holds.
func (tn *tenant) eventually(name string, into client.Object, check func(g gomega.Gomega)) {
	tn.g.Eventually(func(g gomega.Gomega) {
		g.Expect(tn.get(name, into)).To(gomega.Succeed())
		check(g)
	}).Should(gomega.Succeed())
}

// status changes the status of an object as whoever owns it would.
func (tn *tenant) status(name string, into client.Object, change func()) {
	tn.g.Expect(tn.get(name, into)).To(gomega.Succeed())
	before, ok := into.DeepCopyObject().(client.Object)
	tn.g.Expect(ok).To(gomega.BeTrue())
	change()
	tn.g.Expect(tn.Status().Patch(tn.ctx, into, client.MergeFrom(before))).To(gomega.Succeed())
}

// patch changes an object.
func (tn *tenant) patch(name string, into client.Object, change func()) {
	tn.g.Expect(tn.get(name, into)).To(gomega.Succeed())
	before, ok := into.DeepCopyObject().(client.Object)
	tn.g.Expect(ok).To(gomega.BeTrue())
	change()
	tn.g.Expect(tn.Patch(tn.ctx, into, client.MergeFrom(before))).To(gomega.Succeed())
}

// secret makes a secret with one key.
func (tn *tenant) secret(name, key, value string) {
	tn.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{key: []byte(value)}})
}
