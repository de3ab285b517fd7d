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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// ownPolicy is the flag that the hardened form of the hostclaim manager sets.
const ownPolicy = "--require-policy-in-own-namespace="

// The default form names the manager in the binding to the secrets of every namespace, where the
// hardened one names a group that may do everything; it asks for no policy in a claim's own
// namespace, and bounds no connections that the manager opens. Nothing else differs.
func TestDefaultForm(t *testing.T) {
	tests := map[string]struct {
		hardened, plain, binding, pods string
		who                            subject
	}{
		"of the provider manager":  {hardened: "hardened", plain: "default", binding: "capm3-tenant-secrets", pods: "capm3-controller-manager", who: provider},
		"of the hostclaim manager": {hardened: "hostclaim/hardened", plain: "hostclaim/default", binding: "hostclaim-host-secrets", pods: "hostclaim-controller-manager", who: hostOwner},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hardened, plain := byName(t, test.hardened), byName(t, test.plain)
			binding := key("ClusterRoleBinding", test.binding)
			checkSecretsEverywhere(t, test.who, hardened[binding].DeepCopy(), plain[binding].DeepCopy())
			unstructured.RemoveNestedField(hardened[binding].Object, "subjects")
			unstructured.RemoveNestedField(plain[binding].Object, "subjects")
			clearEgress(t, hardened[key("NetworkPolicy", test.pods)])
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

// clearEgress takes what bounds the connections of the Pods out of a policy.
func clearEgress(t *testing.T, policy *unstructured.Unstructured) {
	t.Helper()
	types, _, err := unstructured.NestedStringSlice(policy.Object, "spec", "policyTypes")
	expect.Must(t, err == nil && slices.Equal(types, []string{"Ingress", "Egress"}), "the policy is about %v, %v", types, err)
	unstructured.RemoveNestedField(policy.Object, "spec", "egress")
	expect.NoError(t, unstructured.SetNestedStringSlice(policy.Object, types[:1], "spec", "policyTypes"))
}

// clearOwnPolicy takes the value of the flag out of a Deployment, and checks what it was.
func clearOwnPolicy(t *testing.T, deployment *unstructured.Unstructured, value string) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	expect.Must(t, err == nil && len(containers) != 0, "containers %v, %v", containers, err)
	container, _ := containers[0].(map[string]any)
	args, _ := container["args"].([]any)
	expect.Must(t, len(args) != 0 && args[0] == ownPolicy+value, "the arguments are %v, want %s%s first", args, ownPolicy, value)
	args[0] = ownPolicy
	expect.NoError(t, unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers"))
}

// checkSecretsEverywhere gives the binding the form of the default install, checks what that
// changes, and gives it back that of the hardened one.
func checkSecretsEverywhere(t *testing.T, who subject, hardened, plain *unstructured.Unstructured) {
	t.Helper()
	anySecret := authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}
	expect.NoError(t, manifests.Apply(t.Context(), server.Client, []*unstructured.Unstructured{plain}))
	waitForRight(t, who, anySecret, true)
	checkRights(t, who,
		[]rights{{owned, on("", "secrets"), in(tenantA, tenantB, infra, everywhere)}},
		append(slices.Clone(ownPower), rights{all, on("", "configmaps", "nodes", "pods"), in(tenantB, unrelated, everywhere)}))
	expect.NoError(t, manifests.Apply(t.Context(), server.Client, []*unstructured.Unstructured{hardened}))
	waitForRight(t, who, anySecret, false)
}

// No role holds a whole group or all verbs: what a later version of a third
// party's API adds is not ours by accident.
func TestNoWildcards(t *testing.T) {
	for _, dir := range []string{"default", "hostclaim/default"} {
		objects, err := render(dir)
		expect.NoError(t, err)
		for _, object := range objects {
			if object.GetKind() != "ClusterRole" && object.GetKind() != "Role" {
				continue
			}
			var role rbacv1.ClusterRole
			expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
			for _, rule := range role.Rules {
				expect.That(t, !slices.Contains(rule.Resources, "*") && !slices.Contains(rule.Verbs, "*") && !slices.Contains(rule.APIGroups, "*"),
					"%s %s has a rule without bounds: %v", object.GetKind(), role.Name, rule)
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
				expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding))
				if _, found := known[key(binding.RoleRef.Kind, binding.RoleRef.Name)]; !found {
					t.Errorf("%s refers to %s %s, which is not there", name, binding.RoleRef.Kind, binding.RoleRef.Name)
				}
				for _, who := range binding.Subjects {
					if who.Kind == rbacv1.GroupKind && who.Name == "system:masters" {
						continue // may do everything anyway
					}
					made, found := known[key(who.Kind, who.Name)]
					expect.That(t, found && made.GetNamespace() == who.Namespace,
						"%s refers to %s %s/%s, which is not there", name, who.Kind, who.Namespace, who.Name)
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
	expect.NoError(t, err)
	named := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		named[key(object.GetKind(), object.GetName())] = object
	}
	return named
}

// A site that goes from one form of the install to the other has exactly the rights of the
// form that it went to, though clusterctl delete keeps what belongs to no namespace, and kubectl
// apply takes nothing away.
func TestAttackRightsOfTheFormerForm(t *testing.T) {
	c := newClusterctl(t)
	t.Cleanup(func() {
		c.run(t, "hardened", "delete", "--infrastructure", "metal3")
		if err := install(context.Background()); err != nil {
			t.Error(err)
		}
	})
	provided := map[string]func(t *testing.T, form string){
		"of the provider manager, by clusterctl": func(t *testing.T, form string) {
			t.Helper()
			c.run(t, form, "delete", "--infrastructure", "metal3")
			c.run(t, form, "init", "--infrastructure", "metal3")
		},
		"of the hostclaim manager, by kubectl": func(t *testing.T, form string) {
			t.Helper()
			objects, err := aboutRights("hostclaim/" + form)
			expect.NoError(t, err)
			expect.NoError(t, manifests.Apply(t.Context(), server.Client, objects))
		},
	}
	who := map[string]subject{"of the provider manager, by clusterctl": provider, "of the hostclaim manager, by kubectl": hostOwner}
	c.run(t, "hardened", "init", "--infrastructure", "metal3")
	for name, change := range provided {
		t.Run(name, func(t *testing.T) {
			hardened := effective(t, who[name])
			for range 2 {
				change(t, "default")
				waitForRight(t, who[name], authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}, true)
				change(t, "hardened")
				gomega.NewWithT(t).Eventually(func() string {
					return cmp.Diff(hardened, effective(t, who[name]))
				}, 10*time.Second, 20*time.Millisecond).Should(gomega.BeEmpty(), "rules by namespace (-hardened at once +by way of default)")
			}
		})
	}
}

// effective lists what a subject may do, by namespace.
func effective(t *testing.T, who subject) map[string][]string {
	t.Helper()
	as, err := client.New(who.config(), client.Options{Scheme: server.Scheme})
	expect.NoError(t, err)
	found := map[string][]string{}
	for _, namespace := range in(tenantA, tenantB, infra, capm3, hostclaim, unrelated) {
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
		expect.NoError(t, as.Create(t.Context(), review))
		for _, rule := range review.Status.ResourceRules {
			found[namespace] = append(found[namespace], fmt.Sprint(rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames))
		}
		slices.Sort(found[namespace])
	}
	return found
}

// clusterctl is the real program with a release of both forms, and a core provider of nothing but
// its namespace.
type clusterctl struct {
	program, dir string
}

func newClusterctl(t *testing.T) clusterctl {
	t.Helper()
	repo, program := harness.Clusterctl(t)
	c := clusterctl{program: program, dir: t.TempDir()}
	metadata, err := os.ReadFile(repo.Path("metadata.yaml"))
	expect.NoError(t, err)
	core := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "capi-system"}}}
	for _, form := range []string{"default", "hardened"} {
		objects, err := manifests.Render(repo.Path("config", form), nil)
		expect.NoError(t, err)
		ours := filepath.Join(c.dir, form, "infrastructure-metal3", "v1.14.7", "infrastructure-components.yaml")
		theirs := filepath.Join(c.dir, form, "cluster-api", "v1.14.0", "core-components.yaml")
		for path, objects := range map[string][]*unstructured.Unstructured{ours: objects, theirs: {core}} {
			writeFile(t, path, toYAML(t, objects))
			writeFile(t, filepath.Join(filepath.Dir(path), "metadata.yaml"), metadata)
		}
		writeFile(t, c.config(form), fmt.Appendf(nil,
			"providers:\n- {name: metal3, type: InfrastructureProvider, url: 'file://%s'}\n- {name: cluster-api, type: CoreProvider, url: 'file://%s'}\n", ours, theirs))
	}
	writeFile(t, c.kubeconfig(), server.Kubeconfig())
	harness.InstallCertificateKinds(t, server.Client)
	return c
}

