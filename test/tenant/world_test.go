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
	"encoding/json"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	t                     *testing.T
	g                     *gomega.WithT
	ctx                   context.Context
	mallory, alice, infra string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, g: gomega.NewWithT(t), ctx: t.Context()}
	w.mallory = server.Namespace(t, "mallory", nil)
	w.alice = server.Namespace(t, "alice", nil)
	w.infra = server.Namespace(t, "infra", nil)
	manager := harness.HostClaimAccount()
	w.ok(server.Bind(w.ctx, manager, w.mallory, sourceSecretsRole))
	w.ok(server.Bind(w.ctx, manager, w.alice, sourceSecretsRole))
	w.ok(server.Bind(w.ctx, manager, w.infra, hostSecretsRole))
	w.admit(mallory, malloryName, w.mallory)
	w.admit(alice, aliceName, w.alice)
	return w
}

// admit gives a user the role of a tenant in a namespace.
func (w *world) admit(who client.Client, user, namespace string) {
	w.t.Helper()
	w.ok(server.Client.Create(w.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenants"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tenantRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	w.g.Eventually(func() error {
		return who.List(w.ctx, &bmov1alpha1.HostClaimList{}, client.InNamespace(namespace))
	}).Should(gomega.Succeed(), "the role of "+user)
}

func (w *world) ok(err error) {
	w.t.Helper()
	w.g.Expect(err).NotTo(gomega.HaveOccurred())
}

// forbidden expects that the API server refuses a request.
func (w *world) forbidden(err error) {
	w.t.Helper()
	if !apierrors.IsForbidden(err) {
		w.t.Errorf("answered with %v, want Forbidden", err)
	}
}

// refused expects that a rule of admission does not let something in, with all
// parts of its explanation.
func (w *world) refused(err error, parts ...string) {
	w.t.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		w.t.Errorf("answered with %v, want a refusal", err)
		return
	}
	for _, part := range parts {
		w.g.Expect(err.Error()).To(gomega.ContainSubstring(part))
	}
}

// host makes a host that is free.
func (w *world) host(name string, changes ...func(*bmov1alpha1.BareMetalHost)) client.ObjectKey {
	w.t.Helper()
	host := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: name},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BootMACAddress: "02:00:00:00:00:01", AutomatedCleaningMode: bmov1alpha1.CleaningModeDisabled,
			BMC: bmov1alpha1.BMCDetails{Address: "redfish://192.0.2.77/redfish/v1", CredentialsName: "bmc"},
		},
		Status: bmov1alpha1.BareMetalHostStatus{
			OperationalStatus: bmov1alpha1.OperationalStatusOK,
			Provisioning:      bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateAvailable},
			HardwareDetails:   &bmov1alpha1.HardwareDetails{Hostname: name, RAMMebibytes: 1024},
		},
	}
	for _, change := range changes {
		change(host)
	}
	status := host.Status
	w.ok(server.Client.Create(w.ctx, host))
	w.status(host, status)
	return client.ObjectKeyFromObject(host)
}

// status writes the whole status of an object as its owner would.
func (w *world) status(o client.Object, status any) {
	w.t.Helper()
	text, err := json.Marshal(map[string]any{"status": status})
	w.ok(err)
	w.ok(server.Client.Status().Patch(w.ctx, o, client.RawPatch(types.MergePatchType, text)))
}

// policy admits both tenants.
func (w *world) policy(annotations map[string]string) {
	w.t.Helper()
	w.ok(server.Client.Create(w.ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "policy", Annotations: annotations},
		Spec: bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{
			Names: []string{w.mallory, w.alice},
		}},
	}))
}

func claimOf(namespace, name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: true},
	}
	for _, change := range changes {
		change(claim)
	}
	return claim
}

// attack makes a claim of mallory's, and defend one of alice's.
func (w *world) attack(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.t.Helper()
	claim := claimOf(w.mallory, name, changes...)
	w.ok(mallory.Create(w.ctx, claim))
	return claim
}

