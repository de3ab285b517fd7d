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

package tenant

import (
	"fmt"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
)

// ofClass is a Cluster of mallory's whose class is in a namespace.
func (w *world) ofClass(name, namespace string) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.mallory, Name: name},
		Spec: clusterv1.ClusterSpec{Topology: clusterv1.Topology{
			Version: "v1.36.1", ClassRef: clusterv1.ClusterClassRef{Name: "shop", Namespace: namespace},
		}},
	}
}

// Cluster API would copy the templates of the class next to the Cluster.
func TestAttackClassOfAnotherTenant(t *testing.T) {
	w := newWorld(t)
	w.G.Eventually(func() error { return mallory.Create(w.Ctx, w.ofClass("new", w.alice), client.DryRunAll) }).
		Should(gomega.MatchError(gomega.And(
			gomega.ContainSubstring(`spec.topology.classRef.namespace is "`+w.alice+`", whose class shop the writer may not read`),
			gomega.ContainSubstring("bring the class into "+w.mallory))))
	w.OK(mallory.Create(w.Ctx, w.ofClass("own", ""), client.DryRunAll))
	w.OK(mallory.Create(w.Ctx, w.ofClass("spelled", w.mallory), client.DryRunAll))

	plain := w.ofClass("plain", "")
	w.OK(mallory.Create(w.Ctx, plain))
	elsewhere := func(class, namespace string) func(*clusterv1.Cluster) {
		return func(c *clusterv1.Cluster) {
			c.Spec.Topology.ClassRef = clusterv1.ClusterClassRef{Name: class, Namespace: namespace}
		}
	}
	w.refused(change(w, mallory, plain, elsewhere("shop", w.alice)), "whose class shop the writer may not read")

	// What is there since before the rule holds up nothing else.
	old := w.ofClass("old", w.alice)
	w.OK(server.Client.Create(w.Ctx, old))
	w.OK(change(w, mallory, old, func(c *clusterv1.Cluster) { c.Spec.Topology.Version = "v1.36.2" }))
	w.refused(change(w, mallory, old, elsewhere("bank", w.alice)), "whose class bank the writer may not read")
	w.OK(change(w, mallory, old, elsewhere("shop", "")))
	w.refused(change(w, mallory, old, elsewhere("shop", w.alice)), "may not read")
}

func TestSharedClassesAreForThoseWhoMayReadThem(t *testing.T) {
	w := newWorld(t)
	reader := metav1.ObjectMeta{Namespace: w.infra, Name: "class-users"}
	w.Make(
		&rbacv1.Role{ObjectMeta: reader, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1.GroupVersion.Group}, Resources: []string{"clusterclasses"}, ResourceNames: []string{"shop"}, Verbs: []string{"get"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: reader, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: malloryName}},
		})
	w.G.Eventually(func() error { return mallory.Create(w.Ctx, w.ofClass("shared", w.infra), client.DryRunAll) }).Should(gomega.Succeed())
	bank := w.ofClass("other", w.infra)
	bank.Spec.Topology.ClassRef.Name = "bank"
	w.G.Eventually(func() error { return mallory.Create(w.Ctx, bank, client.DryRunAll) }).
		Should(gomega.MatchError(gomega.ContainSubstring("whose class bank the writer may not read")))
}

// The garbage collector goes by the UID alone: whatever a reference says beside it, the host
// would not go in the foreground before the tenant's object has gone.
func TestAttackOwnerReferenceThatHoldsAHost(t *testing.T) {
	w := newWorld(t)
	host := w.readHost(w.host("server"))
	holding := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: w.mallory, Name: name, Finalizers: []string{"mallory.example/forever"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "mine", UID: host.UID, BlockOwnerDeletion: ptr.To(true),
			}},
		}
	}
	hostly := holding("hostly")
	hostly.OwnerReferences[0] = metav1.OwnerReference{
		APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "BareMetalHost", Name: host.Name, UID: host.UID, BlockOwnerDeletion: ptr.To(true),
	}
	claim := builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "holding"})
	claim.OwnerReferences = holding("holding").OwnerReferences
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: hostly},
		&corev1.ConfigMap{ObjectMeta: holding("map")},
		&corev1.Secret{ObjectMeta: holding("secret")},
		claim,
		&clusterv1.Cluster{ObjectMeta: holding("cluster"), Spec: w.ofClass("cluster", "").Spec},
		&infrav1.Metal3DataTemplate{ObjectMeta: holding("template"), Spec: infrav1.Metal3DataTemplateSpec{ClusterName: ptr.To("c")}},
	} {
		w.G.Eventually(func() error { return mallory.Create(w.Ctx, o, client.DryRunAll) }).
			Should(gomega.MatchError(gomega.ContainSubstring("leave blockOwnerDeletion out")), "%T", o)
	}

	plain := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.mallory, Name: "plain"}}
	w.OK(mallory.Create(w.Ctx, plain))
	owned := func(block *bool) func(*corev1.ConfigMap) {
		return func(c *corev1.ConfigMap) {
			c.OwnerReferences = holding("").OwnerReferences
			c.OwnerReferences[0].BlockOwnerDeletion = block
		}
	}
	w.refused(change(w, mallory, plain, owned(ptr.To(true))), "leave blockOwnerDeletion out")
	w.OK(change(w, mallory, plain, owned(nil)))
	w.refused(change(w, mallory, plain, owned(ptr.To(true))), "leave blockOwnerDeletion out")

	// Controllers write such references, and the tenant goes on changing what has one.
	w.OK(change(w, server.Client, plain, owned(ptr.To(true))))
	w.OK(change(w, mallory, plain, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "b"} }))

	// However many there are, the tenant goes on changing the rest, and the rule has an answer of its own.
	w.OK(change(w, server.Client, plain, func(c *corev1.ConfigMap) {
		c.OwnerReferences = nil
		for i := range 1000 {
			c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{
				APIVersion: "v1", Kind: "ConfigMap", Name: "many", UID: types.UID(fmt.Sprintf("of-another-host-with-a-long-uid-%d", i)), BlockOwnerDeletion: ptr.To(true),
			})
		}
	}))
	w.OK(change(w, mallory, plain, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": "c"} }))
	w.refused(change(w, mallory, plain, func(c *corev1.ConfigMap) { c.OwnerReferences[999].UID = host.UID }), "leave blockOwnerDeletion out")
	w.refused(change(w, mallory, plain, func(c *corev1.ConfigMap) { c.OwnerReferences = c.OwnerReferences[1:] }), "at most 32")
}

// An operator with rights in one namespace only sets such references when it is given the verb.
func TestOperatorOfANamespaceMayBlockTheDeletionOfOwners(t *testing.T) {
	w := newWorld(t)
	operator := metav1.ObjectMeta{Namespace: w.mallory, Name: "operator"}
	w.Make(
		&rbacv1.Role{ObjectMeta: operator, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"manage"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: operator, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: operator.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: malloryName}},
		})
	owned := metav1.ObjectMeta{Namespace: w.mallory, Name: "owned", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "owner", BlockOwnerDeletion: ptr.To(true),
	}}}
	w.G.Eventually(func() error { return mallory.Create(w.Ctx, &corev1.ConfigMap{ObjectMeta: owned}, client.DryRunAll) }).Should(gomega.Succeed())
	w.refused(mallory.Create(w.Ctx, &corev1.Secret{ObjectMeta: owned}, client.DryRunAll), "needs the verb")
}
