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

package e2e

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestBadInputIsNamedAndMendingIsEnough gives, in each part, a tenant something wrong,
// reads what its machine says, mends it, and lets the machine go on by itself.
func TestBadInputIsNamedAndMendingIsEnough(t *testing.T) {
	t.Parallel()
	t.Run("no host has the label that is asked for", noMatchingHost)
	t.Run("the bootstrap secret is missing", missingBootstrapSecret)
	t.Run("the template names an unknown pool", unknownPool)
	t.Run("the template names an unknown NIC", unknownNIC)
	t.Run("the managers lack a RoleBinding", missingRoleBinding)
	t.Run("an invalid policy is stored", storedInvalidPolicy)
}

// noMatchingHost is mended by the administrator, who labels a server.
func noMatchingHost(t *testing.T) {
	t.Parallel()
	s := newSite(t, "selective", 1)
	key := s.machine(t, "m", s.bootstrap(t, "data", userData), func(m *infrav1.Metal3Machine) {
		m.Spec.HostSelector = &infrav1.HostSelector{MatchLabels: map[string]string{"gpu": "a100"}}
	})
	const why = "1 host seen: 1 without label gpu=a100"
	waits(t, key, infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimNotBoundReason, why)
	s.mirrored(t, key, infrav1.HostClaimNotBoundReason, why)
	host := hosts(t, s.pool.Namespace)[0]
	before := host.DeepCopy()
	host.Labels["gpu"] = "a100"
	must(t, lab.admin.Patch(t.Context(), &host, client.MergeFrom(before)))
	provisioned(t, key)
}

// missingBootstrapSecret is mended by a tenant who creates the secret.
func missingBootstrapSecret(t *testing.T) {
	t.Parallel()
	s := newSite(t, "forgetful", 1)
	key := s.machine(t, "m", "late")
	parts := []string{`Secret "late"`, `namespace "forgetful"`, "create it"}
	waits(t, key, infrav1.AssociateBareMetalHostCondition, infrav1.BootstrapSecretNotFoundReason, parts...)
	s.mirrored(t, key, infrav1.BootstrapSecretNotFoundReason, parts...)
	if host := hosts(t, s.pool.Namespace)[0]; host.Spec.ConsumerRef != nil {
		t.Error("a server is taken for a machine that cannot boot yet")
	}
	s.bootstrap(t, "late", userData)
	provisioned(t, key)
}

// unknownPool is mended by the tenant, who creates the pool.
func unknownPool(t *testing.T) {
	t.Parallel()
	s := newSite(t, "poolless", 1)
	key := s.machine(t, "m", s.bootstrap(t, "data", userData), s.template(t, "addressed", infrav1.Metal3DataTemplateSpec{
		MetaData: &infrav1.MetaData{IPAddressesFromPool: []infrav1.FromPool{{Key: "ip", Name: "nodes"}}},
	}))
	parts := []string{`IPPool.ipam.metal3.io "nodes"`, `namespace "poolless"`, "create it"}
	waits(t, key, infrav1.Metal3DataReadyCondition, infrav1.PoolNotFoundReason, parts...)
	s.mirrored(t, key, infrav1.PoolNotFoundReason, parts...)
	s.create(t, &ipamv1alpha1.IPPool{
		ObjectMeta: s.meta("nodes"),
		Spec: ipamv1alpha1.IPPoolSpec{
			ClusterName: ptr.To("c"),
			NamePrefix:  "nodes",
			Prefix:      24,
			Pools: []ipamv1alpha1.Pool{{
				Start: ptr.To(ipamv1alpha1.IPAddressStr("192.168.110.10")), End: ptr.To(ipamv1alpha1.IPAddressStr("192.168.110.20")),
			}},
		},
	})
	provisioned(t, key)
}

// unknownNIC is mended as a rollout would: templates cannot be changed, so the
// machine is replaced by one with a new template. It gives its server back
// although nothing was ever written to it.
func unknownNIC(t *testing.T) {
	t.Parallel()
	s := newSite(t, "cardless", 1)
	data := s.bootstrap(t, "data", userData)
	of := func(nic string) infrav1.Metal3DataTemplateSpec {
		return infrav1.Metal3DataTemplateSpec{
			MetaData: &infrav1.MetaData{FromHostInterfaces: []infrav1.MetaDataHostInterface{{Key: "mac", Interface: nic}}},
		}
	}
	key := s.machine(t, "wrong", data, s.template(t, "wrong", of("eth9")))
	parts := []string{`"eth9"`, "eth0, eth1", "new Metal3DataTemplate"}
	waits(t, key, infrav1.Metal3DataReadyCondition, infrav1.InterfaceNotFoundReason, parts...)
	s.mirrored(t, key, infrav1.InterfaceNotFoundReason, parts...)
	next := s.machine(t, "right", data, s.template(t, "right", of("eth1")))
	waits(t, next, infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimNotBoundReason, "1 host seen: 1 in use")
	must(t, s.Client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: s.meta("wrong")}))
	provisioned(t, next)
}