func (w *world) defend(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.t.Helper()
	claim := claimOf(w.alice, name, changes...)
	w.ok(alice.Create(w.ctx, claim))
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

// secret makes a secret.
func (w *world) secret(namespace, name, key, value string) {
	w.t.Helper()
	w.ok(server.Client.Create(w.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: []byte(value)},
	}))
}

// read brings an object up to date.
func (w *world) read(o client.Object) {
	w.t.Helper()
	w.ok(server.Client.Get(w.ctx, client.ObjectKeyFromObject(o), o))
}

func (w *world) readHost(key client.ObjectKey) *bmov1alpha1.BareMetalHost {
	w.t.Helper()
	host := &bmov1alpha1.BareMetalHost{}
	w.ok(server.Client.Get(w.ctx, key, host))
	return host
}

// change patches an object as a user, after a function changed it as it is now.
func change[T client.Object](w *world, who client.Client, o T, edit func(T), options ...client.PatchOption) error {
	w.t.Helper()
	w.read(o)
	before, _ := o.DeepCopyObject().(client.Object)
	edit(o)
	return who.Patch(w.ctx, o, client.MergeFrom(before), options...)
}

// condition returns a condition as "Status/Reason"; "none" when it is absent.
func condition(claim *bmov1alpha1.HostClaim, kind string) string {
	if c := meta.FindStatusCondition(claim.Status.Conditions, kind); c != nil {
		return string(c.Status) + "/" + c.Reason
	}
	return "none"
}

func message(claim *bmov1alpha1.HostClaim, kind string) string {
	if c := meta.FindStatusCondition(claim.Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// expect waits until a condition of a claim is as given.
func (w *world) expect(claim *bmov1alpha1.HostClaim, kind, want string) {
	w.t.Helper()
	w.g.Eventually(func() string {
		w.read(claim)
		return condition(claim, kind)
	}).Should(gomega.Equal(want), claim.Name+": "+kind)
}

// bound waits until a claim has its host.
func (w *world) bound(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	w.t.Helper()
	w.expect(claim, associated, "True/"+bmov1alpha1.BareMetalHostAssociatedReason)
	key := client.ObjectKey{Namespace: claim.Status.BareMetalHost.Namespace, Name: claim.Status.BareMetalHost.Name}
	w.ownedBy(key, claim)
	return key
}

// ready waits until the server of a claim runs.
func (w *world) ready(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	w.t.Helper()
	w.expect(claim, "Ready", "True/Provisioned")
	return w.bound(claim)
}

// ownedBy expects that a host names a claim.
func (w *world) ownedBy(host client.ObjectKey, claim *bmov1alpha1.HostClaim) {
	w.t.Helper()
	w.g.Expect(w.readHost(host).Spec.ConsumerRef).To(gomega.HaveValue(gomega.Equal(corev1.ObjectReference{
		APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	})))
}

// free expects that a host stays free.
func (w *world) free(host client.ObjectKey) {
	w.t.Helper()
	w.g.Consistently(func() *corev1.ObjectReference { return w.readHost(host).Spec.ConsumerRef }).Should(gomega.BeNil())
}

// untold expects that hosts are told nothing to run.
func (w *world) untold(keys ...client.ObjectKey) {
	w.t.Helper()
	w.g.Consistently(func(g gomega.Gomega) {
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

// gone waits until a claim is gone.
func (w *world) gone(claim *bmov1alpha1.HostClaim) {
	w.t.Helper()
	w.g.Eventually(func() bool {
		return apierrors.IsNotFound(server.Client.Get(w.ctx, client.ObjectKeyFromObject(claim), claim.DeepCopy()))
	}).Should(gomega.BeTrue(), claim.Name)
}

// copies are the secrets next to the hosts that were copied there, by name.
func (w *world) copies() map[string]string {
	w.t.Helper()
	list := &corev1.SecretList{}
	w.ok(server.Client.List(w.ctx, list, client.InNamespace(w.infra), client.HasLabels{uidLabel}))
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
