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

package grant

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func example(change func(*Tenant)) Tenant {
	t := Tenant{
		Namespace:        "blue",
		Account:          types.NamespacedName{Namespace: "accounts", Name: "blue"},
		HostClaimManager: types.NamespacedName{Namespace: "hostclaim-system", Name: "hostclaim-manager"},
		Expiry:           time.Hour,
	}
	if change != nil {
		change(&t)
	}
	return t
}

func TestObjects(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "blue", Name: name, Labels: map[string]string{ManagedByLabel: ManagedBy}}
	}
	rbac := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: kind}
	}
	binding := func(name string, ref rbacv1.RoleRef, account types.NamespacedName) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			TypeMeta: rbac("RoleBinding"), ObjectMeta: meta(name), RoleRef: ref,
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
		}
	}
	edit := []string{"get", "list", "watch", "create", "patch", "delete"}
	base := []client.Object{
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "accounts", Name: "blue", Labels: map[string]string{ManagedByLabel: ManagedBy}},
		},
		&rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: meta("hostclaim-remote-tenant"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"metal3.io"}, Resources: []string{"hostclaims"}, Verbs: edit},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: edit},
			{APIGroups: []string{"metal3.io"}, Resources: []string{"hardwaredata"}, Verbs: []string{"get", "list", "watch"}},
		}},
		binding("hostclaim-remote-tenant", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "hostclaim-remote-tenant"},
			types.NamespacedName{Namespace: "accounts", Name: "blue"}),
		binding("hostclaim-remote-tenant-sources", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "hostclaim-source-secrets"},
			types.NamespacedName{Namespace: "hostclaim-system", Name: "hostclaim-manager"}),
	}
	quota := func(hard corev1.ResourceList) []client.Object {
		return append(base[:len(base):len(base)], &corev1.ResourceQuota{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
			ObjectMeta: meta("hostclaim-remote-tenant"),
			Spec:       corev1.ResourceQuotaSpec{Hard: hard},
		})
	}
	tests := map[string]struct {
		tenant Tenant
		want   []client.Object
	}{
		"a tenant without a limit gets an account, its rights, what the hostclaim manager reads, and a bound on Secrets": {
			tenant: example(nil),
			want:   quota(corev1.ResourceList{"count/secrets": resource.MustParse("1000")}),
		},
		"a number of servers is a quota on claims, and on Secrets five for each and ten more": {
			tenant: example(func(t *Tenant) { t.Servers = 20 }),
			want: quota(corev1.ResourceList{
				"count/hostclaims.metal3.io": resource.MustParse("20"), "count/secrets": resource.MustParse("110"),
			}),
		},
		"the Secrets of Clusters that are beside the claims are not counted by servers": {
			tenant: example(func(t *Tenant) { t.Servers, t.Resident = 20, true }),
			want: quota(corev1.ResourceList{
				"count/hostclaims.metal3.io": resource.MustParse("20"), "count/secrets": resource.MustParse("1000"),
			}),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, test.want, test.tenant.Objects()) })
	}
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		change func(*Tenant)
		want   []string // parts of the error; none for no error
	}{
		"a tenant with an account in another namespace may be let in":   {},
		"ten minutes are long enough":                                   {change: func(t *Tenant) { t.Expiry = 10 * time.Minute }},
		"a name that no namespace can have is named with its flag":      {change: func(t *Tenant) { t.Namespace = "Blue" }, want: []string{"--namespace", `"Blue"`}},
		"an account without a namespace is refused":                     {change: func(t *Tenant) { t.Account.Namespace = "" }, want: []string{"--account-namespace"}},
		"an account in the tenant's own namespace is refused":           {change: func(t *Tenant) { t.Account.Namespace = "blue" }, want: []string{"--account-namespace", "never expires"}},
		"less than no server is refused":                                {change: func(t *Tenant) { t.Servers = -1 }, want: []string{"--servers", "-1"}},
		"a token that is shorter than the API server allows is refused": {change: func(t *Tenant) { t.Expiry = time.Minute }, want: []string{"--expiry", "10m"}},
		"everything that is wrong is said at once":                      {change: func(t *Tenant) { t.Expiry, t.Servers = 0, -1 }, want: []string{"--expiry", "--servers"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkError(t, example(test.change).Check(), test.want...)
		})
	}
}

func TestApart(t *testing.T) {
	binding := func(namespace string, subject rbacv1.Subject) rbacv1.RoleBinding {
		return rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: RoleName}, Subjects: []rbacv1.Subject{subject}}
	}
	account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "accounts", Name: "blue"}
	other, foreign, person := account, account, account
	other.Name, foreign.Namespace, person.Kind = "red", "others", "User"
	tests := map[string]struct {
		found Found
		want  []string // parts of the error; none for no error
	}{
		"an empty cluster is no trouble":                       {},
		"the account that every namespace has is no trouble":   {found: Found{Accounts: []string{"default"}}},
		"accounts of others are all named":                     {found: Found{Accounts: []string{"builder", "default", "red"}}, want: []string{"namespace blue", "builder, red:", "--namespace"}},
		"hosts are named":                                      {found: Found{Hosts: []string{"host-0"}}, want: []string{"namespace blue", "BareMetalHosts host-0", "BMCs", "--namespace"}},
		"policies are named":                                   {found: Found{Policies: []string{"gold"}}, want: []string{"namespace blue", "HostDeployPolicies gold", "--namespace"}},
		"secrets from before are named":                        {found: Found{Secrets: []string{"host-0-bmc", "pull"}}, want: []string{"namespace blue", "Secrets host-0-bmc, pull", "--namespace"}},
		"a tenant beside the account is named":                 {found: Found{Occupied: true}, want: []string{"Role accounts/hostclaim-remote-tenant", "--account-namespace"}},
		"a binding of the last time is no trouble":             {found: Found{Bindings: []rbacv1.RoleBinding{binding("blue", account)}}},
		"bindings of other accounts are no trouble":            {found: Found{Bindings: []rbacv1.RoleBinding{binding("red", other), binding("red", foreign), binding("red", person)}}},
		"a binding of the account in another place is named":   {found: Found{Bindings: []rbacv1.RoleBinding{binding("red", account)}}, want: []string{"accounts/blue", "RoleBinding red/hostclaim-remote-tenant", "--account "}},
		"everything that is found in the way is named at once": {found: Found{Accounts: []string{"red"}, Occupied: true}, want: []string{"--namespace", "--account-namespace"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkError(t, example(nil).Apart(test.found), test.want...)
		})
	}
}

