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
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// holdBack says until when a status is not written, since all that it tells is how far the
// host is on its way to the image, or back to the pool. Any other one is urgent: a change of the claim, which
// cost its tenant a request too, or of its host has brought it about.
func (r *reporter) holdBack(p *pass, status bmov1alpha1.HostClaimStatus, out progress.Outcome) (until time.Time, held bool) {
	report := retry.Urgent
	if out.Err() == nil && transient(p.claim.Status, status, deleting(p.claim)) {
		report = retry.Transient
	}
	return r.reports.Hold(keyOf(p.claim), report, r.clock.Now(), r.holdFor)
}

// transient says that two statuses differ in nothing but the state of a bound host that gets
// its image, or waits for the claim to ask for one, or of one that is being wiped for a claim
// that goes. Power is a part of that state.
func transient(before, after bmov1alpha1.HostClaimStatus, goes bool) bool {
	if len(before.Conditions) != len(after.Conditions) ||
		!equality.Semantic.DeepEqual(before.BareMetalHost, after.BareMetalHost) ||
		!equality.Semantic.DeepEqual(before.HardwareData, after.HardwareData) {
		return false
	}
	provisioned := meta.FindStatusCondition(after.Conditions, bmov1alpha1.ProvisionedCondition)
	if !goes && (provisioned == nil || !onItsWay(*provisioned)) {
		return false
	}
	return !slices.ContainsFunc(after.Conditions, func(c metav1.Condition) bool {
		was := meta.FindStatusCondition(before.Conditions, c.Type)
		return was == nil || !unchangedOrTransient(*was, c, goes)
	})
}

// unchangedOrTransient says that a condition has not changed, or only as far as the host is. Whatever a
// claim said before, that it goes is told by its deletionTimestamp too.
func unchangedOrTransient(before, after metav1.Condition, goes bool) bool {
	same := before.Status == after.Status && before.Reason == after.Reason && before.Message == after.Message
	switch {
	case after.Type == bmov1alpha1.AvailableForProvisioningCondition:
		return true
	case goes:
		return same || onItsWayBack(after)
	case after.Type == bmov1alpha1.ProvisionedCondition, after.Type == bmov1alpha1.ReadyCondition:
		return onItsWay(before) && onItsWay(after)
	default:
		return same
	}
}

// onItsWay says that a condition waits for nothing but the host.
func onItsWay(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse &&
		(c.Reason == bmov1alpha1.NotProvisionedReason || c.Reason == bmov1alpha1.ProvisioningReason)
}

// onItsWayBack says that a condition of a claim that goes waits for nothing but the host.
func onItsWayBack(c metav1.Condition) bool {
	switch c.Reason {
	case bmov1alpha1.HostClaimDeletingReason, binding.HostDeprovisioningReason, binding.HostPoweringOffReason:
		return c.Status == metav1.ConditionFalse
	default:
		return c.Type == bmov1alpha1.ProvisionedCondition && c.Status == metav1.ConditionFalse
	}
}
