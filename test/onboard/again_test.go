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

package onboard

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/onboard"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestRunningAgainRenews changes what was made, and moves the Secret as clusterctl
// would: a second run mends all of it and issues another token, while the first one
// goes on being good until its end.
func TestRunningAgainRenews(t *testing.T) {
	t.Parallel()
	plan := newPlan(t)
	first := letIn(t, plan)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: plan.Tenant.Namespace, Name: "hostclaim-remote-tenant"}}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(role), role))
	rules := role.DeepCopy().Rules
	before := role.DeepCopy()
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	expect.NoError(t, server.Client.Patch(t.Context(), role, client.MergeFrom(before)))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plan.Home.Namespace, Name: plan.Home.Secret}}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	moved := secret.DeepCopy()
	moved.ObjectMeta = metav1.ObjectMeta{
		Namespace: secret.Namespace, Name: secret.Name, Labels: secret.Labels, Annotations: secret.Annotations,
	}
	expect.NoError(t, server.Client.Delete(t.Context(), secret))
	expect.NoError(t, server.Client.Create(t.Context(), moved, client.FieldOwner("clusterctl")))

	// Tokens of one account that are issued in the same second are the same.
	plan.Tenant.Expiry = 2 * time.Hour
	second := letIn(t, plan)
	expect.That(t, first.BearerToken != second.BearerToken, "the token is the same")
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(role), role))
	expect.Equal(t, rules, role.Rules)
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	expect.That(t, strings.Contains(string(secret.Data["kubeconfig"]), second.BearerToken), "the Secret does not have the new token")
	for _, config := range []*rest.Config{first, second} {
		isGood(t, connect(t, config), plan)
	}
}

// TestDeletingTheAccountEndsItsTokens does what the documentation advises for a stolen credential.
func TestDeletingTheAccountEndsItsTokens(t *testing.T) {
	t.Parallel()
	plan := newPlan(t)
	stolen := connect(t, letIn(t, plan))
	isGood(t, stolen, plan)
	expect.NoError(t, server.Client.Delete(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: plan.Tenant.Account.Namespace, Name: plan.Tenant.Account.Name},
	}))
	fresh := connect(t, letIn(t, plan))
	eventually(t, "the stolen token is void", func(g gomega.Gomega) {
		err := stolen.List(t.Context(), &bmov1alpha1.HostClaimList{}, client.InNamespace(plan.Tenant.Namespace))
		g.Expect(apierrors.IsUnauthorized(err)).To(gomega.BeTrue())
	})
	isGood(t, fresh, plan)
}

// TestNothingHalf expects that what cannot be done is refused before anything is created, with the
// name of the thing and the remedy.
func TestNothingHalf(t *testing.T) {
	t.Parallel()
	anonymous, err := client.New(rest.AnonymousClientConfig(server.Config), client.Options{Scheme: server.Scheme, Mapper: server.Client.RESTMapper()})
	expect.NoError(t, err)
	tests := map[string]struct {
		hosts client.Client
		// spoil changes the plan, or returns objects that are in its way.
		spoil func(*onboard.Plan) []client.Object
		want  []string
	}{
		"the namespace of the Secret is not there": {
			server.Client, func(plan *onboard.Plan) []client.Object {
				plan.Home.Namespace = "nowhere"
				return nil
			}, []string{"the tenant's cluster", "namespace nowhere", "--management-namespace"},
		},
		"another client's Secret has the name": {
			server.Client, func(plan *onboard.Plan) []client.Object {
				return []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plan.Home.Namespace, Name: "hosts"}}}
			}, []string{"the tenant's cluster", "Secret", "/hosts", "delete it", grant.ManagedByLabel},
		},
		"another client's Role has the name": {
			server.Client, func(plan *onboard.Plan) []client.Object {
				return []client.Object{
					&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plan.Tenant.Namespace}},
					&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: plan.Tenant.Namespace, Name: "hostclaim-remote-tenant"}},
				}
			}, []string{"the cluster with the hosts", "Role", "hostclaim-remote-tenant", "delete it"},
		},
		"the credentials are anonymous": {
			anonymous, func(*onboard.Plan) []client.Object { return nil }, []string{"the cluster with the hosts", "ServiceAccount", "administrator"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := newPlan(t)
			for _, object := range test.spoil(&plan) {
				expect.NoError(t, server.Client.Create(t.Context(), object))
			}
			_, err := onboard.Run(t.Context(), plan, test.hosts, server.Client)
			for _, part := range test.want {
				expect.Error(t, part, err)
			}
			expect.Equal(t, nil, made(t, plan)) // is left behind
		})
	}
}

