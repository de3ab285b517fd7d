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

package hostclaim

import (
	"context"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	blockMove   = "clusterctl.cluster.x-k8s.io/block-move"
	movable     = "hostclaim.metal3.io/Movable"
	boundAs     = "hostclaim.metal3.io/bound-host-uid"
	claimUID    = "hostclaim.metal3.io/claim-uid"
	formerMode  = "hostclaim.metal3.io/former-cleaning-mode"
	otherHosts  = "False/HostInOtherNamespace"
	formerClaim = "uid-of-the-claim-before"
	formerHost  = "uid-of-the-host-before"
)

// boundBefore makes a host name the claim machine by the UID that it had before.
// Hosts of stories about moves stand in the namespace of the tenant.
func boundBefore(namespace string) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) {
		h.Labels = map[string]string{claimUID: formerClaim}
		h.Annotations = map[string]string{boundAs: formerHost, formerMode: "disabled"}
		h.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
		h.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: namespace, Name: "machine", UID: formerClaim,
		}
	}
}

// newMoved makes a world whose hosts stand in the namespace of the tenant.
func newMoved(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.infra = w.tenant
	return w
}

func TestClaimHasTheHostAgainThatWasMovedWithIt(t *testing.T) {
	tests := map[string]struct {
		claim  []func(*bmov1alpha1.HostClaim)
		before func(w *world) // what is left of the status
	}{
		"without a status": {},
		"although its selector does not match any more": {claim: []func(*bmov1alpha1.HostClaim){withLabel("rack", "a1")}},
		"with the status that it had before": {before: func(w *world) {
			claim := w.readClaim("machine")
			before := claim.DeepCopy()
			claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: w.tenant, Name: "host-1"}
			for _, kind := range []string{associated, "hostclaim.metal3.io/HardwareDataPublished"} {
				meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Restored"})
			}
			w.OK(w.Status().Patch(w.Ctx, claim, client.MergeFrom(before), client.FieldOwner("hostclaim-manager")))
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoved(t)
			w.host("host-0", nil)
			w.host("host-1", nil, boundBefore(w.tenant))
			claim := w.claim("machine", tt.claim...)
			if tt.before != nil {
				tt.before(w)
			}
			w.manager()
			w.G.Eventually(func() any { return w.readHost("host-1").Spec.ConsumerRef.UID }).Should(gomega.Equal(claim.UID))
			w.G.Expect(w.expectBound("machine")).To(gomega.Equal("host-1"))
			host := w.readHost("host-1")
			w.G.Expect(host.Labels).To(gomega.HaveKeyWithValue(claimUID, string(claim.UID)))
			delete(host.Annotations, "hostclaim.metal3.io/power-changes")
			w.G.Expect(host.Annotations).To(gomega.Equal(map[string]string{
				boundAs: string(host.UID), formerMode: "disabled", blockMove: "hostclaim-manager",
			}))
			w.expectUntouched("host-0")

			w.givenBack("host-1")
		})
	}
}

func TestNoneOfSeveralMovedHostsIsTaken(t *testing.T) {
	w := newMoved(t)
	w.host("host-0", nil)
	w.host("host-1", nil, boundBefore(w.tenant))
	w.host("host-2", nil, boundBefore(w.tenant))
	w.manager()
	w.claim("machine")
	w.expect("machine", associated, "False/AmbiguousHost", "host-1, host-2")
	w.G.Consistently(func() any { return w.readHost("host-0").Spec.ConsumerRef }).Should(gomega.BeNil())

	harness.Change(w.Story, w.readHost("host-1"), func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef = nil })
	w.G.Expect(w.expectBound("machine")).To(gomega.Equal("host-2"))
}

func TestClaimWithAHostInAnotherNamespaceIsKeptFromBeingMoved(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0")
	s := newStall(t, bindRequests["the consumerRef"])
	w.transport = s.transport
	w.manager()
	w.claim("machine")
	w.G.Eventually(s.reached).Should(gomega.BeClosed())
	w.G.Expect(w.readClaim("machine").Annotations).To(gomega.HaveKey(blockMove), "before a host is bound")
	close(s.goOn)
	w.expectBound("machine")
	bound := w.expect("machine", movable, "none")

	// A tenant who takes it off gets it back.
	harness.Change(w.Story, bound, func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, blockMove) })
	w.G.Eventually(func() map[string]string { return w.readClaim("machine").Annotations }).Should(gomega.HaveKey(blockMove))
	w.pause(true)
	w.expect("machine", movable, otherHosts, "identityRef")
	w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey(bmov1alpha1.PausedAnnotation))
}

// A manager died after it had written the intent to bind a host of another namespace.
func TestClaimIsMovableAgainWhenItDoesNotGetTheHost(t *testing.T) {
	w := newMoved(t)
	claim := w.claim("machine", func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{"hostclaim.metal3.io/finalizer"}
		c.Annotations = map[string]string{blockMove: "hostclaim-manager"}
	})
	before := claim.DeepCopy()
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "other", Name: "host-0"}
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{Type: associated, Status: metav1.ConditionUnknown, Reason: "Binding"})
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{Type: movable, Status: metav1.ConditionFalse, Reason: "HostInOtherNamespace"})
	w.OK(w.Status().Patch(w.Ctx, claim, client.MergeFrom(before), client.FieldOwner("hostclaim-manager")))
	w.manager()
	w.expect("machine", associated, "False/NoNamespaceAdmits")
	w.G.Expect(w.expect("machine", movable, "none").Annotations).NotTo(gomega.HaveKey(blockMove))
}

