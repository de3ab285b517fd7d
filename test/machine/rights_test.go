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
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// TestRights shows that the manager, which all stories of this package run with
// these rights, can see neither hosts nor the secrets of those who own them.
func TestRights(t *testing.T) {
	t.Parallel()
	g, ctx := gomega.NewWithT(t), t.Context()
	infra := server.Namespace(t, "infra", nil)
	bmc := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "bmc"}}
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: hostName}}
	g.Expect(server.Client.Create(ctx, bmc)).To(gomega.Succeed())
	g.Expect(server.Client.Create(ctx, host)).To(gomega.Succeed())

	manager, err := client.New(server.As(harness.ProviderAccount()), client.Options{Scheme: server.Scheme})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, o := range []client.Object{host, bmc} {
		err := manager.Get(ctx, client.ObjectKeyFromObject(o), o)
		g.Expect(apierrors.IsForbidden(err)).To(gomega.BeTrue(), "get %T: %v", o, err)
	}
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
		for _, resource := range []authorizationv1.ResourceAttributes{
			{Group: "metal3.io", Resource: "baremetalhosts"},
			{Group: "metal3.io", Resource: "baremetalhosts", Subresource: "status"},
			{Group: "metal3.io", Resource: "hostdeploypolicies"},
			{Resource: "secrets", Namespace: infra},
			{Resource: "secrets"},
		} {
			resource.Verb = verb
			review := &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &resource},
			}
			g.Expect(manager.Create(ctx, review)).To(gomega.Succeed())
			g.Expect(review.Status.Allowed).To(gomega.BeFalse(), "%s %s/%s in %q", verb, resource.Group, resource.Resource, resource.Namespace)
		}
	}
}

// TestSecretsForbidden shows that a missing RoleBinding is named, and that the
// machine goes on by itself once it is there.
func TestSecretsForbidden(t *testing.T) {
	t.Parallel()
	tn := &tenant{Tenant: server.NewTenant(t, "tenant"), claim: machineName}
	tn.makeBootstrap("value", "#cloud-config")
	tn.cluster()
	tn.machine()
	tn.waits("AssociateBareMetalHost", "SecretsForbidden", "get secrets", tn.Namespace, "RoleBinding", secretsRole)
	tn.G.Expect(server.Bind(tn.Ctx, harness.ProviderAccount(), tn.Namespace, secretsRole)).To(gomega.Succeed())
	tn.claimed()
}
