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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// builtIn are the roles of Kubernetes that people are given in a namespace, the
// weakest first, as each is part of the next.
var builtIn = [...]string{"view", "edit", "admin"}

// aggregate does once what the controller of aggregated roles does all the time,
// and which does not run here: it gives the roles of Kubernetes the rules of all
// roles that their aggregationRule selects.
func aggregate(ctx context.Context) error {
	for _, name := range builtIn {
		role := &rbacv1.ClusterRole{}
		if err := server.Client.Get(ctx, client.ObjectKey{Name: name}, role); err != nil {
			return err
		}
		if role.AggregationRule == nil {
			return fmt.Errorf("role %s aggregates nothing", name)
		}
		before := role.DeepCopy()
		role.Rules = nil
		for _, s := range role.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&s)
			if err != nil {
				return err
			}
			parts := &rbacv1.ClusterRoleList{}
			if err := server.Client.List(ctx, parts, client.MatchingLabelsSelector{Selector: selector}); err != nil {
				return err
			}
			for _, part := range parts.Items {
				role.Rules = append(role.Rules, part.Rules...)
			}
		}
		if err := server.Client.Patch(ctx, role, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}

// grantBuiltIn binds the roles of Kubernetes in a tenant's namespace and in the one
// with hosts, to "<role>@<namespace>", and view in the whole cluster as well.
func grantBuiltIn(t *testing.T) {
	t.Helper()
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "view-everything"}, RoleRef: clusterRole("view"), Subjects: group("view@"),
	})
	for _, namespace := range in(tenantB, infra) {
		for _, role := range builtIn {
			create(t, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "built-in-" + role},
				RoleRef:    clusterRole(role), Subjects: group(role + "@" + namespace),
			})
		}
	}
}

// holder has a role of Kubernetes in a namespace, and no other.
func holder(role, namespace string) subject { return member(role, role+"@"+namespace) }

// TestBuiltInRoles shows what the roles of Kubernetes hold of servers: the same in
// a tenant's namespace as next to the hosts.
func TestBuiltInRoles(t *testing.T) {
	grantBuiltIn(t)
	never := []rights{
		{all, on(metal3Group, "baremetalhosts", "baremetalhosts/status", "hostdeploypolicies", "hostfirmwaresettings"), anywhere},
		{write, on(metal3Group, "hostclaims/status", "hostclaims/finalizers", "hardwaredata"), anywhere},
		{[]string{"release", "deletecollection"}, on(metal3Group, "hostclaims"), anywhere},
	}
	seen := on(metal3Group, "hostclaims", "hostclaims/status", "hardwaredata")
	changes := []string{"create", "update", "patch", "delete"}
	for _, namespace := range in(tenantB, infra) {
		for _, role := range builtIn {
			t.Run(role+" in "+namespace, func(t *testing.T) {
				who := holder(role, namespace)
				allowed := []rights{{read, seen, in(namespace)}}
				denied := append([]rights{{all, seen, in(tenantA, hostclaim, everywhere)}}, never...)
				line := rights{changes, on(metal3Group, "hostclaims"), in(namespace)}
				if role == "view" {
					denied = append(denied, line)
				} else {
					allowed = append(allowed, line)
				}
				checkRights(t, who, allowed, denied)
			})
		}
	}
	t.Run("view in the whole cluster", func(t *testing.T) {
		checkRights(t, holder("view", everywhere),
			[]rights{{read, seen, in(tenantA, tenantB, infra, everywhere)}},
			append([]rights{{write, on(metal3Group, "hostclaims"), anywhere}, {all, on("", "secrets"), anywhere}}, never...))
	})
}

// What the rule free-owners does for the kinds of tenant-role, the admission plugin
// OwnerReferencesPermissionEnforcement does for all others.
func TestAttackOwnerReferenceOfAnyKind(t *testing.T) {
	grantBuiltIn(t)
	editor, err := client.New(holder("edit", tenantB).config(), client.Options{Scheme: server.Scheme})
	expect.NoError(t, err)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenantB, Name: "holding", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "mine", UID: "of-a-host", BlockOwnerDeletion: ptr.To(true),
		}}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"},
	}
	gomega.NewWithT(t).Eventually(func() error { return editor.Create(t.Context(), service, client.DryRunAll) }, 10*time.Second, 20*time.Millisecond).
		Should(gomega.MatchError(gomega.ContainSubstring("cannot set blockOwnerDeletion")))
	service.OwnerReferences[0].BlockOwnerDeletion = nil
	if err := editor.Create(t.Context(), service, client.DryRunAll); err != nil {
		t.Error(err)
	}
}

