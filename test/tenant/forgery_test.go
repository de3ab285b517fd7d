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
	"strings"
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
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// A claim of the name of the victim's, that names whatever the victim's names, is
// another claim.
func TestTenantForgingConsumerRefGetsNoHostOfAnother(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	victim := w.defend("machine")
	w.bound(victim)
	twin := w.attack("machine", func(c *bmov1alpha1.HostClaim) {
		c.UID = victim.UID
		c.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: w.alice, Name: "machine", UID: victim.UID,
		}
	})
	w.expect(twin, associated, noHost)
	w.OK(change(w, mallory, twin, func(c *bmov1alpha1.HostClaim) {
		c.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Namespace: host.Namespace, Name: host.Name,
		}
	}))
	w.end(mallory, twin)
	w.G.Expect(hosts.booted(host)).To(gomega.BeEmpty())
	w.bound(victim)
}

func TestTenantCannotWriteTheStatusOfAClaim(t *testing.T) {
	w := newPool(t, nil)
	host := w.host("host-0", func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"owner": "alice"} })
	victim := w.defend("machine")
	w.bound(victim)
	status := bmov1alpha1.HostClaimStatus{
		BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: host.Namespace, Name: host.Name},
		Conditions: []metav1.Condition{{
			Type: associated, Status: metav1.ConditionTrue, Reason: "BareMetalHostAssociated", LastTransitionTime: metav1.Now(),
		}},
	}
	forged := w.attack("forged", func(c *bmov1alpha1.HostClaim) { c.Status = status })
	w.expect(forged, associated, noHost)
	w.G.Expect(forged.Status.BareMetalHost).To(gomega.BeNil())
	before := forged.DeepCopy()
	forged.Status = status
	w.forbidden(mallory.Status().Patch(w.Ctx, forged.DeepCopy(), client.MergeFrom(before)))
	w.OK(mallory.Patch(w.Ctx, forged, client.MergeFrom(before))) // the status in it is dropped
	w.expect(forged, associated, noHost)
	w.end(mallory, forged)
	w.bound(victim)
}

// Managed fields are metadata, so every writer of a claim may write them. They
// can keep the manager from the claim that carries them, and from no other.
func TestForgedFieldManagersDoNotStopOthers(t *testing.T) {
	w := newPool(t, nil, "host-0")
	forged := []byte(`{"metadata":{"managedFields":[{"manager":"baremetal-operator","operation":"Update","subresource":"status",
		"apiVersion":"metal3.io/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:poweredOn":{}}}}]}}`)
	first := w.attack("first", func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchLabels = map[string]string{"no": "host"} })
	w.expect(first, associated, noHost)
	w.OK(mallory.Patch(w.Ctx, first, client.RawPatch(types.MergePatchType, forged)))
	w.bound(w.defend("machine"))
	w.OK(mallory.Patch(w.Ctx, first, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))))
	w.end(mallory, first)
}

// A claim without finalizer would vanish and leave its host booked, unclean.
func TestTenantStrippingTheFinalizerIsRefusedAndItsHostIsWiped(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	claim := w.attack("machine", withImage(goodURL, ""))
	w.ready(claim)
	strip := func(c *bmov1alpha1.HostClaim) { controllerutil.RemoveFinalizer(c, finalizer) }
	w.refused(change(w, mallory, claim, strip), "verb release on hostclaims")
	w.OK(change(w, mallory, claim, annotation("cluster.x-k8s.io/paused", "")))
	w.OK(mallory.Delete(w.Ctx, claim))
	w.refused(change(w, mallory, claim, strip), "verb release on hostclaims")
	w.refused(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil }), "verb release on hostclaims")
	w.ownedBy(host, claim)
	w.OK(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { c.Annotations = nil }))
	w.AwaitGone(claim)
	w.pristine(host, 1)
}

// pristine expects a host that was wiped so often, with cleaning on each time, and
// on which nothing of a claim is left.
func (w *world) pristine(host client.ObjectKey, wipes int) {
	w.T.Helper()
	w.G.Eventually(func(g gomega.Gomega) {
		h := w.readHost(host)
		g.Expect(h.Spec.ConsumerRef).To(gomega.BeNil())
		g.Expect(h.Spec.Image).To(gomega.BeNil())
		g.Expect(h.Spec.UserData).To(gomega.BeNil())
		g.Expect(h.Spec.AutomatedCleaningMode).To(gomega.Equal(bmov1alpha1.CleaningModeDisabled), "that of the administrator")
		g.Expect(h.Labels).NotTo(gomega.HaveKey(uidLabel))
	}).Should(gomega.Succeed())
	cleaned, dirty := hosts.wipes(host)
	w.G.Expect([]int{cleaned, dirty}).To(gomega.Equal([]int{wipes, 0}), "wiped with and without cleaning")
	w.G.Expect(w.copies()).To(gomega.BeEmpty())
}

