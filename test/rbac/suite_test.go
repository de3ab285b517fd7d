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
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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
		objects, err := aboutRights(dir)
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
		RoleRef:    clusterRole("hostclaim-auditor-role"), Subjects: group("auditors"),
	})
}

func clusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func group(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}}
}

// create makes an object for one test.
func create(t *testing.T, object client.Object) {
	t.Helper()
	expect.NoError(t, server.Client.Create(t.Context(), object))
	t.Cleanup(func() { expect.NoError(t, server.Client.Delete(context.Background(), object)) })
}

// render returns the objects of a folder of config/.
func render(dir string) ([]*unstructured.Unstructured, error) {
	repo, err := components.FindRepo(".")
	if err != nil {
		return nil, err
	}
	return manifests.Render(repo.Path("config", path.Clean(dir)), nil)
}

// aboutRights returns what a folder of config/ has about rights: namespaces, accounts, roles, bindings,
// and the policies that the API server applies by itself.
func aboutRights(dir string) ([]*unstructured.Unstructured, error) {
	objects, err := render(dir)
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		if object.GroupVersionKind().Group == rbacv1.GroupName {
			return false
		}
		return !slices.Contains([]string{
			"Namespace", "ServiceAccount", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		}, object.GetKind())
	}), err
}

// Verbs of the tables.
var (
	read    = []string{"get", "list", "watch"}
	write   = []string{"create", "update", "patch", "delete", "deletecollection"}
	all     = append(append([]string{}, read...), write...)
	patched = []string{"get", "list", "watch", "patch"}
	owned   = []string{"get", "list", "watch", "create", "patch", "delete"}
	edited  = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	status  = []string{"patch"}
)

// rights is one line of a table: each of the verbs, on each of the resources, in
// each of the namespaces.
type rights struct {
	verbs      []string
	resources  []string
	namespaces []string
}

// on names resources of a group; "machines/status" is a subresource.
func on(group string, resources ...string) []string {
	names := make([]string, 0, len(resources))
	for _, resource := range resources {
		names = append(names, resource+"."+group)
	}
	return names
}

func in(namespaces ...string) []string { return namespaces }

// each calls f for every single question of the line.
func (r rights) each(f func(question authorizationv1.ResourceAttributes)) {
	for _, resource := range r.resources {
		name, group, _ := strings.Cut(resource, ".")
		name, subresource, _ := strings.Cut(name, "/")
		for _, verb := range r.verbs {
			for _, namespace := range r.namespaces {
				f(authorizationv1.ResourceAttributes{
					Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: subresource,
				})
			}
		}
	}
}

// asks puts a question about a subject to the API server.
func asks(t *testing.T, who subject, question authorizationv1.ResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.user, Groups: who.groups, ResourceAttributes: &question,
	}}
	expect.NoError(t, server.Client.Create(t.Context(), review))
	return review.Status
}

// checkRights compares the answers with the lines of a table.
func checkRights(t *testing.T, who subject, allowed, denied []rights) {
	t.Helper()
	check := func(want bool) func(authorizationv1.ResourceAttributes) {
		return func(question authorizationv1.ResourceAttributes) {
			if got := asks(t, who, question); got.Allowed != want {
				t.Errorf("%s: %s: allowed %t, want %t; %s", who.user, sentence(question), got.Allowed, want, got.Reason)
			}
		}
	}
	for _, line := range allowed {
		line.each(check(true))
	}
	for _, line := range denied {
		line.each(check(false))
	}
}

func sentence(q authorizationv1.ResourceAttributes) string {
	resource := q.Resource
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	where := "the whole cluster"
	if q.Namespace != everywhere {
		where = "namespace " + q.Namespace
	}
	return fmt.Sprintf("%s %s of group %q in %s", q.Verb, resource, q.Group, where)
}

// waitForRight waits until the API server has heard of a binding, or of its end.
func waitForRight(t *testing.T, who subject, question authorizationv1.ResourceAttributes, allowed bool) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() bool {
		return asks(t, who, question).Allowed
	}, 10*time.Second, 20*time.Millisecond).Should(gomega.Equal(allowed), "%s: %s", who.user, sentence(question))
}