const (
	claimFinalizer = "hostclaim.metal3.io/finalizer"
	// admissionDelay is how long an API server may take to heed a new policy.
	admissionDelay = time.Minute
)

// root may do everything.
var root = subject{user: "root", groups: []string{"system:masters", "system:authenticated"}}

// guarded makes a claim with our finalizer and that of another controller, as after a bind,
// and waits until the API server guards it.
func guarded(t *testing.T, namespace string) *bmov1alpha1.HostClaim {
	t.Helper()
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, GenerateName: "guarded-", Finalizers: []string{claimFinalizer, "example.com/other"},
	}}
	expect.NoError(t, server.Client.Create(t.Context(), claim))
	t.Cleanup(func() {
		ctx, last := context.Background(), claim.DeepCopy()
		if err := server.Client.Get(ctx, client.ObjectKeyFromObject(claim), last); err != nil {
			t.Error(err)
			return
		}
		before := last.DeepCopy()
		last.Finalizers = nil
		if err := server.Client.Patch(ctx, last, client.MergeFrom(before)); err != nil {
			t.Error(err)
		}
		if err := client.IgnoreNotFound(server.Client.Delete(ctx, last)); err != nil {
			t.Error(err)
		}
	})
	gomega.NewWithT(t).Eventually(func() bool {
		return apierrors.IsForbidden(strip(t, tenantAdmin, claim, client.DryRunAll))
	}, admissionDelay, 20*time.Millisecond).Should(gomega.BeTrue(), "the policy is in force")
	return claim
}

// tenantAdmin may do everything with claims that a tenant may, in namespace
// tenant-b.
var tenantAdmin = member("bob", "tenant-b-admins")

// strip takes our finalizer off a claim, as the subject.
func strip(t *testing.T, who subject, claim *bmov1alpha1.HostClaim, options ...client.PatchOption) error {
	t.Helper()
	return editClaim(t, who, claim, func(c *bmov1alpha1.HostClaim) { controllerutil.RemoveFinalizer(c, claimFinalizer) }, options...)
}

func editClaim(t *testing.T, who subject, claim *bmov1alpha1.HostClaim, edit func(*bmov1alpha1.HostClaim), options ...client.PatchOption) error {
	t.Helper()
	c, err := client.New(who.config(), client.Options{Scheme: server.Scheme})
	expect.NoError(t, err)
	after := claim.DeepCopy()
	edit(after)
	return c.Patch(t.Context(), after, client.MergeFrom(claim), options...)
}

// A claim without its finalizer would vanish and leave its host booked for ever.
// Only the hostclaim manager, and people who were given the right, take it off.
func TestFinalizerOfAClaimStaysUntilItsHostIsReleased(t *testing.T) {
	grantClaims(t)
	grantBuiltIn(t)
	none := func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil }
	ours := func(c *bmov1alpha1.HostClaim) { controllerutil.RemoveFinalizer(c, claimFinalizer) }
	tests := map[string]struct {
		who     subject
		at      string
		edit    func(*bmov1alpha1.HostClaim)
		allowed bool
	}{
		"not by an administrator of the tenant":               {who: tenantAdmin, at: tenantB, edit: ours},
		"not by one who clears the whole list":                {who: tenantAdmin, at: tenantB, edit: none},
		"not by an admin of Kubernetes in the namespace":      {who: holder("admin", tenantB), at: tenantB, edit: ours},
		"not by an admin of Kubernetes next to the hosts":     {who: holder("admin", infra), at: infra, edit: ours},
		"not by the provider manager":                         {who: provider, at: tenantA, edit: ours},
		"by the hostclaim manager":                            {who: hostOwner, at: tenantB, edit: ours, allowed: true},
		"by the infrastructure team in its own namespace":     {who: admin, at: infra, edit: ours, allowed: true},
		"by the subject bound as releaser of the namespace":   {who: releaser, at: tenantB, edit: ours, allowed: true},
		"by an administrator of the cluster":                  {who: root, at: tenantB, edit: none, allowed: true},
		"while a tenant may take off finalizers of others":    {who: tenantAdmin, at: tenantB, edit: keepOnly(claimFinalizer), allowed: true},
		"and while a tenant may change the rest of its claim": {who: tenantAdmin, at: tenantB, edit: powerOn, allowed: true},
	}
	claims := map[string]*bmov1alpha1.HostClaim{
		tenantA: guarded(t, tenantA), tenantB: guarded(t, tenantB), infra: guarded(t, infra),
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := editClaim(t, test.who, claims[test.at], test.edit, client.DryRunAll)
			switch {
			case test.allowed && err != nil:
				t.Errorf("refused: %v", err)
			case !test.allowed && !apierrors.IsForbidden(err):
				t.Errorf("answered with %v, want Forbidden", err)
			case !test.allowed:
				gomega.NewWithT(t).Expect(err).To(gomega.MatchError(gomega.And(
					gomega.ContainSubstring("delete the claim and wait"), gomega.ContainSubstring("verb release on hostclaims"))))
			}
		})
	}
}