// A tenant whose Clusters are in the namespace has what is there already, and shares no account.
func TestApartResident(t *testing.T) {
	resident := example(func(t *Tenant) { t.Resident = true })
	checkError(t, resident.Apart(Found{
		Accounts: []string{"tenant"}, Hosts: []string{"host-0"}, Policies: []string{"gold"}, Secrets: []string{"host-0-bmc"},
	}))
	checkError(t, resident.Apart(Found{Occupied: true}), "--account-namespace")
}

func TestHomeCheck(t *testing.T) {
	checkError(t, Home{Namespace: "blue", Secret: "hosts"}.Check())
	checkError(t, Home{Namespace: "blue", Secret: "Hosts"}.Check(), "--secret", `"Hosts"`)
	checkError(t, Home{Namespace: "", Secret: "hosts"}.Check(), "--management-namespace")
}

func TestAccessCheck(t *testing.T) {
	checkError(t, Access{Server: "https://hosts.example:6443"}.Check())
	checkError(t, Access{Server: "https://hosts.example/k8s/clusters/c-1"}.Check())
	checkError(t, Access{Server: "http://hosts.example"}.Check(), "http://hosts.example", "--server")
	checkError(t, Access{Server: "hosts.example:6443"}.Check(), "--server")
	checkError(t, Access{}.Check(), "--server")
}

func TestHint(t *testing.T) {
	tests := map[string]struct {
		server string
		hint   bool
	}{
		"a name of the network is fine":                 {server: "https://hosts.example:6443"},
		"an address of the network is fine":             {server: "https://192.0.2.1:6443"},
		"a loopback address is good on one machine":     {server: "https://127.0.0.1:6443", hint: true},
		"the loopback address of IPv6 is none better":   {server: "https://[::1]:6443", hint: true},
		"localhost is this machine wherever it is used": {server: "https://localhost:6443", hint: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if hint := (Access{Server: test.server}).Hint(); (hint != "") != test.hint {
				t.Errorf("hint %q", hint)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	access := Access{Server: "https://hosts.example:6443", ServerName: "kubernetes", CA: []byte("-----BEGIN CERTIFICATE-----")}
	token := Token{Value: "t0ken", Expires: time.Date(2026, 11, 21, 13, 0, 0, 0, time.FixedZone("", 3600))}
	secret, err := example(nil).Secret(Home{Namespace: "clusters", Secret: "hosts"}, access, token)
	expect.NoError(t, err)
	content := secret.Data["kubeconfig"]
	if _, err := kubeconfig.Parse(content); err != nil {
		t.Errorf("the provider manager would refuse it: %v", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	expect.NoError(t, err)
	got := map[string]string{
		"server": config.Host, "name": config.ServerName, "CA": string(config.CAData), "token": config.BearerToken,
	}
	if diff := cmp.Diff(map[string]string{
		"server": access.Server, "name": access.ServerName, "CA": string(access.CA), "token": token.Value,
	}, got); diff != "" {
		t.Errorf("what the kubeconfig says (-want +got):\n%s", diff)
	}
	parsed, err := clientcmd.Load(content)
	expect.That(t, err == nil && parsed.Contexts[parsed.CurrentContext].Namespace == "blue", "the context does not lead into namespace blue: %v", err)
	secret.Data = nil
	if diff := cmp.Diff(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "clusters", Name: "hosts",
			Labels:      map[string]string{ManagedByLabel: ManagedBy, "clusterctl.cluster.x-k8s.io/move": ""},
			Annotations: map[string]string{"hostclaim.metal3.io/token-expires": "2026-11-21T12:00:00Z"},
		},
		Type: corev1.SecretTypeOpaque,
	}, secret); diff != "" {
		t.Errorf("Secret without its content (-want +got):\n%s", diff)
	}
}

func TestForeign(t *testing.T) {
	own := &metav1.PartialObjectMetadata{ObjectMeta: ours("blue", "hosts")}
	checkError(t, Foreign("Secret", own))
	checkError(t, Foreign("Secret", &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "hosts"}}),
		"Secret blue/hosts", "delete it", ManagedByLabel+"="+ManagedBy)
}

// checkError compares an error with the parts that it must have; none means no error.
func checkError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if len(parts) == 0 {
		expect.NoError(t, err)
		return
	}
	expect.Must(t, err != nil, "no error; want one with %q", parts)
	for _, part := range parts {
		expect.That(t, strings.Contains(err.Error(), part), "error %q does not say %q", err, part)
	}
	expect.That(t, !strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte("t0ken"))), "the error holds the token")
}