// Paused claims, and those that clusterctl moves, are left alone. So a pause takes
// no host, and a host that the claim has already stays with it, counted against
// the quota, until the pause ends: no other is drawn in, and none comes back unclean.
func TestPausedClaimKeepsNoHostButItsOwn(t *testing.T) {
	for name, key := range map[string]string{
		"paused":        "cluster.x-k8s.io/paused",
		"DeleteForMove": "clusterctl.cluster.x-k8s.io/delete-for-move",
	} {
		t.Run(name, func(t *testing.T) {
			w := newPool(t, nil)
			first := w.host("host-0")
			claim := w.attack("machine", withImage(goodURL, ""))
			w.ready(claim)
			second := w.host("host-1")
			idle := w.attack("idle", annotation(key, ""))
			w.free(second)
			version := idle.ResourceVersion
			w.Read(idle)
			w.G.Expect(idle.ResourceVersion).To(gomega.Equal(version), "nothing is written to it")
			w.OK(change(w, mallory, claim, annotation(key, "")))
			w.OK(mallory.Delete(w.Ctx, claim))
			w.end(mallory, idle)
			w.bound(w.defend("machine"))

			w.Read(claim)
			w.G.Expect(claim.Finalizers).To(gomega.ContainElement(finalizer), "it counts against the quota")
			w.ownedBy(first, claim)
			w.refused(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil }))
			w.OK(server.Client.Delete(w.Ctx, builder.Policy(client.ObjectKey{Namespace: w.infra, Name: "policy"})))
			w.G.Expect(w.readHost(first).Annotations).NotTo(gomega.Or(
				gomega.HaveKey(bmov1alpha1.PausedAnnotation), gomega.HaveKey("hostclaim.metal3.io/moving")), "baremetal-operator goes on")
			w.OK(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, key) }))
			w.AwaitGone(claim)
			w.pristine(first, 1)
		})
	}
}

// A server that is not managed could not be wiped, nor switched off.
func TestTenantCannotForceItsServerToBeDetached(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	w.refused(mallory.Create(w.Ctx, builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "machine"}, annotation("baremetalhost.metal3.io/detached", ""))),
		"annotation baremetalhost.metal3.io/detached is not accepted", "ask the infrastructure team")
	claim := w.attack("machine", withImage(goodURL, ""))
	w.ready(claim)
	w.refused(change(w, mallory, claim, annotation("baremetalhost.metal3.io/detached", `{"deleteAction":"delay"}`)), "is not accepted on a claim")
	for _, key := range []string{"baremetalhost.metal3.io/paused", "inspect.metal3.io", "baremetalhost.metal3.io/status"} {
		w.OK(change(w, mallory, claim, annotation(key, "")))
	}
	w.G.Consistently(func(g gomega.Gomega) {
		for key := range w.readHost(host).Annotations {
			g.Expect(key).To(gomega.Or(gomega.HavePrefix("hostclaim.metal3.io/"), gomega.Equal("clusterctl.cluster.x-k8s.io/block-move")))
		}
	}).Should(gomega.Succeed())
	w.end(mallory, claim)
	w.pristine(host, 1)
}

