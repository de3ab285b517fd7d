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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			if got := w.expectBound("machine"); got != "host-1" {
				t.Errorf("bound to %s, want host-1", got)
			}
			host := w.readHost("host-1")
			w.G.Expect(host.Labels).To(gomega.HaveKeyWithValue(claimUID, string(claim.UID)))
			delete(host.Annotations, "hostclaim.metal3.io/power-changes")
			w.G.Expect(host.Annotations).To(gomega.Equal(map[string]string{
				boundAs: string(host.UID), formerMode: "disabled", blockMove: "hostclaim-manager",
			}))
			w.expectUntouched("host-0")

			w.OK(w.Delete(w.Ctx, claim))
			w.expectGone("machine")
			w.expectPristine("host-1")
		})
	}
}

// A claim that was made again under the name of another one is no moved claim.
func TestHostThatWasNotMovedIsNotInherited(t *testing.T) {
	tests := map[string]func(w *world, host *bmov1alpha1.BareMetalHost){
		"since it kept its UID":    func(_ *world, h *bmov1alpha1.BareMetalHost) { h.Annotations[boundAs] = string(h.UID) },
		"since we never bound it":  func(_ *world, h *bmov1alpha1.BareMetalHost) { h.Labels, h.Annotations = nil, nil },
		"since it names another's": func(_ *world, h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Namespace = "other" },
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoved(t)
			w.host("host-0", nil, boundBefore(w.tenant), func(h *bmov1alpha1.BareMetalHost) {
				h.Status.Provisioning.State = bmov1alpha1.StateProvisioned // what was never put to work goes back to the pool
			})
			harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { edit(w, h) })
			w.manager()
			w.claim("machine")
			waiting := w.expect("machine", associated, noHost)
			w.G.Expect(harness.Message(waiting.Status.Conditions, associated)).To(gomega.HavePrefix("1 host seen: 1 in use"))
			w.G.Consistently(func() any { return w.readHost("host-0").Spec.ConsumerRef.UID }).Should(gomega.BeEquivalentTo(formerClaim))
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
	waiting := w.expect("machine", associated, "False/AmbiguousHost")
	w.G.Expect(harness.Message(waiting.Status.Conditions, associated)).To(gomega.ContainSubstring("host-1, host-2"))
	w.G.Consistently(func() any { return w.readHost("host-0").Spec.ConsumerRef }).Should(gomega.BeNil())

	harness.Change(w.Story, w.readHost("host-1"), func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef = nil })
	if got := w.expectBound("machine"); got != "host-2" {
		t.Errorf("bound to %s, want host-2", got)
	}
}

func TestClaimWithAHostInAnotherNamespaceIsKeptFromBeingMoved(t *testing.T) {
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	w.host("host-0", nil)
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
	paused := w.expect("machine", movable, otherHosts)
	w.G.Expect(harness.Message(paused.Status.Conditions, movable)).To(gomega.ContainSubstring("identityRef"))
	w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey(bmov1alpha1.PausedAnnotation))
}

// A manager died after it had written the intent to bind a host of another namespace.
func TestClaimIsMovableAgainWhenItDoesNotGetTheHost(t *testing.T) {
	tests := map[string]struct {
		value string
		hosts bool // there is a host in the claim's namespace
		stays bool
	}{
		"and blocked by the one in its namespace":     {value: "hostclaim-manager", hosts: true, stays: true},
		"when it gets none":                           {value: "hostclaim-manager"},
		"unless another client wants it to stay":      {value: "by hand", hosts: true, stays: true},
		"unless another client wants it, host or not": {value: "by hand", stays: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoved(t)
			if tt.hosts {
				w.host("host-0", nil)
			}
			claim := w.claim("machine", func(c *bmov1alpha1.HostClaim) {
				c.Finalizers = []string{"hostclaim.metal3.io/finalizer"}
				c.Annotations = map[string]string{blockMove: tt.value}
			})
			before := claim.DeepCopy()
			claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "other", Name: "host-0"}
			meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{Type: associated, Status: metav1.ConditionUnknown, Reason: "Binding"})
			meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{Type: movable, Status: metav1.ConditionFalse, Reason: "HostInOtherNamespace"})
			w.OK(w.Status().Patch(w.Ctx, claim, client.MergeFrom(before), client.FieldOwner("hostclaim-manager")))
			w.manager()
			if tt.hosts {
				w.expectBound("machine")
			} else {
				w.expect("machine", associated, "False/NoNamespaceAdmits")
			}
			after := w.expect("machine", movable, "none")
			if _, found := after.Annotations[blockMove]; found != tt.stays {
				t.Errorf("block-move is there: %t, want %t", found, tt.stays)
			}
		})
	}
}
