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
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

// ownPolicy is the flag that the hardened form of the hostclaim manager sets.
const ownPolicy = "--require-policy-in-own-namespace="

// The default form names the manager in the binding to the secrets of every namespace, where the
// hardened one names a group that may do everything, and asks for no policy in a claim's own
// namespace; nothing else differs.
func TestDefaultForm(t *testing.T) {
	tests := map[string]struct {
		hardened, plain, binding string
		who                      subject
	}{
		"of the provider manager":  {hardened: "hardened", plain: "default", binding: "capm3-tenant-secrets", who: provider},
		"of the hostclaim manager": {hardened: "hostclaim/hardened", plain: "hostclaim/default", binding: "hostclaim-host-secrets", who: hostOwner},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hardened, plain := byName(t, test.hardened), byName(t, test.plain)
			binding := key("ClusterRoleBinding", test.binding)
			checkSecretsEverywhere(t, test.who, hardened[binding].DeepCopy(), plain[binding].DeepCopy())
			unstructured.RemoveNestedField(hardened[binding].Object, "subjects")
			unstructured.RemoveNestedField(plain[binding].Object, "subjects")
			for name, object := range plain {
				same, found := hardened[name]
				if !found {
					t.Errorf("the hardened form lacks %s", name)
					continue
				}
				if name == "Deployment hostclaim-controller-manager" {
					clearOwnPolicy(t, same, "true")
					clearOwnPolicy(t, object, "false")
				}
				if diff := cmp.Diff(same.Object, object.Object); diff != "" {
					t.Errorf("%s (-hardened +default):\n%s", name, diff)
				}
				delete(hardened, name)
			}
			for name := range hardened {
				t.Errorf("the default form lacks %s", name)
			}
		})
	}
}

// clearOwnPolicy takes the value of the flag out of a Deployment, and checks what it was.
func clearOwnPolicy(t *testing.T, deployment *unstructured.Unstructured, value string) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		t.Fatalf("containers %v, %v", containers, err)
	}
	container, _ := containers[0].(map[string]any)
	args, _ := container["args"].([]any)
	if len(args) == 0 || args[0] != ownPolicy+value {
		t.Fatalf("the arguments are %v, want %s%s first", args, ownPolicy, value)
	}
	args[0] = ownPolicy
	if err := unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
}

// checkSecretsEverywhere gives the binding the form of the default install, checks what that
// changes, and gives it back that of the hardened one.
func checkSecretsEverywhere(t *testing.T, who subject, hardened, plain *unstructured.Unstructured) {
	t.Helper()
	anySecret := authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}
	if err := manifests.Apply(t.Context(), server.Client, []*unstructured.Unstructured{plain}); err != nil {
		t.Fatal(err)
	}
	waitForRight(t, who, anySecret, true)
	checkRights(t, who,
		[]rights{{owned, on("", "secrets"), in(tenantA, tenantB, infra, everywhere)}},
		append(slices.Clone(ownPower), rights{all, on("", "configmaps", "nodes", "pods"), in(tenantB, unrelated, everywhere)}))
	if err := manifests.Apply(t.Context(), server.Client, []*unstructured.Unstructured{hardened}); err != nil {
		t.Fatal(err)
	}
	waitForRight(t, who, anySecret, false)
}

// No role holds a whole group or all verbs: what a later version of a third
// party's API adds is not ours by accident.
func TestNoWildcards(t *testing.T) {
	for _, dir := range []string{"default", "hostclaim/default"} {
		objects, err := render(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if object.GetKind() != "ClusterRole" && object.GetKind() != "Role" {
				continue
			}
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				if slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*") {
					t.Errorf("%s %s has a rule without bounds: %v", object.GetKind(), role.Name, rule)
				}
			}
		}
	}
}

// Every binding of the managers names an account that the same manifests make,
// and a role that they make.
func TestBindingsHangTogether(t *testing.T) {
	for _, dir := range []string{"hardened", "default", "hostclaim/hardened", "hostclaim/default"} {
		t.Run(dir, func(t *testing.T) {
			known := byName(t, dir)
			for name, object := range known {
				if object.GetKind() != "ClusterRoleBinding" && object.GetKind() != "RoleBinding" {
					continue
				}
				var binding rbacv1.ClusterRoleBinding
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding); err != nil {
					t.Fatal(err)
				}
				if _, found := known[key(binding.RoleRef.Kind, binding.RoleRef.Name)]; !found {
					t.Errorf("%s refers to %s %s, which is not there", name, binding.RoleRef.Kind, binding.RoleRef.Name)
				}
				for _, who := range binding.Subjects {
					if who.Kind == rbacv1.GroupKind && who.Name == "system:masters" {
						continue // may do everything anyway
					}
					made, found := known[key(who.Kind, who.Name)]
					if !found || made.GetNamespace() != who.Namespace {
						t.Errorf("%s refers to %s %s/%s, which is not there", name, who.Kind, who.Namespace, who.Name)
					}
				}
			}
		})
	}
}

func key(kind, name string) string { return kind + " " + name }

// byName renders a folder of config/ and sorts the objects by kind and name.
func byName(t *testing.T, dir string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := render(dir)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		named[key(object.GetKind(), object.GetName())] = object
	}
	return named
}
