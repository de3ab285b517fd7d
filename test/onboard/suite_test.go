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
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/onboard"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// patience is how long the API server may take to hear of a binding.
const patience = time.Minute

// server plays both clusters: the one with the hosts, and that of the tenant.
var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	os.Exit(server.Run(m))
}

// newPlan is for a tenant with a namespace and an account namespace of its own,
// and a home in a third one.
func newPlan(t *testing.T) onboard.Plan {
	t.Helper()
	home := server.Namespace(t, "clusters", nil)
	access, err := onboard.AccessOf(server.Config, onboard.Seen{})
	expect.NoError(t, err)
	return onboard.Plan{
		Tenant: grant.Tenant{
			Namespace:        home + "-claims",
			Account:          types.NamespacedName{Namespace: home + "-accounts", Name: "blue"},
			HostClaimManager: types.NamespacedName{Namespace: "hostclaim-system", Name: "hostclaim-manager"},
			Servers:          5,
			Expiry:           time.Hour,
		},
		Home:   grant.Home{Namespace: home, Secret: "hosts"},
		Access: access,
	}
}

// letIn carries the plan out and returns what the Secret opens.
func letIn(t *testing.T, plan onboard.Plan) *rest.Config {
	t.Helper()
	result, err := onboard.Run(t.Context(), plan, server.Client, server.Client)
	expect.NoError(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(result.Secret.Data["kubeconfig"])
	expect.NoError(t, err)
	return config
}

func connect(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	config.QPS = -1 // hundreds of questions
	c, err := client.NewWithWatch(config, client.Options{Scheme: server.Scheme})
	expect.NoError(t, err)
	return c
}

func claim(namespace, name string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"a": "b"}},
	}
}

// isGood waits until the API server lists claims for a client, as it has heard of its binding.
func isGood(t *testing.T, c client.Client, plan onboard.Plan) {
	t.Helper()
	eventually(t, "the token is good", func(g gomega.Gomega) {
		g.Expect(c.List(t.Context(), &bmov1alpha1.HostClaimList{}, client.InNamespace(plan.Tenant.Namespace))).To(gomega.Succeed())
	})
}

// describe names an object in a message.
func describe(object client.Object) string {
	return fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())
}

// everyVerb are the verbs of requests, and two that policies of ours ask for.
func everyVerb() []string {
	return []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "release", "manage"}
}

// wanted lists the rights in the tenant's namespace; there are no others anywhere.
func wanted() map[string][]string {
	read := []string{"get", "list", "watch"}
	write := []string{"get", "list", "watch", "create", "patch", "delete"}
	return map[string][]string{
		"hostclaims.metal3.io":   write,
		"secrets.":               write,
		"hardwaredata.metal3.io": read,
	}
}

// TestRightsAreExact asks the API server, as the tenant's manager, about every verb
// on whatever might be of interest, in the tenant's namespace and in others.
func TestRightsAreExact(t *testing.T) {
	t.Parallel()
	plan := newPlan(t)
	tenant := connect(t, letIn(t, plan))
	namespace := plan.Tenant.Namespace
	resources := []string{
		"hostclaims.metal3.io", "hostclaims.metal3.io/status", "hostclaims.metal3.io/finalizers", "hardwaredata.metal3.io",
		"baremetalhosts.metal3.io", "hostdeploypolicies.metal3.io", "firmwareschemas.metal3.io",
		"secrets.", "configmaps.", "events.", "namespaces.", "pods.", "serviceaccounts.", "serviceaccounts./token", "resourcequotas.",
		"roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io",
		"leases.coordination.k8s.io", "customresourcedefinitions.apiextensions.k8s.io", "*.*",
	}
	isGood(t, tenant, plan)
	for _, where := range []string{namespace, plan.Tenant.Account.Namespace, plan.Home.Namespace, ""} {
		for _, resource := range resources {
			for _, verb := range everyVerb() {
				want := where == namespace && slices.Contains(wanted()[resource], verb)
				if got := allowed(t, tenant, where, resource, verb); got != want {
					t.Errorf("%s %s in namespace %q: allowed %t, want %t", verb, resource, where, got, want)
				}
			}
		}
	}
}

