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
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

// request is one that the API server is expected to refuse, or to allow.
type request func(ctx context.Context, c client.Client) error

// tenantIsConfined tries, with the kubeconfig of tenant b, what a tenant must
// not be able to do, on objects that are really there.
func (p *play) tenantIsConfined(t *testing.T) {
	other, mine := p.a.machines(t)[0], p.b.machines(t)[0]
	refused(t, p.b.Client, map[string]request{
		"list hosts of all namespaces":     list(&bmov1alpha1.BareMetalHostList{}),
		"list hosts of the pool":           list(&bmov1alpha1.BareMetalHostList{}, client.InNamespace(p.pool.Namespace)),
		"list hosts of its own namespace":  list(&bmov1alpha1.BareMetalHostList{}, client.InNamespace(p.b.Namespace)),
		"get its own host":                 get(mine.Host),
		"patch its own host":               patch(mine.Host),
		"delete its own host":              del(mine.Host),
		"get the BMC secret of its host":   get(bmcSecret(mine.Host)),
		"list secrets of the pool":         list(&corev1.SecretList{}, client.InNamespace(p.pool.Namespace)),
		"get its own secrets next to host": get(secretOf(mine.Host.Spec.UserData)),
		"list hardware data of the pool":   list(&bmov1alpha1.HardwareDataList{}, client.InNamespace(p.pool.Namespace)),
		"list policies of the pool":        list(&bmov1alpha1.HostDeployPolicyList{}, client.InNamespace(p.pool.Namespace)),
		"patch the policy of the pool":     patch(policyOf(p.pool.Namespace, "tenants")),
		"delete the policy of the pool":    del(policyOf(p.pool.Namespace, "tenants")),
		"create a policy in the pool":      create(policyOf(p.pool.Namespace, "mine")),
		"create a policy of its own":       create(policyOf(p.b.Namespace, "mine")),
		"label its own namespace":          patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.b.Namespace}}),

		"list secrets of tenant a":       list(&corev1.SecretList{}, client.InNamespace(p.a.Namespace)),
		"get the kubeconfig of tenant a": get(secretOf(&corev1.SecretReference{Namespace: p.a.Namespace, Name: "a-kubeconfig"})),
		"list claims of tenant a":        list(&bmov1alpha1.HostClaimList{}, client.InNamespace(p.a.Namespace)),
		"get a claim of tenant a":        get(other.Claim),
		"patch a claim of tenant a":      patch(other.Claim),
		"list hardware data of tenant a": list(&bmov1alpha1.HardwareDataList{}, client.InNamespace(p.a.Namespace)),
		"list machines of tenant a":      list(&clusterv1.MachineList{}, client.InNamespace(p.a.Namespace)),
		"get a Metal3Machine of a":       get(other.Metal3),
		"delete a machine of tenant a":   del(other.Machine),
		"list pools of tenant a":         list(&ipamv1alpha1.IPPoolList{}, client.InNamespace(p.a.Namespace)),
		"list claims of all namespaces":  list(&bmov1alpha1.HostClaimList{}),
		"list secrets of all namespaces": list(&corev1.SecretList{}),

		"write the status of its own claim": func(ctx context.Context, c client.Client) error {
			claim := mine.Claim.DeepCopy()
			claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: p.pool.Namespace, Name: other.Host.Name}
			return c.Status().Patch(ctx, claim, client.MergeFrom(mine.Claim))
		},
	})
	// The credentials are good for what they are meant for.
	for title, allowed := range map[string]request{
		"list its own claims":  list(&bmov1alpha1.HostClaimList{}, client.InNamespace(p.b.Namespace)),
		"get its own machine":  get(mine.Metal3),
		"list its own secrets": list(&corev1.SecretList{}, client.InNamespace(p.b.Namespace)),
	} {
		if err := allowed(t.Context(), p.b.Client); err != nil {
			t.Errorf("tenant b cannot %s: %v", title, err)
		}
	}
}

