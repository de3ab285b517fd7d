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

package rbac_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

var server harness.Server

// The namespaces of the tests: those of config/samples, those of the managers, a
// tenant without any binding, and one that has nothing to do with the managers.
const (
	tenantA   = "tenant-a"
	tenantB   = "tenant-b"
	infra     = "infra"
	capm3     = "capm3-system"
	hostclaim = "hostclaim-system"
	unrelated = "kube-system"
	// everywhere asks for a right on the whole cluster.
	everywhere = ""
)

// subject is a user or an account that sends requests.
type subject struct {
	user   string
	groups []string
}

func (s subject) config() *rest.Config {
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: s.user, Groups: s.groups}
	return config
}

func account(namespace, name string) subject {
	return subject{
		user: "system:serviceaccount:" + namespace + ":" + name,
		groups: []string{
			"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated",
		},
	}
}

func member(user, group string) subject {
	return subject{user: user, groups: []string{group, "system:authenticated"}}
}

var (
	provider  = account(capm3, "capm3-manager")
	hostOwner = account(hostclaim, "hostclaim-manager")
	tenant    = member("alice", tenantA)
	admin     = member("ingrid", "infra-admins")
	auditor   = member("ada", "auditors")
	stranger  = account(unrelated, "default")
)

func TestMain(m *testing.M) {
	server.AdmissionPlugins = []string{"OwnerReferencesPermissionEnforcement"}
	os.Exit(server.Run(installed{m}))
}

// installed runs the tests after both managers have been installed in the
// hardened form, with the bindings of config/samples.
type installed struct{ tests *testing.M }

func (i installed) Run() int {
	if err := errors.Join(install(context.Background()), addPeople(context.Background())); err != nil {
		fmt.Fprintf(os.Stderr, "install the roles: %v\n", err)
		return 1
	}
	return i.tests.Run()
}

func install(ctx context.Context) error {
	var all []*unstructured.Unstructured
	for _, dir := range []string{"hardened", "hostclaim/hardened", "samples"} {
		objects, err := render(dir)
		if err != nil {
			return err
		}
		all = manifests.Merge(all, objects)
	}
	if err := manifests.Apply(ctx, server.Client, all); err != nil {
		return err
	}
	return aggregate(ctx)
}

// addPeople adds a tenant without bindings, and an auditor.
func addPeople(ctx context.Context) error {
	if err := server.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenantB}}); err != nil {
		return err
	}
	return server.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "auditors"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "hostclaim-auditor-role"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "auditors"}},
	})
}

// render returns what a folder of config/ says about rights: namespaces,
// accounts, roles, bindings, and the policies that the API server applies by
// itself.
func render(dir string) ([]*unstructured.Unstructured, error) {
	repo, err := components.FindRepo(".")
	if err != nil {
		return nil, err
	}
	objects, err := manifests.Render(repo.Path("config", path.Clean(dir)), nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		if object.GroupVersionKind().Group == rbacv1.GroupName {
			return false
		}
		return !slices.Contains([]string{
			"Namespace", "ServiceAccount", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		}, object.GetKind())
	}), nil
}
