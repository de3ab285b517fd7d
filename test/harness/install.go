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

package harness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// Webhooks are where a manager that runs beside the API server serves its webhooks, and with which
// certificate.
type Webhooks struct {
	// Port is free, and CertDir holds tls.crt and tls.key.
	Port    int
	CertDir string

	endpoint manifests.Endpoint
}

// Clusterctl builds clusterctl of the version that fits, and returns the repository and the path of the
// program.
func Clusterctl(t *testing.T) (repo components.Repo, program string) {
	t.Helper()
	repo, err := components.FindRepo(".")
	expect.NoError(t, err)
	expect.NoError(t, repo.Build(t.Context(), console.New(t.Output()), components.Clusterctl))
	found, err := components.Lookup(components.Clusterctl)
	expect.NoError(t, err)
	if program, err = repo.Binary(found[0]); err != nil {
		t.Fatal(err)
	}
	return repo, program
}

// NewWebhooks makes a certificate and finds a port.
func NewWebhooks() (Webhooks, error) {
	options := envtest.WebhookInstallOptions{}
	if err := options.PrepWithoutInstalling(); err != nil {
		return Webhooks{}, fmt.Errorf("certificate for the webhooks: %w", err)
	}
	return Webhooks{
		Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
		endpoint: manifests.Endpoint{
			URL: fmt.Sprintf("https://%s:%d", options.LocalServingHost, options.LocalServingPort),
			CA:  options.LocalServingCAData,
		},
	}, nil
}

// Serve has the webhooks that the objects name called at w.
func (w Webhooks) Serve(objects []*unstructured.Unstructured) error {
	return manifests.UseURLs(objects, w.endpoint)
}

// InstallConfig renders a folder of config/ and installs its accounts, roles and
// rules of admission, with the webhooks at w.
func (s *Server) InstallConfig(ctx context.Context, folder string, w Webhooks) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	objects, err := manifests.Render(repo.Path("config", folder), nil)
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, irrelevant)
	if err := w.Serve(objects); err != nil {
		return err
	}
	return manifests.Apply(ctx, s.Client, objects)
}

// InstallManager installs the account, the roles and the webhooks, which it is to
// serve at w, of a manager of another project, without its CRDs. It returns the
// name of the manager's user.
func (s *Server) InstallManager(ctx context.Context, component string, w Webhooks) (user string, err error) {
	rows, err := manager.Parse(component)
	if err != nil {
		return "", err
	}
	found, err := components.Lookup(component)
	if err != nil {
		return "", err
	}
	repo, err := components.FindRepo(".")
	if err != nil {
		return "", err
	}
	source, err := repo.Source(ctx, found[0])
	if err != nil {
		return "", err
	}
	objects, err := manifests.Render(filepath.Join(source, rows[0].Kustomization), rows[0].Variables)
	if err != nil {
		return "", err
	}
	workload, objects, err := manifests.Split(objects)
	if err != nil {
		return "", err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })
	if err := w.Serve(objects); err != nil {
		return "", err
	}
	account := Account{Namespace: workload.Namespace, Name: workload.ServiceAccount}
	return account.User(), manifests.Apply(ctx, s.Client, objects)
}

// irrelevant reports whether an object of config/ has no effect on an API server without
// Pods, because it is neither about access nor about admission.
func irrelevant(object *unstructured.Unstructured) bool {
	return !slices.Contains([]string{
		"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	}, object.GetKind())
}

// Account is the service account of a manager, with the roles of config/ under
// the names that kustomize gives them, in the hardened form: one is bound for
// the whole cluster, those on secrets and leases namespace by namespace.
type Account struct {
	// Namespace and Name are those of the service account.
	Namespace, Name string
	// ManagerRole is the ClusterRole that is bound for the whole cluster.
	ManagerRole string

	folder string            // of the roles, below config
	roles  map[string]string // names of the ClusterRoles by file
}

// ProviderAccount is the account of the provider manager.
func ProviderAccount() Account {
	return Account{
		Namespace: "capm3-system", Name: "capm3-manager", ManagerRole: "capm3-manager-role", folder: "rbac",
		roles: map[string]string{ //nolint:gosec // Names of roles are no credentials.
			"role.yaml":                 "capm3-manager-role",
			"tenant_secrets_role.yaml":  "capm3-tenant-secrets",
			"leader_election_role.yaml": "capm3-leader-election-role",
		},
	}
}

// HostClaimAccount is the account of the hostclaim manager.
func HostClaimAccount() Account {
	return Account{
		Namespace: "hostclaim-system", Name: "hostclaim-manager", ManagerRole: "hostclaim-manager-role", folder: "hostclaim/rbac",
		roles: map[string]string{ //nolint:gosec // Names of roles are no credentials.
			"role.yaml":                 "hostclaim-manager-role",
			"source_secrets_role.yaml":  "hostclaim-source-secrets",
			"host_secrets_role.yaml":    "hostclaim-host-secrets",
			"leader_election_role.yaml": "hostclaim-leader-election-role",
		},
	}
}

// KubeVirtAccount is the account of the kubevirt manager.
func KubeVirtAccount() Account {
	return Account{
		Namespace: "hostclaim-kubevirt-system", Name: "hostclaim-kubevirt-manager", ManagerRole: "hostclaim-kubevirt-manager-role",
		folder: "kubevirt/rbac",
		roles: map[string]string{ //nolint:gosec // Names of roles are no credentials.
			"role.yaml":                 "hostclaim-kubevirt-manager-role",
			"secrets_role.yaml":         "hostclaim-kubevirt-secrets",
			"leader_election_role.yaml": "hostclaim-kubevirt-leader-election-role",
		},
	}
}

// User is the name under which the API server knows the account.
func (a Account) User() string {
	return "system:serviceaccount:" + a.Namespace + ":" + a.Name
}

func (a Account) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace, Name: a.Name}}
}

// As returns a configuration with the rights of the account.
func (s *Server) As(a Account) *rest.Config {
	config := rest.CopyConfig(s.Config)
	config.Impersonate.UserName = a.User()
	return config
}

// InstallRoles creates the roles of the account and binds its ManagerRole.
func (s *Server) InstallRoles(ctx context.Context, a Account) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(a.roles)) {
		text, err := os.ReadFile(repo.Path("config", a.folder, file))
		if err != nil {
			return err
		}
		// The rules of a Role read the same.
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(text, role); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		role.ObjectMeta = metav1.ObjectMeta{Name: a.roles[file]}
		if err := s.Client.Create(ctx, role); err != nil {
			return err
		}
	}
	return s.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: a.ManagerRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: a.ManagerRole},
		Subjects:   a.subjects(),
	})
}

// Bind gives the account a ClusterRole in one namespace, by a RoleBinding of that
// name.
func (s *Server) Bind(ctx context.Context, a Account, namespace, role string) error {
	return s.Client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   a.subjects(),
	})
}

// InstallCertificateKinds has clusterctl believe that cert-manager is installed.
func InstallCertificateKinds(t *testing.T, c client.Client) {
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
		expect.NoError(t, c.Create(t.Context(), crd))
	}
}
