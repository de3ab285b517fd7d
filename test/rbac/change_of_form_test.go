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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

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
			objects, err := render("hostclaim/" + form)
			if err != nil {
				t.Fatal(err)
			}
			if err := manifests.Apply(t.Context(), server.Client, objects); err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, namespace := range in(tenantA, tenantB, infra, capm3, hostclaim, unrelated) {
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
		if err := as.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	core := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "capi-system"}}}
	for _, form := range []string{"default", "hardened"} {
		objects, err := manifests.Render(repo.Path("config", form), nil)
		if err != nil {
			t.Fatal(err)
		}
		ours := filepath.Join(c.dir, form, "infrastructure-metal3", "v1.14.7", "infrastructure-components.yaml")
		theirs := filepath.Join(c.dir, form, "cluster-api", "v1.14.0", "core-components.yaml")
		for path, objects := range map[string][]*unstructured.Unstructured{ours: objects, theirs: {core}} {
			writeFile(t, path, toYAML(t, objects))
			writeFile(t, filepath.Join(filepath.Dir(path), "metadata.yaml"), metadata)
		}
		writeFile(t, c.config(form), fmt.Appendf(nil,
			"providers:\n- {name: metal3, type: InfrastructureProvider, url: 'file://%s'}\n- {name: cluster-api, type: CoreProvider, url: 'file://%s'}\n", ours, theirs))
	}
	writeFile(t, c.kubeconfig(), adminKubeconfig(t))
	installCertificateKinds(t)
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
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{}
	if err = server.Client.Get(t.Context(), client.ObjectKey{Name: name}, namespace); err == nil {
		namespace.Spec.Finalizers = nil
		_, err = clients.CoreV1().Namespaces().Finalize(t.Context(), namespace, metav1.UpdateOptions{})
	}
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

func toYAML(t *testing.T, objects []*unstructured.Unstructured) []byte {
	t.Helper()
	var text []byte
	for _, object := range objects {
		one, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, "---\n"...), one...)
	}
	return text
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func adminKubeconfig(t *testing.T) []byte {
	t.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: "admin",
		Contexts:       map[string]*clientcmdapi.Context{"admin": {Cluster: "admin", AuthInfo: "admin"}},
		Clusters:       map[string]*clientcmdapi.Cluster{"admin": {Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin": {ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// installCertificateKinds has clusterctl believe that cert-manager is installed.
func installCertificateKinds(t *testing.T) {
	t.Helper()
	for plural, kind := range map[string]string{"issuers": "Issuer", "certificates": "Certificate"} {
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".cert-manager.io"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "cert-manager.io", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: "v1", Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: ptr.To(true),
					}},
				}},
			},
		}
		if err := server.Client.Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
	}
}