// A tenant reboots its own server and no other, and does not take away what the
// infrastructure team has asked of it.
func TestTenantCannotRebootServersOfOthersNorCallOffAReboot(t *testing.T) {
	const held = "reboot.metal3.io/infra"
	w := newPool(t, nil, "host-0", "host-1")
	victim, claim := w.defend("machine"), w.attack("machine")
	theirs, own := w.bound(victim), w.bound(claim)
	for _, host := range []client.ObjectKey{theirs, own} {
		w.OK(change(w, server.Client, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) {
			h.Annotations[held] = `{"mode":"hard"}`
		}))
	}
	w.forbidden(change(w, mallory, victim, annotation("reboot.metal3.io", "")))
	w.refused(change(w, mallory, claim, annotation("reboot.metal3.io", `{"mode":"loud"}`)), `"loud"`)
	w.OK(change(w, mallory, claim, annotation(held, `{"mode":"soft"}`)))
	w.OK(change(w, mallory, claim, annotation("reboot.metal3.io/me", "")))
	w.G.Consistently(func() string { return w.readHost(own).Annotations[held] }).Should(gomega.Equal(`{"mode":"hard"}`))
	w.OK(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { c.Annotations = nil }))
	w.G.Consistently(func(g gomega.Gomega) {
		g.Expect(w.readHost(own).Annotations).To(gomega.HaveKeyWithValue(held, `{"mode":"hard"}`))
		g.Expect(w.readHost(theirs).Annotations).To(gomega.HaveKeyWithValue(held, `{"mode":"hard"}`))
		g.Expect(w.readHost(theirs).Annotations).NotTo(gomega.HaveKey("reboot.metal3.io"))
	}).Should(gomega.Succeed())
}

// A policy may select namespaces by label, so labels of namespaces are rights.
func TestTenantCannotSpoofTheLabelsThatAPolicyAsksFor(t *testing.T) {
	w := newWorld(t)
	host := w.host("host-0")
	w.OK(server.Client.Create(w.Ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "labeled"},
		Spec:       admitting(bmov1alpha1.HostClaimNamespaces{HasLabels: []bmov1alpha1.NameValuePair{{Name: "hosts." + w.infra}}}),
	}))
	claim := w.attack("machine", label("hosts."+w.infra, ""), func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = w.infra })
	w.expect(claim, associated, "False/NoNamespaceAdmits")
	labels := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"hosts.`+w.infra+`":""}}}`))
	for _, name := range []string{w.mallory, w.infra} {
		w.forbidden(mallory.Patch(w.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, labels))
	}
	w.forbidden(mallory.Create(w.Ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "new-" + w.mallory, Labels: map[string]string{"hosts." + w.infra: ""}},
	}))
	for _, namespace := range []string{w.mallory, w.infra} {
		w.forbidden(mallory.Create(w.Ctx, &bmov1alpha1.HostDeployPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}, Spec: admitting(bmov1alpha1.HostClaimNamespaces{}),
		}))
	}
	w.free(host)
}

// The facts of a host are published under a name that follows from the claim's.
func TestTenantCannotSquatTheNamesOfPublishedFacts(t *testing.T) {
	w := newPool(t, map[string]string{"hostclaim.metal3.io/publish-labels": "rack"}, "host-0", "host-1")
	w.forbidden(mallory.Create(w.Ctx, &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{Namespace: w.mallory, Name: "m-hostclaim"}}))
	w.forbidden(mallory.Create(w.Ctx, &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.mallory, Name: "m-hostclaim"}}))
	long := strings.Repeat("m", 250)
	one, two := w.attack(long+"-a"), w.attack(long+"-b")
	seen := map[string]bool{}
	for _, claim := range []*bmov1alpha1.HostClaim{one, two} {
		host := w.bound(claim)
		w.expect(claim, "hostclaim.metal3.io/HardwareDataPublished", "True/Published")
		facts := &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{Namespace: w.mallory, Name: claim.Status.HardwareData.Name}}
		w.Read(facts)
		w.G.Expect(facts.Annotations).To(gomega.HaveKeyWithValue("hostclaim.metal3.io/host-name", host.Name))
		seen[facts.Name] = true
		w.forbidden(mallory.Patch(w.Ctx, facts, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"rack":"x"}}}`))))
		w.forbidden(mallory.Delete(w.Ctx, facts))
	}
	w.G.Expect(seen).To(gomega.HaveLen(2))
}

// Owner references of a claim may name anything by UID. Nothing that the manager
// makes or removes follows them.
func TestOwnerReferencesToForeignObjectsReachNothing(t *testing.T) {
	w := newPool(t, nil, "host-0", "host-1")
	w.MakeSecret(w.mallory, "boot", "value", "of mallory")
	victim := w.defend("machine", withImage(goodURL, ""))
	theirs := w.ready(victim)
	foreign := w.readHost(theirs)
	claim := w.attack("machine", withImage(goodURL, "boot"), func(c *bmov1alpha1.HostClaim) {
		c.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Name: victim.Name, UID: victim.UID},
			{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Name: foreign.Name, UID: foreign.UID, Controller: ptr.To(true)},
		}
	})
	// As those from before the rule may have it.
	w.OK(change(w, server.Client, claim, func(c *bmov1alpha1.HostClaim) {
		for i := range c.OwnerReferences {
			c.OwnerReferences[i].BlockOwnerDeletion = ptr.To(true)
		}
	}))
	own := w.readHost(w.ready(claim))
	copied := &corev1.SecretList{}
	w.OK(server.Client.List(w.Ctx, copied, client.InNamespace(w.infra), client.MatchingLabels{uidLabel: string(claim.UID)}))
	w.G.Expect(copied.Items).To(gomega.HaveLen(1))
	w.G.Expect(copied.Items[0].OwnerReferences).To(gomega.Equal([]metav1.OwnerReference{
		{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Name: own.Name, UID: own.UID},
	}))
	w.end(mallory, claim)
	w.ready(victim)
	w.end(alice, victim)
	w.pristine(theirs, 1)
}