// The infrastructure team withdraws its word while clusterctl may be moving the host already.
func TestWithdrawnHandOverBlocksTheClaimAndKeepsThePause(t *testing.T) {
	w, host := newRunning(t)
	w.readyToMove()
	w.confirm(false)
	w.expect("machine", movable, "False/HandOverNotConfirmed", "stays paused")
	w.G.Expect(w.blocked(host)).To(gomega.Equal([2]bool{true, false}))
	paused := gomega.HaveKeyWithValue(bmov1alpha1.PausedAnnotation, "hostclaim.metal3.io/move")
	w.G.Consistently(func() map[string]string { return w.readHost(host).Annotations }).Should(paused)

	w.confirm(true)
	w.expect("machine", movable, readyToMove)
	w.G.Expect(w.blocked(host)).To(gomega.Equal([2]bool{}))
	w.confirm(false)
	w.expect("machine", movable, "False/HandOverNotConfirmed")
	w.pause(false)
	w.expectSameServer(host)
}

// refuse has an admission policy deny writes to the objects of the tenant's namespace after
// which an expression does not hold, and returns what ends that.
func (w *world) refuse(resource, allowed string, reason metav1.StatusReason) (end func()) {
	w.T.Helper()
	name := w.tenant + "-" + resource
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{"metal3.io"}, APIVersions: []string{"v1alpha1"}, Resources: []string{resource}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: allowed, Message: "says team x", Reason: &reason}},
	}}
	bound := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.tenant}}},
	}}
	w.Make(policy, bound)
	end = func() {
		for _, object := range []client.Object{bound, policy} {
			w.OK(client.IgnoreNotFound(server.Client.Delete(context.Background(), object)))
		}
	}
	w.T.Cleanup(end)
	return end
}

// isRefused waits until the API server refuses a change, of which it must have learned first.
func (w *world) isRefused(object client.Object, change string) {
	w.T.Helper()
	w.G.Eventually(func() error {
		return w.Patch(w.Ctx, object, client.RawPatch(types.MergePatchType, []byte(change)), client.DryRunAll)
	}).ShouldNot(gomega.Succeed())
}

const (
	withoutRecord = "!('hostclaim.metal3.io/moving' in object.metadata.?annotations.orValue({}))"
	record        = `{"metadata":{"annotations":{"hostclaim.metal3.io/moving":"x"}}}`
	withBlock     = "'clusterctl.cluster.x-k8s.io/block-move' in object.metadata.?annotations.orValue({})"
	noBlock       = `{"metadata":{"annotations":{"clusterctl.cluster.x-k8s.io/block-move":null}}}`
)

func TestMoveWaitsWhileTheAPIServerRefusesWhatMakesItSafe(t *testing.T) {
	denied := func(reason metav1.StatusReason) func(*world, string) func() {
		return func(w *world, host string) func() {
			end := w.refuse("baremetalhosts", withoutRecord, reason)
			w.isRefused(w.readHost(host), record)
			return end
		}
	}
	tests := map[string]struct {
		begin func(w *world, host string) (end func())
		says  string
	}{
		"since a policy forbids it": {denied(metav1.StatusReasonForbidden), "host made ready for a move: an admission policy or webhook forbids it"},
		"since a policy denies it":  {denied(metav1.StatusReasonInvalid), "host made ready for a move: an admission policy denies it"},
		"since it would be too long": {func(w *world, host string) func() {
			notes := func(text string) {
				harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) { h.Annotations["notes"] = text })
			}
			size := 256<<10 - 100
			for key, value := range w.readHost(host).Annotations {
				size -= len(key) + len(value)
			}
			notes(strings.Repeat("x", size))
			return func() { notes("") }
		}, "longer than 256 KiB"},
		"since a policy keeps the claim": {func(w *world, _ string) func() {
			end := w.refuse("hostclaims", withBlock, metav1.StatusReasonForbidden)
			w.isRefused(w.readClaim("machine"), noBlock)
			return end
		}, "block-move taken off the claim: an admission policy or webhook forbids it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, host := newRunning(t)
			end := tt.begin(w, host)
			w.pause(true)
			waits := w.expect("machine", movable, "False/PreparationRefused")
			message := harness.Message(waits.Status.Conditions, movable)
			w.G.Expect(message).To(gomega.And(gomega.ContainSubstring(tt.says), gomega.Not(gomega.ContainSubstring("team x"))))
			_, blocked := w.readClaim("machine").Annotations[blockMove]
			w.G.Expect(blocked).To(gomega.BeTrue())
			end()
			w.expect("machine", movable, readyToMove)
			w.pause(false)
			w.expectSameServer(host)
		})
	}
}

// Another client takes the pause off a host that may be moved, and it cannot be put back.
func TestClaimIsBlockedAgainWhenItsHostCannotBeMadeReadyAgain(t *testing.T) {
	w, host := newRunning(t)
	w.readyToMove()
	w.refuse("baremetalhosts", withoutRecord, metav1.StatusReasonForbidden)
	w.isRefused(w.readHost(host), record)
	harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, moving) })
	w.expect("machine", movable, "False/PreparationRefused")
	w.G.Expect(w.readClaim("machine").Annotations).To(gomega.HaveKey(blockMove))
}
