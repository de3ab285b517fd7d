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
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// report writes the status that follows from the facts of the pass, unless it
// stands there already.
func (r *reporter) report(ctx context.Context, s *scope, out progress.Outcome) error {
	status := statusOf(s, out, r.clock.Now())
	r.metrics.waits(s, status)
	if equality.Semantic.DeepEqual(status, s.claim.Status) {
		return nil
	}
	before := s.claim.DeepCopy()
	status.LastUpdated = &metav1.Time{Time: r.clock.Now()}
	s.claim.Status = status
	if err := r.client.Status().Patch(ctx, s.claim, powerPatch{apply.Locked(before)}); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	r.announcer.announce(ctx, before.Status, s)
	return nil
}

// powerPatch is a patch of the status of a claim that writes poweredOn also when it
// is false. The API type leaves it out then, and kubectl would show nothing.
type powerPatch struct{ client.Patch }

// Data returns the patch as JSON.
func (p powerPatch) Data(object client.Object) ([]byte, error) {
	data, err := p.Patch.Data(object)
	claim, ok := object.(*bmov1alpha1.HostClaim)
	if err != nil || !ok || claim.Status.PoweredOn {
		return data, err
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedField(patch, false, "status", "poweredOn"); err != nil {
		return nil, err
	}
	return json.Marshal(patch)
}

// statusOf computes the status from the facts of a pass. It is pure: same
// scope, same status. The time counts only for conditions that change.
func statusOf(s *scope, out progress.Outcome, now time.Time) bmov1alpha1.HostClaimStatus {
	status := *s.claim.Status.DeepCopy()
	if s.otherController == "" && s.step == "" {
		// The pass failed before anything was known: what was reported holds.
		return status
	}
	set := func(c metav1.Condition) {
		c.Message = cut(c.Message)
		keepCounts(&c, meta.FindStatusCondition(status.Conditions, c.Type))
		c.ObservedGeneration = s.claim.Generation
		c.LastTransitionTime = metav1.NewTime(now)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	if s.otherController != "" {
		set(stoodDown(s, status.Conditions))
		return status
	}

	meta.RemoveStatusCondition(&status.Conditions, infrav1.StoodDownCondition)
	if associated, known := associatedOf(s); known {
		set(associated)
	}
	showHost(&status, s, out)
	if s.host == nil {
		meta.RemoveStatusCondition(&status.Conditions, infrav1.AdmittedCondition)
	}
	setMovable(&status, s.claim, set)
	if !deleting(s.claim) {
		status.HardwareData = s.hardware
	}
	for _, c := range partsOf(s) {
		set(c)
	}
	set(readyOf(s, status.Conditions))
	return status
}

// showHost says in a status which host the claim has. An intent stays there when the
// pass failed, since it must be fenced before it is dropped.
func showHost(status *bmov1alpha1.HostClaimStatus, s *scope, out progress.Outcome) {
	switch {
	case s.host != nil:
		status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: s.host.Namespace, Name: s.host.Name}
		status.PoweredOn = s.host.Status.PoweredOn
	case s.step == binding.ReportLost:
		status.PoweredOn = false
	case (s.step == binding.Choose || s.step == binding.Rest) && out.Err() == nil:
		status.BareMetalHost = nil
		status.PoweredOn = false
	}
}

// partsOf are the conditions between Associated and the summary. Those that follow
// the host are there until it is given back.
func partsOf(s *scope) []metav1.Condition {
	var parts []metav1.Condition
	if s.host != nil {
		parts = append(parts, admittedOf(s))
	}
	if s.host != nil || !deleting(s.claim) {
		parts = append(parts, synchronizedOf(s), availableOf(s), provisionedOf(s))
	}
	if !deleting(s.claim) {
		parts = append(parts, hardwareOf(s))
	}
	return parts
}

// associatedOf is the condition Associated; unknown while a bind has failed on
// the way, since the intent in the status must then stay as it is.
func associatedOf(s *scope) (metav1.Condition, bool) {
	c := metav1.Condition{Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionFalse}
	switch {
	case s.host != nil:
		c.Status, c.Reason = metav1.ConditionTrue, bmov1alpha1.BareMetalHostAssociatedReason
		c.Message = "BareMetalHost " + s.host.Namespace + "/" + s.host.Name
	case s.step == binding.ReportLost:
		c.Reason = bmov1alpha1.MissingBareMetalHostReason
		c.Message = "The host of this claim is gone or no longer names the claim; it is not replaced, delete the claim to get another one"
	case s.bindWait.Reason != "":
		c.Reason, c.Message = s.bindWait.Reason, s.bindWait.Message
	default:
		return c, false
	}
	return c, true
}

// keepCounts keeps the message of an explanation that differs only in numbers:
// a change of counts alone is not written.
func keepCounts(c, current *metav1.Condition) {
	if c.Type == bmov1alpha1.AssociatedCondition && current != nil && current.Reason == c.Reason && selection.SameButCounts(current.Message, c.Message) {
		c.Message = current.Message
	}
}

// maxMessage is how many bytes a message of a condition may have. The API server
// refuses a status with a much longer one, and with it everything else that the
// status says.
const maxMessage = 1024

// cut shortens a message, since it may repeat what a tenant or a server wrote.
func cut(message string) string {
	const mark = "…"
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage - len(mark)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + mark
}

// admittedOf is the condition Admitted of a claim with a host.
func admittedOf(s *scope) metav1.Condition {
	if s.grant().Admitted {
		return metav1.Condition{Type: infrav1.AdmittedCondition, Status: metav1.ConditionTrue, Reason: infrav1.PolicyAdmitsReason}
	}
	return metav1.Condition{
		Type: infrav1.AdmittedCondition, Status: metav1.ConditionFalse, Reason: infrav1.PolicyRevokedReason,
		Message: "No HostDeployPolicy admits this namespace to its host any more; what runs goes on, nothing new is written to the host",
	}
}

// synchronizedOf is the condition Synchronized. Nothing is written any more for a
// claim that goes.
func synchronizedOf(s *scope) metav1.Condition {
	c := metav1.Condition{Type: bmov1alpha1.SynchronizedCondition, Status: metav1.ConditionFalse}
	switch {
	case s.host == nil:
		c.Reason, c.Message = infrav1.NotAssociatedReason, "There is no host to synchronize with"
	case deleting(s.claim):
		c.Reason, c.Message = bmov1alpha1.HostClaimDeletingReason, goingMessage(s)
	case s.syncWait.Reason != "":
		c.Reason, c.Message = s.syncWait.Reason, s.syncWait.Message
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, bmov1alpha1.ConfigurationSyncedReason, s.syncNote
	}
	return c
}

// availableOf is the condition AvailableForProvisioning of the bound host.
func availableOf(s *scope) metav1.Condition {
	c := metav1.Condition{Type: bmov1alpha1.AvailableForProvisioningCondition, Status: metav1.ConditionFalse}
	switch {
	case s.host == nil:
		c.Reason, c.Message = infrav1.NotAssociatedReason, "There is no host"
	case s.host.Status.Provisioning.State == bmov1alpha1.StateAvailable,
		s.host.Status.Provisioning.State == bmov1alpha1.StateReady:
		c.Status, c.Reason = metav1.ConditionTrue, bmov1alpha1.AvailableReason
	default:
		c.Reason, c.Message = bmov1alpha1.NotAvailableReason, stateMessage(s.host)
	}
	return c
}

// provisionedOf is the condition Provisioned: the host runs what the claim asks
// for.
func provisionedOf(s *scope) metav1.Condition {
	c := metav1.Condition{Type: bmov1alpha1.ProvisionedCondition, Status: metav1.ConditionFalse}
	if s.host == nil {
		c.Reason, c.Message = infrav1.NotAssociatedReason, "There is no host"
		return c
	}
	if message, failed := hostError(s.host, s.crossing()); failed {
		c.Reason, c.Message = bmov1alpha1.ErrorReason, message
		if binding.Provisioned(s.claim, s.host) {
			c.Status, c.Reason = metav1.ConditionTrue, bmov1alpha1.ProvisionedReason
		}
		return c
	}
	switch state := s.host.Status.Provisioning.State; {
	case binding.Provisioned(s.claim, s.host):
		c.Status, c.Reason = metav1.ConditionTrue, bmov1alpha1.ProvisionedReason
	case s.syncWait.Reason == infrav1.RebuildingReason:
		c.Reason, c.Message = s.syncWait.Reason, s.syncWait.Message
	case binding.Reserved(s.claim):
		c.Reason, c.Message = infrav1.ReservedReason, "The claim is kept for the next machine"
	case state == bmov1alpha1.StateProvisioning:
		c.Reason, c.Message = bmov1alpha1.ProvisioningReason, stateMessage(s.host)
	case state == bmov1alpha1.StateDeprovisioning:
		c.Reason, c.Message = bmov1alpha1.DeprovisioningReason, stateMessage(s.host)
	case !binding.Asked(s.claim) && !binding.HasPayload(s.host):
		c.Reason = bmov1alpha1.NotProvisionedReason
		c.Message = "No image asked for: nothing is written to the server before spec.image or spec.customDeploy is set. " + stateMessage(s.host)
	default:
		c.Reason, c.Message = bmov1alpha1.NotProvisionedReason, stateMessage(s.host)
	}
	return c
}

// hardwareOf is the condition HardwareDataPublished.
func hardwareOf(s *scope) metav1.Condition {
	c := metav1.Condition{Type: infrav1.HardwareDataPublishedCondition, Status: metav1.ConditionFalse}
	switch {
	case s.hardwareWait.Reason != "":
		c.Reason, c.Message = s.hardwareWait.Reason, s.hardwareWait.Message
	case s.hardware == nil:
		c.Reason, c.Message = infrav1.NotAssociatedReason, "There are no facts to publish"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.PublishedReason
	}
	return c
}

// readyOf sums up: the way out of a claim that goes, an error of the host, the
// first condition that does not hold, or that the host is out of management.
func readyOf(s *scope, all []metav1.Condition) metav1.Condition {
	c := metav1.Condition{Type: bmov1alpha1.ReadyCondition, Status: metav1.ConditionFalse}
	if deleting(s.claim) {
		c.Reason, c.Message = bmov1alpha1.HostClaimDeletingReason, goingMessage(s)
		if s.releaseWait.Reason != "" {
			c.Reason = s.releaseWait.Reason
		}
		return c
	}
	if message, failed := hostError(s.host, s.crossing()); failed {
		c.Reason, c.Message = bmov1alpha1.ErrorReason, message
		return c
	}
	for _, kind := range []string{
		bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition, bmov1alpha1.ProvisionedCondition,
	} {
		part := meta.FindStatusCondition(all, kind)
		if part == nil {
			c.Reason, c.Message = infrav1.NotAssociatedReason, kind+" is not known yet"
			return c
		}
		if part.Status != metav1.ConditionTrue {
			c.Reason, c.Message = part.Reason, part.Message
			return c
		}
	}
	switch s.host.Status.OperationalStatus {
	case bmov1alpha1.OperationalStatusDetached:
		c.Reason, c.Message = bmov1alpha1.DetachedReason, stateMessage(s.host)
	case bmov1alpha1.OperationalStatusServicing:
		c.Reason, c.Message = bmov1alpha1.ServicingReason, stateMessage(s.host)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, bmov1alpha1.ProvisionedReason
	}
	return c
}

// goingMessage says what a claim that is being deleted waits for.
func goingMessage(s *scope) string {
	if s.releaseWait.Message != "" {
		return s.releaseWait.Message
	}
	return "The claim is being deleted"
}

// stoodDown is the condition of a claim that another controller works on. The
// name of the other one is kept when it cannot be seen any more.
func stoodDown(s *scope, current []metav1.Condition) metav1.Condition {
	c := metav1.Condition{
		Type:   infrav1.StoodDownCondition,
		Status: metav1.ConditionTrue,
		Reason: infrav1.OtherControllerReason,
		Message: fmt.Sprintf("The status of this claim is written by %q as well; "+
			"run one controller of HostClaims only, then remove this condition", s.otherController),
	}
	if before := meta.FindStatusCondition(current, c.Type); before != nil && before.Status == c.Status {
		c.Message = before.Message
	}
	return c
}

// hostError words an error of the host for its tenant. The text of the host may
// hold addresses of the infrastructure, so it stays in its namespace.
func hostError(host *bmov1alpha1.BareMetalHost, crossing bool) (string, bool) {
	if host == nil || !binding.InError(host) {
		return "", false
	}
	message := "The host is in error"
	if kind := binding.ErrorName(host); kind != "" {
		message += " (" + kind + ")"
	}
	switch {
	case crossing:
		message += "; the infrastructure team sees the text of it on the host"
	case host.Status.ErrorMessage != "":
		message += ": " + host.Status.ErrorMessage
	}
	return message, true
}

// stateMessage says what the host does, and why it may do nothing for a while.
func stateMessage(host *bmov1alpha1.BareMetalHost) string {
	message := "The state of the host is " + binding.StateName(host)
	if why := binding.Standstill(host); why != "" {
		message += "; " + why
	}
	return message
}