func (c clusterctl) config(form string) string { return filepath.Join(c.dir, form+".yaml") }
func (c clusterctl) kubeconfig() string        { return filepath.Join(c.dir, "kubeconfig") }

// run calls the program with the release of that form. init installs the core provider once.
func (c clusterctl) run(t *testing.T, form string, args ...string) {
	t.Helper()
	if args[0] == "init" {
		args = append(args, "--bootstrap", "-", "--control-plane", "-")
		endNamespace(t, "cert-manager-test")
	}
	cmd := exec.Command(c.program, append(args, "--config", c.config(form), "--kubeconfig", c.kubeconfig())...)
	cmd.Env = []string{"HOME=" + c.dir, "XDG_CONFIG_HOME=" + c.dir, "CLUSTERCTL_DISABLE_VERSIONCHECK=true"}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("clusterctl %v: %v\n%s", args, err, said)
	}
}

// endNamespace does what the controller of namespaces would: clusterctl makes that one anew each
// time to try cert-manager.
func endNamespace(t *testing.T, name string) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(server.Config)
	expect.NoError(t, err)
	namespace := &corev1.Namespace{}
	if err = server.Client.Get(t.Context(), client.ObjectKey{Name: name}, namespace); err == nil {
		namespace.Spec.Finalizers = nil
		_, err = clients.CoreV1().Namespaces().Finalize(t.Context(), namespace, metav1.UpdateOptions{})
	}
	expect.NoError(t, client.IgnoreNotFound(err))
}

func toYAML(t *testing.T, objects []*unstructured.Unstructured) []byte {
	t.Helper()
	var text []byte
	for _, object := range objects {
		one, err := yaml.Marshal(object.Object)
		expect.NoError(t, err)
		text = append(append(text, "---\n"...), one...)
	}
	return text
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	expect.NoError(t, os.WriteFile(path, text, 0o600))
}