// TestNeededRequestsSucceed sends what the provider manager sends.
func TestNeededRequestsSucceed(t *testing.T) {
	t.Parallel()
	plan := newPlan(t)
	tenant := connect(t, letIn(t, plan))
	namespace := plan.Tenant.Namespace
	in := client.InNamespace(namespace)
	isGood(t, tenant, plan)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := tenant.Watch(ctx, &bmov1alpha1.HostClaimList{}, in)
	expect.NoError(t, err)
	defer watch.Stop()

	wish := claim(namespace, "m-01234567")
	expect.NoError(t, tenant.Patch(t.Context(), wish.DeepCopy(), client.Apply, client.FieldOwner("manager"), client.ForceOwnership)) //nolint:staticcheck // the form with a typed object
	if event := <-watch.ResultChan(); event.Type != "ADDED" {
		t.Errorf("the watch begins with %v", event)
	}
	expect.NoError(t, tenant.Get(t.Context(), client.ObjectKeyFromObject(wish), wish))
	before := wish.DeepCopy()
	wish.Spec.PoweredOn = true
	expect.NoError(t, tenant.Patch(t.Context(), wish, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	copied := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wish.Name + "-userdata", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim", Name: wish.Name, UID: wish.UID,
		}}},
		Data: map[string][]byte{"value": []byte("a")},
	}
	expect.NoError(t, tenant.Create(t.Context(), copied))
	before2 := copied.DeepCopy()
	copied.Data["value"] = []byte("b")
	expect.NoError(t, tenant.Patch(t.Context(), copied, client.MergeFrom(before2)))
	expect.NoError(t, tenant.List(t.Context(), &bmov1alpha1.HardwareDataList{}, in))
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	expect.NoError(t, tenant.List(t.Context(), metadata, in, client.HasLabels{"a"}))
	expect.NoError(t, tenant.Delete(t.Context(), copied))
	expect.NoError(t, tenant.Delete(t.Context(), wish))
}

// TestOtherRequestsAreRefused sends what a tenant that means harm would send.
func TestOtherRequestsAreRefused(t *testing.T) {
	t.Parallel()
	plan := newPlan(t)
	tenant := connect(t, letIn(t, plan))
	namespace, account := plan.Tenant.Namespace, plan.Tenant.Account
	neighbor := server.Namespace(t, "neighbor", nil)
	theirs := claim(neighbor, "theirs")
	expect.NoError(t, server.Client.Create(t.Context(), theirs))
	mine := claim(namespace, "mine")
	eventually(t, "a claim of its own is created", func(g gomega.Gomega) {
		g.Expect(client.IgnoreAlreadyExists(tenant.Create(t.Context(), mine.DeepCopy()))).To(gomega.Succeed())
	})
	list := func(list client.ObjectList, options ...client.ListOption) func(context.Context) error {
		return func(ctx context.Context) error { return tenant.List(ctx, list, options...) }
	}
	create := func(object client.Object) func(context.Context) error {
		return func(ctx context.Context) error { return tenant.Create(ctx, object) }
	}
	tests := map[string]func(context.Context) error{
		"claims of everybody":         list(&bmov1alpha1.HostClaimList{}),
		"claims of a neighbor":        list(&bmov1alpha1.HostClaimList{}, client.InNamespace(neighbor)),
		"secrets of a neighbor":       list(&corev1.SecretList{}, client.InNamespace(neighbor)),
		"secrets beside the accounts": list(&corev1.SecretList{}, client.InNamespace(account.Namespace)),
		"hosts in its own namespace":  list(&bmov1alpha1.BareMetalHostList{}, client.InNamespace(namespace)),
		"hosts of everybody":          list(&bmov1alpha1.BareMetalHostList{}),
		"policies":                    list(&bmov1alpha1.HostDeployPolicyList{}, client.InNamespace(namespace)),
		"namespaces":                  list(&corev1.NamespaceList{}),
		"its own quota":               list(&corev1.ResourceQuotaList{}, client.InNamespace(namespace)),
		"all its claims at once": func(ctx context.Context) error {
			return tenant.DeleteAllOf(ctx, &bmov1alpha1.HostClaim{}, client.InNamespace(namespace))
		},
		"a claim of a neighbor":        func(ctx context.Context) error { return tenant.Delete(ctx, theirs) },
		"a new host":                   create(&bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "h"}}),
		"facts of its own making":      create(&bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "h"}}),
		"an account with another name": create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}}),
		"more rights": create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "more"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		}),
		"a token that never expires": create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: account.Namespace, Name: "forever", Annotations: map[string]string{corev1.ServiceAccountNameKey: account.Name},
			},
			Type: corev1.SecretTypeServiceAccountToken,
		}),
		"a token of its own account": func(ctx context.Context) error {
			return tenant.SubResource("token").Create(ctx, &corev1.ServiceAccount{
				ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name},
			}, &authenticationv1.TokenRequest{})
		},
		"the status of its claim": func(ctx context.Context) error {
			after := mine.DeepCopy()
			after.Status.PoweredOn = true
			return tenant.Status().Patch(ctx, after, client.MergeFrom(mine))
		},
	}
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			if err := request(t.Context()); !apierrors.IsForbidden(err) {
				t.Errorf("answer %v, want Forbidden", err)
			}
		})
	}
}

// allowed asks whether the client itself may do something; the resource is written
// as name.group/subresource.
func allowed(t *testing.T, c client.Client, namespace, resource, verb string) bool {
	t.Helper()
	name, group, _ := strings.Cut(resource, ".")
	group, subresource, _ := strings.Cut(group, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: subresource,
		},
	}}
	expect.NoError(t, c.Create(t.Context(), review))
	return review.Status.Allowed
}

func eventually(t *testing.T, what string, check func(gomega.Gomega)) {
	t.Helper()
	gomega.NewWithT(t).Eventually(check).Should(gomega.Succeed(), "waiting until "+what)
}