// missingRoleBinding is mended by the administrator, who lets first one manager
// and then the other at the secrets of the tenant.
func missingRoleBinding(t *testing.T) {
	t.Parallel()
	s := newSite(t, "unbound", 1)
	take := func(name string) (giveBack func()) {
		binding := &rbacv1.RoleBinding{}
		must(t, lab.admin.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, binding))
		must(t, lab.admin.Delete(t.Context(), binding))
		return func() {
			binding.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
			must(t, lab.admin.Create(t.Context(), binding))
		}
	}
	letProvider, letHostclaim := take("capm3-tenant-secrets"), take("hostclaim-source-secrets")
	key := s.machine(t, "m", s.bootstrap(t, "data", userData))
	parts := []string{"may not get secrets", `namespace "unbound"`, "create a RoleBinding", "capm3-tenant-secrets"}
	waits(t, key, infrav1.AssociateBareMetalHostCondition, infrav1.SecretsForbiddenReason, parts...)
	s.mirrored(t, key, infrav1.SecretsForbiddenReason, parts...)
	letProvider()
	parts = []string{"may not get secrets", "namespace unbound", "create a RoleBinding", "hostclaim-source-secrets"}
	waits(t, key, infrav1.HostClaimReadyCondition, bmov1alpha1.BadUserDataSecretReason, parts...)
	s.mirrored(t, key, bmov1alpha1.BadUserDataSecretReason, parts...)
	letHostclaim()
	provisioned(t, key)
}

// storedInvalidPolicy has a policy that came past the webhook. It is skipped,
// while the other policy goes on admitting its tenant; an event
// tells the author of the invalid one.
func storedInvalidPolicy(t *testing.T) {
	t.Parallel()
	s := newSite(t, "lawful", 2)
	admitsInvalid(t, s.pool.Namespace)
	broken := policyOf(s.pool.Namespace, "broken")
	broken.Spec.HostClaimNamespaces = &bmov1alpha1.HostClaimNamespaces{NameMatches: "hopeful("}
	eventually(t, "the invalid policy is stored", func(g gomega.Gomega) {
		g.Expect(lab.admin.Create(t.Context(), broken)).To(gomega.Succeed())
	})
	eventually(t, "its author is warned", func(g gomega.Gomega) {
		g.Expect(warnings(t, broken)).To(gomega.ContainElement(gomega.And(
			gomega.ContainSubstring("InvalidPolicy"), gomega.ContainSubstring("spec.hostClaimNamespaces.nameMatches"),
			gomega.ContainSubstring(`"hopeful("`), gomega.ContainSubstring("write a regular expression in RE2 syntax"))))
	})
	provisioned(t, s.machine(t, "m", s.bootstrap(t, "data", userData)))

	hopeful := &site{Tenant: newTenant(t, "hopeful")}
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "hopeful", Name: "claim"}}
	hopeful.create(t, claim)
	associated := func(status metav1.ConditionStatus, reason string, parts ...string) {
		t.Helper()
		eventually(t, "the claim says so", func(g gomega.Gomega) {
			g.Expect(lab.world.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(gomega.Succeed())
			says(g, claim.Status.Conditions, metav1.Condition{Type: bmov1alpha1.AssociatedCondition, Status: status, Reason: reason}, parts...)
		})
	}
	associated(metav1.ConditionFalse, infrav1.NoNamespaceAdmitsReason, "no other namespace admits namespace hopeful",
		"the infrastructure team must name it in a HostDeployPolicy", "some policies are invalid")
	before := broken.DeepCopy()
	broken.Spec.HostClaimNamespaces.NameMatches = "hopeful"
	must(t, lab.admin.Patch(t.Context(), broken, client.MergeFrom(before)))
	associated(metav1.ConditionTrue, bmov1alpha1.BareMetalHostAssociatedReason)
}