// A label that stands for a reservation does not spare a server the wipe.
func TestNodeReuseLabelDoesNotKeepAHostUncleaned(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	claim := w.attack("machine", withImage(goodURL, ""), label("infrastructure.cluster.x-k8s.io/node-reuse", "mine"))
	w.ready(claim)
	w.G.Expect(w.readHost(host).Labels).NotTo(gomega.HaveKey("infrastructure.cluster.x-k8s.io/node-reuse"))
	w.end(mallory, claim)
	w.pristine(host, 1)
	w.bound(w.defend("machine"))
}

// A tenant that cannot have a host cannot get it by changing what was agreed upon.
func TestTenantCannotSwapItsServerOrWhatItRunsUnderTheBind(t *testing.T) {
	w := newPool(t, map[string]string{"hostclaim.metal3.io/allowed-image-urls": `https://good\.example/.*`}, "host-0")
	w.host("host-1", func(h *bmov1alpha1.BareMetalHost) {
		h.Labels = map[string]string{"gpu": "yes"}
		h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "kept"}
	})
	claim := w.attack("machine", withImage(goodURL, ""))
	host := w.ready(claim)
	w.refused(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) {
		c.Spec.HostSelector.MatchLabels = map[string]string{"gpu": "yes"}
	}), "spec.hostSelector")
	w.refused(change(w, mallory, claim, withImage("https://good.example/other.raw", "")), "spec.image")
	w.G.Expect(w.readHost(host).Spec.Image.URL).To(gomega.Equal(goodURL))
	w.ready(claim)
}

// A finalizer of the tenant's own holds its claim, and not the server.
func TestOwnFinalizerOfATenantDoesNotKeepTheHost(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	claim := w.attack("machine", withImage(goodURL, ""), func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"example.com/mine"} })
	w.ready(claim)
	w.OK(mallory.Delete(w.Ctx, claim))
	w.pristine(host, 1)
	w.G.Eventually(func() []string {
		w.Read(claim)
		return claim.Finalizers
	}).Should(gomega.Equal([]string{"example.com/mine"}))
	w.OK(change(w, mallory, claim, withImage("https://good.example/other.raw", "")))
	w.bound(w.defend("machine"))
	w.OK(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil }))
	w.AwaitGone(claim)
}

// What a claim reports about namespaces that do not admit it is the same whether they exist, and
// have hosts, or not.
func TestTenantCannotFindOutAboutNamespacesThatDoNotAdmitIt(t *testing.T) {
	w := newPool(t, nil)
	others := &world{Story: w.Story, infra: server.Namespace(t, "others", nil)}
	others.host("secret-0", func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"rack": "a1"} })
	in := func(namespace string) edit {
		return func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = namespace }
	}
	texts := map[string]bool{}
	for name, namespace := range map[string]string{"existing": others.infra, "missing": "no-such-" + w.infra, "alice": w.alice} {
		claim := w.attack(name, in(namespace))
		w.expect(claim, associated, "False/NoNamespaceAdmits")
		texts[strings.ReplaceAll(harness.Message(claim.Status.Conditions, associated), namespace, "it")] = true
	}
	w.G.Expect(texts).To(gomega.HaveLen(1))
	claim := w.attack("any", func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchLabels = map[string]string{"rack": "a1"} })
	w.expect(claim, associated, noHost)
	w.G.Expect(harness.Message(claim.Status.Conditions, associated)).To(gomega.HavePrefix("no hosts seen"))
}

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

// The garbage collector goes by the UID alone: the rest of a reference does not matter, and the
// host would not go in the foreground before the tenant's object has gone.
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
