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
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// The roles of config/hostclaim/rbac under the names that kustomize gives them.
const (
	managerRole       = "hostclaim-manager-role"
	sourceSecretsRole = "hostclaim-source-secrets"
	hostSecretsRole   = "hostclaim-host-secrets"

	managerName   = "hostclaim-manager"
	managerSystem = "hostclaim-system"
	managerUser   = "system:serviceaccount:" + managerSystem + ":" + managerName

	// patience is how long a story waits; each step takes milliseconds.
	patience = 20 * time.Second
	// stillness is how long something is watched that must not happen.
	stillness = 500 * time.Millisecond
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(stillness)
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(withRoles{m}))
}

// withRoles installs the roles of the manager before the tests run.
type withRoles struct{ tests *testing.M }

func (w withRoles) Run() int {
	if err := installRoles(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "install the roles: %v\n", err)
		return 1
	}
	return w.tests.Run()
}

func installRoles(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	for file, name := range map[string]string{
		"role.yaml": managerRole, "source_secrets_role.yaml": sourceSecretsRole, "host_secrets_role.yaml": hostSecretsRole,
	} {
		text, err := os.ReadFile(filepath.Clean(repo.Path("config", "hostclaim", "rbac", file)))
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
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: managerSystem, Name: managerName}},
	})
}

// grantSecrets binds one of the two roles on secrets in one namespace.
func grantSecrets(ctx context.Context, namespace, role string) error {
	return server.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: managerSystem, Name: managerName}},
	})
}