// The annotation of a bind under way is what is left of it if the status gets lost, so it stays until
// the status reports the outcome.
func TestIntentAnnotationStaysUntilTheStatusSaysWhatCameOfIt(t *testing.T) {
	grantClaims(t)
	claim := guarded(t, tenantB)
	own := string(claim.UID) + "/infra/host/uid/1"
	refused := func(says string, who subject, edit func(*bmov1alpha1.HostClaim), want bool) {
		t.Helper()
		err := editClaim(t, who, claim, edit, client.DryRunAll)
		expect.That(t, apierrors.IsForbidden(err) == want && (want || err == nil), "%s: answered with %v, refused is %t", says, err, want)
	}
	refused("added by a tenant", tenantAdmin, intent(own), true)
	refused("added by a tenant about another claim", tenantAdmin, intent("other/infra/host/uid/1"), false)
	expect.NoError(t, editClaim(t, hostOwner, claim, intent(own)))
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	for associated, open := range map[metav1.ConditionStatus]bool{
		"": true, metav1.ConditionUnknown: true, metav1.ConditionTrue: false, metav1.ConditionFalse: false,
	} {
		before := claim.DeepCopy()
		if claim.Status.Conditions = nil; associated != "" {
			meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
				Type: bmov1alpha1.AssociatedCondition, Status: associated, Reason: "Test",
			})
		}
		expect.NoError(t, server.Client.Status().Patch(t.Context(), claim, client.MergeFrom(before)))
		while := " while Associated is " + string(associated)
		refused("removed by a tenant"+while, tenantAdmin, intent(""), open)
		refused("changed by a tenant"+while, tenantAdmin, intent(own+"0"), true)
		refused("removed by the hostclaim manager"+while, hostOwner, intent(""), false)
		refused("changed by the hostclaim manager"+while, hostOwner, intent(own+"0"), false)
	}
	if err := editClaim(t, tenantAdmin, claim, powerOn, client.DryRunAll); err != nil {
		t.Errorf("a change of something else: %v", err)
	}
}

// intent writes an intent annotation into a claim, or takes it off.
func intent(value string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) {
		if c.Annotations = nil; value != "" {
			c.Annotations = map[string]string{"hostclaim.metal3.io/intended-host": value}
		}
	}
}

// Neither a pause nor the deletion opens a way around.
func TestPausedClaimThatGoesKeepsItsFinalizer(t *testing.T) {
	grantClaims(t)
	claim := guarded(t, tenantB)
	pause := func(c *bmov1alpha1.HostClaim) { c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} }
	expect.NoError(t, editClaim(t, tenantAdmin, claim, pause))
	expect.NoError(t, server.Client.Delete(t.Context(), claim))
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	if err := strip(t, tenantAdmin, claim); !apierrors.IsForbidden(err) {
		t.Errorf("a tenant: answered with %v, want Forbidden", err)
	}
	if err := strip(t, hostOwner, claim); err != nil {
		t.Errorf("the hostclaim manager: %v", err)
	}
}

func keepOnly(finalizer string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{finalizer} }
}

func powerOn(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = true }

// releaser was bound as releaser of claims in namespace tenant-b.
var releaser = member("rita", "releasers")

// grantClaims binds roles in namespace tenant-b for one test.
func grantClaims(t *testing.T) {
	t.Helper()
	for name, role := range map[string]string{
		"tenant-b-admins": "hostclaim-tenant-role",
		"releasers":       "hostclaim-claim-releaser-role",
	} {
		create(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenantB, Name: name}, RoleRef: clusterRole(role), Subjects: group(name),
		})
	}
}
