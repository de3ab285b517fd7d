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

package binding

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestIntending(t *testing.T) {
	claim, host := newClaim(), newHost(func(h *bmov1alpha1.BareMetalHost) { h.ResourceVersion = "41" })
	intending := Intending(claim, host)
	want := claim.DeepCopy()
	want.Finalizers = []string{infrav1.HostClaimFinalizer}
	want.Annotations = map[string]string{
		infrav1.BlockMoveAnnotation:     infrav1.HostClaimManagerFieldOwner,
		infrav1.BoundClaimUIDAnnotation: "claim-uid",
		infrav1.IntendedHostAnnotation:  "claim-uid/infra/host-0/host-uid/41",
	}
	expect.Equal(t, want, intending)
	expect.Equal(t, intending, Intending(intending, host)) // the same intent is no other version of the claim
	host.ResourceVersion = "42"
	expect.That(t, !cmp.Equal(intending, Intending(intending, host)), "an intent for a host that has changed is no other version of the claim")
}

// A claim that had a host has it, or has lost it, when its intent is dropped; any other has none.
func TestStatusOfAnIntent(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	host := &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
	associated := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{
			Type: bmov1alpha1.AssociatedCondition, Status: status, Reason: reason, Message: message,
			ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(now),
		}}
	}
	binding := associated(metav1.ConditionUnknown, infrav1.BindingReason, "A host was chosen and is being bound")
	for name, tt := range map[string]struct {
		before, intended, dropped bmov1alpha1.HostClaimStatus
		record                    Record
	}{
		"of a new claim": {
			intended: bmov1alpha1.HostClaimStatus{BareMetalHost: host, Conditions: binding},
			dropped:  bmov1alpha1.HostClaimStatus{Conditions: binding},
			record:   Unrecorded,
		},
		"of a claim that waits": {
			before:   bmov1alpha1.HostClaimStatus{Conditions: associated(metav1.ConditionFalse, bmov1alpha1.NoBareMetalHostReason, "m")},
			intended: bmov1alpha1.HostClaimStatus{BareMetalHost: host, Conditions: binding},
			dropped:  bmov1alpha1.HostClaimStatus{Conditions: binding},
			record:   Unrecorded,
		},
		"of a claim that has lost its host": {
			before: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionFalse, bmov1alpha1.MissingBareMetalHostReason, LostMessage),
			},
			intended: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionUnknown, bmov1alpha1.MissingBareMetalHostReason,
					"The host of this claim was moved or restored and is being bound again"),
			},
			dropped: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionFalse, bmov1alpha1.MissingBareMetalHostReason, LostMessage),
			},
			record: Lost,
		},
		"of a claim that is refused the host that it had": {
			before: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionFalse, infrav1.BindRefusedReason, "m"),
			},
			intended: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionUnknown, infrav1.BindRefusedReason,
					"The host of this claim was moved or restored and is being bound again"),
			},
			dropped: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionFalse, infrav1.BindRefusedReason,
					"The host of this claim was moved or restored and is being bound again"),
			},
			record: Lost,
		},
		"of a claim that does not know yet that it has lost its host": {
			before: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionTrue, bmov1alpha1.BareMetalHostAssociatedReason, "m"),
			},
			intended: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionUnknown, bmov1alpha1.BareMetalHostAssociatedReason,
					"The host of this claim was moved or restored and is being bound again"),
			},
			dropped: bmov1alpha1.HostClaimStatus{
				BareMetalHost: host, Conditions: associated(metav1.ConditionTrue, bmov1alpha1.BareMetalHostAssociatedReason, ""),
			},
			record: Bound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Generation, c.Status = 7, tt.before })
			intended := WithIntentStatus(claim, newHost(), now)
			expect.Equal(t, tt.intended, intended.Status)
			expect.Equal(t, Intended, RecordOf(intended))
			dropped := WithoutIntentStatus(intended, now)
			expect.Equal(t, tt.dropped, dropped.Status)
			expect.Equal(t, tt.record, RecordOf(dropped))
		})
	}
}

func TestLastIntent(t *testing.T) {
	for name, tt := range map[string]struct {
		record string
		found  bool
	}{
		"of the claim":                       {"claim-uid/infra/host-0/host-uid/41", true},
		"of the claim that it was made from": {"old-uid/infra/host-0/host-uid/41", false},
		"without the UID of the host":        {"claim-uid/infra/host-0//41", false},
		"without a namespace":                {"claim-uid//host-0/host-uid/41", false},
		"whose name is a path":               {"claim-uid/infra/../host-uid/41", false},
		"by half":                            {"claim-uid/infra/host-0", false},
		"empty":                              {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			claim, want := newClaim(recorded(tt.record)), Intent{}
			if tt.found {
				want = Intent{Host: types.NamespacedName{Namespace: "infra", Name: "host-0"}, UID: "host-uid", Version: "41"}
			}
			got, found := LastIntent(claim)
			expect.That(t, got == want && found == tt.found, "LastIntent() = %v, %t, want %v", got, found, want)
			expect.That(t, New(claim) != found, "New() = %t although %t that there is an intent", !found, found)
		})
	}
}

// A tenant may write anything there.
func TestRecordOfManyPartsTakesNoMemory(t *testing.T) {
	const most = 64 << 10
	claim := newClaim(recorded(strings.Repeat("/", 4*most)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, found := LastIntent(claim)
	runtime.ReadMemStats(&after)
	got := after.TotalAlloc - before.TotalAlloc
	expect.That(t, !found && got <= most, "LastIntent() takes %d bytes and finds an intent: %t", got, found)
}

func recorded(value string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.IntendedHostAnnotation, value)
	}
}

func TestIntentIsOpen(t *testing.T) {
	last, _ := LastIntent(newClaim(recorded("claim-uid/infra/host-0/host-uid/41")))
	for name, tt := range map[string]struct {
		edit        hostEdit
		isFor, open bool
	}{
		"a host that a writer may still bind": {func(*bmov1alpha1.BareMetalHost) {}, true, true},
		"one that was written since":          {func(h *bmov1alpha1.BareMetalHost) { h.ResourceVersion = "42" }, true, false},
		"another one under its name":          {func(h *bmov1alpha1.BareMetalHost) { h.UID = "new" }, false, false},
		"another one":                         {func(h *bmov1alpha1.BareMetalHost) { h.Name = "host-1" }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			host := newHost(func(h *bmov1alpha1.BareMetalHost) { h.ResourceVersion = "41" }, tt.edit)
			if isFor, open := last.IsFor(host), last.Open(host); isFor != tt.isFor || open != tt.open {
				t.Errorf("is for the host: %t, open: %t; want %t, %t", isFor, open, tt.isFor, tt.open)
			}
		})
	}
}
