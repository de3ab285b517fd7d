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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// This file plays the team that holds the hosts in another cluster.

// kubeconfigSecret is what identityRef names.
const kubeconfigSecret = "hosts"

// site is a namespace of the other cluster that a tenant may put claims in.
type site struct {
	*tenant

	of      *harness.Server
	account *corev1.ServiceAccount
}

// newSite makes the namespace, with an account that may do there what a tenant must.
func newSite(t *testing.T) *site {
	t.Helper()
	return (&site{of: &hosts, tenant: &tenant{Tenant: hosts.NewTenant(t, "hosts")}}).admit()
}

// newTenantOfSite makes a tenant that has the kubeconfig of a site.
func newTenantOfSite(t *testing.T) (*tenant, *site) {
	t.Helper()
	tn, s := newTenant(t), newSite(t)
	s.give(tn)
	return tn, s
}

// ownSite is the tenant's own namespace, seen through a kubeconfig.
func ownSite(tn *tenant) *site {
	return (&site{of: &server, tenant: tn}).admit()
}

// admit makes the account.
func (s *site) admit() *site {
	named := metav1.ObjectMeta{Name: "tenant"}
	s.account = &corev1.ServiceAccount{ObjectMeta: named}
	s.Add(s.account, &rbacv1.Role{ObjectMeta: named, Rules: tenantRules()}, &rbacv1.RoleBinding{
		ObjectMeta: named,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: named.Name}},
	})
	return s
}

// tenantRules are all that a tenant may do where the hosts are.
func tenantRules() []rbacv1.PolicyRule {
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"metal3.io"}, Resources: []string{"hostclaims"}, Verbs: all},
		{APIGroups: []string{"metal3.io"}, Resources: []string{"hardwaredata"}, Verbs: all[:3]},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: all},
	}
}

// kubeconfig leads to the namespace by a new token of the account.
func (s *site) kubeconfig(change ...func(*clientcmdapi.Config)) []byte {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(3600))}}
	s.G.Expect(s.SubResource("token").Create(s.Ctx, s.account, request)).To(gomega.Succeed())
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: s.of.Config.Host, CertificateAuthorityData: s.of.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: s.Namespace}
	config.CurrentContext = "x"
	for _, f := range change {
		f(config)
	}
	text, err := clientcmd.Write(*config)
	s.G.Expect(err).NotTo(gomega.HaveOccurred())
	return text
}

// give hands the tenant a kubeconfig.
func (s *site) give(tn *tenant, change ...func(*clientcmdapi.Config)) {
	secret := &corev1.Secret{}
	text := s.kubeconfig(change...)
	if tn.Find(kubeconfigSecret, secret) != nil {
		tn.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kubeconfigSecret}, Data: map[string][]byte{"kubeconfig": text}})
		return
	}
	tn.Edit(tn.Named(kubeconfigSecret, secret), func() { secret.Data = map[string][]byte{"kubeconfig": text} })
}

// claims lists the claims of the namespace.
func (s *site) claims() []bmov1alpha1.HostClaim {
	var list bmov1alpha1.HostClaimList
	s.G.Expect(s.List(s.Ctx, &list, client.InNamespace(s.Namespace))).To(gomega.Succeed())
	return list.Items
}

// withIdentityRef is a machine whose hosts are in the cluster that the kubeconfig names.
func withIdentityRef(m *infrav1.Metal3Machine) {
	m.Spec.IdentityRef = &infrav1.IdentityReference{Name: kubeconfigSecret}
}

// identity expects IdentityReady of the machine, written status/reason.
func (tn *tenant) identity(want string, parts ...string) *infrav1.Metal3Machine {
	m := &infrav1.Metal3Machine{}
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) {
		g.Expect(harness.Condition(m.Status.Conditions, infrav1.IdentityReadyCondition)).To(gomega.Equal(want))
		message := meta.FindStatusCondition(m.Status.Conditions, infrav1.IdentityReadyCondition).Message
		for _, part := range parts {
			g.Expect(message).To(gomega.ContainSubstring(part))
		}
	})
	return m
}

// recorded returns the record of the machine about the place of its claim.
func (tn *tenant) recorded(m *infrav1.Metal3Machine) identity.Record {
	owner := claims.Owner{Namespace: m.Namespace, Name: m.Name, UID: m.UID}
	record, found, problem := identity.Read(owner, m.Annotations)
	tn.G.Expect(problem).To(gomega.BeNil())
	tn.G.Expect(found).To(gomega.BeTrue())
	return record
}

// noLocalClaim expects that nothing was asked for in the tenant's own cluster.
func (tn *tenant) noLocalClaim() {
	var list bmov1alpha1.HostClaimList
	tn.G.Expect(tn.List(tn.Ctx, &list, client.InNamespace(tn.Namespace))).To(gomega.Succeed())
	tn.G.Expect(list.Items).To(gomega.BeEmpty())
}
