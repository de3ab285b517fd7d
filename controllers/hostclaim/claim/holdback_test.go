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

package claim

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// boundStatus is the status of a claim with a host, whose condition Provisioned, repeated by
// Ready, has the given reason.
func boundStatus(provisioned metav1.ConditionStatus, reason string, change ...func(*bmov1alpha1.HostClaimStatus)) bmov1alpha1.HostClaimStatus {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "of " + reason}
	}
	s := bmov1alpha1.HostClaimStatus{
		BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host"},
		Conditions: []metav1.Condition{
			condition(bmov1alpha1.AssociatedCondition, metav1.ConditionTrue, bmov1alpha1.BareMetalHostAssociatedReason),
			condition(bmov1alpha1.SynchronizedCondition, metav1.ConditionTrue, bmov1alpha1.ConfigurationSyncedReason),
			condition(bmov1alpha1.AvailableForProvisioningCondition, metav1.ConditionFalse, bmov1alpha1.NotAvailableReason),
			condition(bmov1alpha1.ProvisionedCondition, provisioned, reason),
			condition(bmov1alpha1.ReadyCondition, provisioned, reason),
		},
	}
	for _, change := range change {
		change(&s)
	}
	return s
}

func TestTransient(t *testing.T) {
	const no, yes = metav1.ConditionFalse, metav1.ConditionTrue
	waiting := boundStatus(no, bmov1alpha1.NotProvisionedReason)
	released := func(why string) bmov1alpha1.HostClaimStatus {
		return boundStatus(no, bmov1alpha1.NotProvisionedReason, func(s *bmov1alpha1.HostClaimStatus) {
			s.Conditions[1].Status, s.Conditions[1].Reason, s.Conditions[1].Message = no, bmov1alpha1.HostClaimDeletingReason, ""
			s.Conditions[4].Reason, s.Conditions[4].Message = why, why
		})
	}
	tests := map[string]struct {
		before, after bmov1alpha1.HostClaimStatus
		goes, want    bool
	}{
		"the host begins to write the image": {waiting, boundStatus(no, bmov1alpha1.ProvisioningReason), false, true},
		"its power changes on the way":       {waiting, boundStatus(no, bmov1alpha1.NotProvisionedReason, func(s *bmov1alpha1.HostClaimStatus) { s.PoweredOn = true }), false, true},
		"it is no more available":            {boundStatus(no, bmov1alpha1.NotProvisionedReason, func(s *bmov1alpha1.HostClaimStatus) { s.Conditions[2].Status = yes }), waiting, false, true},
		"it runs the image":                  {waiting, boundStatus(yes, bmov1alpha1.ProvisionedReason), false, false},
		"its power changes while it runs": {
			boundStatus(yes, bmov1alpha1.ProvisionedReason),
			boundStatus(yes, bmov1alpha1.ProvisionedReason, func(s *bmov1alpha1.HostClaimStatus) { s.PoweredOn = true }), false, false,
		},
		"it fails":                             {waiting, boundStatus(no, bmov1alpha1.ErrorReason), false, false},
		"it has failed and goes on":            {boundStatus(no, bmov1alpha1.ErrorReason), waiting, false, false},
		"it was just bound":                    {bmov1alpha1.HostClaimStatus{}, waiting, false, false},
		"its facts are published":              {waiting, boundStatus(no, bmov1alpha1.NotProvisionedReason, func(s *bmov1alpha1.HostClaimStatus) { s.HardwareData = &bmov1alpha1.ObjectReference{Name: "f"} }), false, false},
		"what is asked for is refused":         {waiting, boundStatus(no, bmov1alpha1.NotProvisionedReason, func(s *bmov1alpha1.HostClaimStatus) { s.Conditions[1].Status = no }), false, false},
		"there is something to note":           {waiting, boundStatus(no, bmov1alpha1.NotProvisionedReason, func(s *bmov1alpha1.HostClaimStatus) { s.Conditions[1].Message = "rotated" }), false, false},
		"a host that is wiped goes on":         {released(binding.HostDeprovisioningReason), released(binding.HostPoweringOffReason), true, true},
		"its wiping begins":                    {boundStatus(yes, bmov1alpha1.ProvisionedReason), released(binding.HostDeprovisioningReason), true, true},
		"the same of a claim that does not go": {boundStatus(yes, bmov1alpha1.ProvisionedReason), released(binding.HostDeprovisioningReason), false, false},
		"its wiping begins, and cannot":        {boundStatus(yes, bmov1alpha1.ProvisionedReason), released(binding.HostPausedReason), true, false},
		"it fails while it is wiped":           {released(binding.HostDeprovisioningReason), released(binding.HostInErrorReason), true, false},
		"a person must do something about":     {released(binding.HostDeprovisioningReason), released(bmov1alpha1.DetachedReason), true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := transient(tc.before, tc.after, tc.goes); got != tc.want {
				t.Errorf("transient() = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestWhatPassesIsToldIfItLasts shows that a station is written when its time is over, and
// not before.
func TestWhatPassesIsToldIfItLasts(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(now)
	r := &reporter{clock: clock, reports: &retry.Reports{}, holdFor: 3 * time.Second}
	p := &pass{scope: scope{claim: &bmov1alpha1.HostClaim{Status: boundStatus(metav1.ConditionFalse, bmov1alpha1.NotProvisionedReason)}}}
	writing := boundStatus(metav1.ConditionFalse, bmov1alpha1.ProvisioningReason)
	for second, want := range []bool{true, true, true, false, true} {
		clock.SetTime(now.Add(time.Duration(second) * time.Second))
		if _, held := r.holdBack(p, writing, progress.Outcome{}); held != want {
			t.Errorf("after %d s: held %v, want %v", second, held, want)
		}
	}
	if _, held := r.holdBack(p, writing, progress.Failed(progress.ErrStale)); held {
		t.Error("the report of a pass that failed is held back")
	}
}
