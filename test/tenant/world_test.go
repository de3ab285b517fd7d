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
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	associated   = bmov1alpha1.AssociatedCondition
	synchronized = bmov1alpha1.SynchronizedCondition
	noHost       = "False/" + bmov1alpha1.NoBareMetalHostReason
	finalizer    = "hostclaim.metal3.io/finalizer"
	uidLabel     = "hostclaim.metal3.io/claim-uid"
	goodURL      = "https://good.example/os.raw"
)

// world is the namespace of the attacker, the namespace of the victim, and the
// one with the hosts that both may claim.
type world struct {
	harness.Story
	mallory, alice, infra string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{Story: server.NewStory(t)}
	w.mallory = server.Namespace(t, "mallory", nil)
	w.alice = server.Namespace(t, "alice", nil)
	w.infra = server.Namespace(t, "infra", nil)
	manager := harness.HostClaimAccount()
	w.OK(server.Bind(w.Ctx, manager, w.mallory, sourceSecretsRole))
	w.OK(server.Bind(w.Ctx, manager, w.alice, sourceSecretsRole))
	w.OK(server.Bind(w.Ctx, manager, w.infra, hostSecretsRole))
	w.admit(mallory, malloryName, w.mallory)
	w.admit(alice, aliceName, w.alice)
	return w
}

// admit gives a user the role of a tenant in a namespace.
func (w *world) admit(who client.Client, user, namespace string) {
	w.T.Helper()
	w.OK(server.Client.Create(w.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenants"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tenantRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	w.G.Eventually(func() error {
		return who.List(w.Ctx, &bmov1alpha1.HostClaimList{}, client.InNamespace(namespace))
	}).Should(gomega.Succeed(), "the role of "+user)
}

// forbidden expects that the API server refuses a request.
func (w *world) forbidden(err error) {
	w.T.Helper()
	if !apierrors.IsForbidden(err) {
		w.T.Errorf("answered with %v, want Forbidden", err)
	}
}

// refused expects that a rule of admission does not let something in, with all
// parts of its explanation.
func (w *world) refused(err error, parts ...string) {
	w.T.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		w.T.Errorf("answered with %v, want a refusal", err)
		return
	}
	for _, part := range parts {
		w.G.Expect(err.Error()).To(gomega.ContainSubstring(part))
	}
}

// host makes a host that is free.
func (w *world) host(name string, changes ...func(*bmov1alpha1.BareMetalHost)) client.ObjectKey {
	w.T.Helper()
	host := builder.FreeHost(client.ObjectKey{Namespace: w.infra, Name: name})
	for _, change := range changes {
		change(host)
	}
	status := host.Status
	w.OK(server.Client.Create(w.Ctx, host))
	w.SetStatus(host, status)
	return client.ObjectKeyFromObject(host)
}

// policy admits both tenants.
func (w *world) policy(annotations map[string]string) {
	w.T.Helper()
	policy := builder.Policy(client.ObjectKey{Namespace: w.infra, Name: "policy"}, w.mallory, w.alice)
	policy.Annotations = annotations
	w.Make(policy)
}

// attack makes a claim of mallory's, and defend one of alice's.
func (w *world) attack(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.T.Helper()
	claim := builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: name}, changes...)
	w.OK(mallory.Create(w.Ctx, claim))
	return claim
}

func (w *world) defend(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.T.Helper()
	claim := builder.Claim(client.ObjectKey{Namespace: w.alice, Name: name}, changes...)
	w.OK(alice.Create(w.Ctx, claim))
	return claim
}

// withImage asks for an image and, unless it is empty, user data of a secret.
func withImage(url, userData string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: url, Checksum: "abc123"}
		if userData != "" {
			c.Spec.UserData = &corev1.SecretReference{Name: userData}
		}
	}
}

func (w *world) readHost(key client.ObjectKey) *bmov1alpha1.BareMetalHost {
	w.T.Helper()
	host := &bmov1alpha1.BareMetalHost{}
	w.OK(server.Client.Get(w.Ctx, key, host))
	return host
}

// change patches an object as a user, after a function changed it as it is now.
func change[T client.Object](w *world, who client.Client, o T, edit func(T), options ...client.PatchOption) error {
	w.T.Helper()
	w.Read(o)
	before, _ := o.DeepCopyObject().(client.Object)
	edit(o)
	return who.Patch(w.Ctx, o, client.MergeFrom(before), options...)
}

// expect waits until a condition of a claim is as given.
func (w *world) expect(claim *bmov1alpha1.HostClaim, kind, want string) {
	w.T.Helper()
	w.G.Eventually(func() string {
		w.Read(claim)
		return harness.Condition(claim.Status.Conditions, kind)
	}).Should(gomega.Equal(want), claim.Name+": "+kind)
}

// bound waits until a claim has its host.
func (w *world) bound(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	w.T.Helper()
	w.expect(claim, associated, "True/"+bmov1alpha1.BareMetalHostAssociatedReason)
	key := client.ObjectKey{Namespace: claim.Status.BareMetalHost.Namespace, Name: claim.Status.BareMetalHost.Name}
	w.ownedBy(key, claim)
	return key
}

// ready waits until the server of a claim runs.
func (w *world) ready(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	w.T.Helper()
	w.expect(claim, "Ready", "True/Provisioned")
	return w.bound(claim)
}

// ownedBy expects that a host names a claim.
func (w *world) ownedBy(host client.ObjectKey, claim *bmov1alpha1.HostClaim) {
	w.T.Helper()
	w.G.Expect(w.readHost(host).Spec.ConsumerRef).To(gomega.HaveValue(gomega.Equal(corev1.ObjectReference{
		APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	})))
}

// free expects that a host stays free.
func (w *world) free(host client.ObjectKey) {
	w.T.Helper()
	w.G.Consistently(func() *corev1.ObjectReference { return w.readHost(host).Spec.ConsumerRef }).Should(gomega.BeNil())
}

// untold expects that hosts are told nothing to run.
func (w *world) untold(keys ...client.ObjectKey) {
	w.T.Helper()
	w.G.Consistently(func(g gomega.Gomega) {
		for _, key := range keys {
			spec := w.readHost(key).Spec
			g.Expect(spec.Image).To(gomega.BeNil())
			g.Expect(spec.CustomDeploy).To(gomega.BeNil())
			g.Expect(spec.UserData).To(gomega.BeNil())
			g.Expect(spec.NetworkData).To(gomega.BeNil())
			g.Expect(hosts.booted(key)).To(gomega.BeEmpty())
		}
	}).Should(gomega.Succeed())
}

// copies are the secrets next to the hosts that were copied there, by name.
func (w *world) copies() map[string]string {
	w.T.Helper()
	list := &corev1.SecretList{}
	w.OK(server.Client.List(w.Ctx, list, client.InNamespace(w.infra), client.HasLabels{uidLabel}))
	found := map[string]string{}
	for _, secret := range list.Items {
		for _, value := range secret.Data {
			found[secret.Name] += string(value)
		}
	}
	return found
}

// pretendBound gives a claim the status of one that has its host.
func pretendBound(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	before := claim.DeepCopy()
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: associated, Status: metav1.ConditionTrue, Reason: bmov1alpha1.BareMetalHostAssociatedReason,
	})
	return server.Client.Status().Patch(ctx, claim, client.MergeFrom(before))
}