// managersAreConfined tries the same with the tokens that the managers run with.
func (p *play) managersAreConfined(t *testing.T) {
	machine := p.a.machines(t)[0]
	t.Run("provider", func(t *testing.T) {
		refused(t, actingAs(t, components.ProviderManager), map[string]request{
			"get a host":                     get(machine.Host),
			"list hosts":                     list(&bmov1alpha1.BareMetalHostList{}),
			"patch a host":                   patch(machine.Host),
			"get a BMC secret":               get(bmcSecret(machine.Host)),
			"list secrets of the pool":       list(&corev1.SecretList{}, client.InNamespace(p.pool.Namespace)),
			"list secrets of all namespaces": list(&corev1.SecretList{}),
			"list policies":                  list(&bmov1alpha1.HostDeployPolicyList{}),
		})
		hosts := metav1.GroupVersionResource{Group: bmov1alpha1.GroupVersion.Group, Resource: "baremetalhosts"}
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
			denied(t, components.ProviderManager, verb, hosts, p.pool.Namespace)
			denied(t, components.ProviderManager, verb, hosts, "")
		}
		secrets := metav1.GroupVersionResource{Resource: "secrets"}
		for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
			denied(t, components.ProviderManager, verb, secrets, p.pool.Namespace)
			denied(t, components.ProviderManager, verb, secrets, "")
		}
		// The question is put rightly: in a tenant's namespace the answer is yes.
		if !allowed(t, components.ProviderManager, "get", secrets, p.a.Namespace) {
			t.Error("the provider may not get secrets of its tenant")
		}
	})
	t.Run("hostclaim", func(t *testing.T) {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.a.Namespace, Name: p.a.cluster.Name}}
		refused(t, actingAs(t, components.HostClaimManager), map[string]request{
			"get a Metal3Machine":            get(machine.Metal3),
			"list Metal3Machines":            list(&infrav1.Metal3MachineList{}),
			"patch a Metal3Machine":          patch(machine.Metal3),
			"get a Cluster":                  get(cluster),
			"list Clusters":                  list(&clusterv1.ClusterList{}),
			"get a Machine":                  get(machine.Machine),
			"list address pools":             list(&ipamv1alpha1.IPPoolList{}),
			"list secrets of all namespaces": list(&corev1.SecretList{}),
			"write a secret of a tenant":     patch(secretOf(&corev1.SecretReference{Namespace: p.a.Namespace, Name: "a-kubeconfig"})),
			"write a policy":                 patch(policyOf(p.pool.Namespace, "tenants")),
			"delete a host":                  del(machine.Host),
			"delete all claims":              delAll(&bmov1alpha1.HostClaim{}, p.a.Namespace),
			"make a claim":                   create(claimLike(machine.Claim)),
		})
	})
}

// refused expects each request to be Forbidden. Objects are tried without being
// changed if the request should succeed after all.
func refused(t *testing.T, c client.Client, requests map[string]request) {
	t.Helper()
	for title, try := range requests {
		if err := try(t.Context(), c); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want Forbidden", title, err)
		}
	}
}

func list(into client.ObjectList, options ...client.ListOption) request {
	return func(ctx context.Context, c client.Client) error { return c.List(ctx, into, options...) }
}

func get(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Get(ctx, client.ObjectKeyFromObject(object), copied(object))
	}
}

func patch(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, copied(object), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"e2e":"was-here"}}}`)), client.DryRunAll)
	}
}

func del(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Delete(ctx, copied(object), client.DryRunAll)
	}
}

func delAll(kind client.Object, namespace string) request {
	return func(ctx context.Context, c client.Client) error {
		return c.DeleteAllOf(ctx, copied(kind), client.InNamespace(namespace), client.DryRunAll)
	}
}

// claimLike is a new claim that asks for what another one asks for.
func claimLike(claim *bmov1alpha1.HostClaim) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name + "-too"},
		Spec:       bmov1alpha1.HostClaimSpec{HostSelector: claim.Spec.HostSelector},
	}
}

func create(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, copied(object), client.DryRunAll)
	}
}

// copied keeps what the tests share as it is.
func copied(object client.Object) client.Object {
	duplicate, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return object
	}
	return duplicate
}

func bmcSecret(host *bmov1alpha1.BareMetalHost) *corev1.Secret {
	return secretOf(&corev1.SecretReference{Namespace: host.Namespace, Name: host.Spec.BMC.CredentialsName})
}

func secretOf(ref *corev1.SecretReference) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
}

func policyOf(namespace, name string) *bmov1alpha1.HostDeployPolicy {
	return &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// actingAs connects with the kubeconfig that a manager of the cluster runs with.
func actingAs(t *testing.T, component string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", lab.Running[component].Kubeconfig)
	must(t, err)
	c, err := client.New(config, client.Options{Scheme: lab.admin.Scheme(), Mapper: lab.admin.RESTMapper()})
	must(t, err)
	return c
}

// denied expects the API server to say no when the manager asks for itself.
func denied(t *testing.T, component, verb string, resource metav1.GroupVersionResource, namespace string) {
	t.Helper()
	if allowed(t, component, verb, resource, namespace) {
		t.Errorf("%s may %s %s in namespace %q", component, verb, resource.Resource, namespace)
	}
}

func allowed(t *testing.T, component, verb string, resource metav1.GroupVersionResource, namespace string) bool {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", lab.Running[component].Kubeconfig)
	must(t, err)
	// The test asks many questions at once.
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	review, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource,
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	return review.Status.Allowed
}