// TestNamespacesOfAccountsAndTenantsAreApart expects a refusal wherever a tenant could
// have tokens issued of an account that is not its own, or two would share one.
func TestNamespacesOfAccountsAndTenantsAreApart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		// clash makes the second tenant's plan collide with what the first one has.
		clash func(first, second *grant.Tenant)
		want  func(first grant.Tenant) []string
	}{
		"a tenant among the accounts of others": {
			clash: func(first, second *grant.Tenant) { second.Namespace = first.Account.Namespace },
			want: func(first grant.Tenant) []string {
				return []string{"namespace " + first.Account.Namespace, "service accounts", first.Account.Name, "--namespace"}
			},
		},
		"an account where a tenant works": {
			clash: func(first, second *grant.Tenant) { second.Account.Namespace = first.Namespace },
			want: func(first grant.Tenant) []string {
				return []string{"Role " + first.Namespace + "/hostclaim-remote-tenant", "--account-namespace"}
			},
		},
		"an account of another tenant": {
			clash: func(first, second *grant.Tenant) { second.Account = first.Account },
			want: func(first grant.Tenant) []string {
				return []string{first.Account.String(), "RoleBinding " + first.Namespace + "/hostclaim-remote-tenant", "--account "}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newPlan(t), newPlan(t)
			letIn(t, first)
			test.clash(&first.Tenant, &second.Tenant)
			before := made(t, second)
			_, err := onboard.Run(t.Context(), second, server.Client, server.Client)
			for _, part := range append(test.want(first.Tenant), "the cluster with the hosts") {
				expect.Error(t, part, err)
			}
			expect.Equal(t, before, made(t, second)) // is left behind
			letIn(t, first)
		})
	}
}

// TestNamespacesWithHostsAreRefused has the administrator name a namespace of the
// infrastructure team, or one with Secrets of others.
func TestNamespacesWithHostsAreRefused(t *testing.T) {
	t.Parallel()
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	tests := map[string]struct {
		object func(namespace string) client.Object
		want   string
	}{
		"a host":   {func(ns string) client.Object { return &bmov1alpha1.BareMetalHost{ObjectMeta: in(ns, "host-0")} }, "BareMetalHosts host-0"},
		"a policy": {func(ns string) client.Object { return &bmov1alpha1.HostDeployPolicy{ObjectMeta: in(ns, "gold")} }, "HostDeployPolicies gold"},
		"a secret": {func(ns string) client.Object { return &corev1.Secret{ObjectMeta: in(ns, "host-0-bmc")} }, "Secrets host-0-bmc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := newPlan(t)
			plan.Tenant.Namespace = server.Namespace(t, "pool", nil)
			expect.NoError(t, server.Client.Create(t.Context(), test.object(plan.Tenant.Namespace)))
			_, err := onboard.Run(t.Context(), plan, server.Client, server.Client)
			for _, part := range []string{test.want, "choose another --namespace"} {
				expect.Error(t, part, err)
			}
			expect.Equal(t, nil, made(t, plan)) // is left behind
		})
	}
}

// TestSecretsOfTheTenantAreNoReasonToRefuse runs the command again when the tenant has
// written Secrets beside its claims.
func TestSecretsOfTheTenantAreNoReasonToRefuse(t *testing.T) {
	t.Parallel()
	plan := newPlan(t)
	letIn(t, plan)
	expect.NoError(t, server.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plan.Tenant.Namespace, Name: "user-data"}}))
	letIn(t, plan)
}

// made lists the objects of the plan that are there with the mark of the command.
func made(t *testing.T, plan onboard.Plan) []string {
	t.Helper()
	var found []string
	for _, object := range plan.Tenant.Objects() {
		now := &metav1.PartialObjectMetadata{}
		now.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(object), now)
		if err == nil && now.Labels[grant.ManagedByLabel] == grant.ManagedBy {
			found = append(found, describe(object))
		}
	}
	slices.Sort(found)
	return found
}

// TestNamespacesOfOthersStayAsTheyAre has the infrastructure team prepare the
// namespace, with labels that policies go by.
func TestNamespacesOfOthersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	plan := newPlan(t)
	plan.Tenant.Namespace = server.Namespace(t, "prepared", map[string]string{"team": "blue"})
	before := &corev1.Namespace{}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKey{Name: plan.Tenant.Namespace}, before))
	letIn(t, plan)
	after := &corev1.Namespace{}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKey{Name: plan.Tenant.Namespace}, after))
	expect.Equal(t, before, after, cmpopts.EquateEmpty())
}
