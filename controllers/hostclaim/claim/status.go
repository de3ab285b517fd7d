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
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// patchStatus writes the status that follows from the facts of the pass, unless it
// stands there already.
func (r *Reconciler) patchStatus(ctx context.Context, s *scope, succeeded bool) error {
	status := statusOf(s, succeeded, r.Clock.Now())
	if equality.Semantic.DeepEqual(status, s.claim.Status) {
		return nil
	}
	before := s.claim.DeepCopy()
	status.LastUpdated = &metav1.Time{Time: r.Clock.Now()}
	s.claim.Status = status
	if err := r.Client.Status().Patch(ctx, s.claim, powerPatch{patch.Locked(before)}); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	r.announce(ctx, before.Status, s)
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

// statusOf computes the status from what a pass observed and came to. It is pure.
// The time counts only for conditions that change.
func statusOf(s *scope, succeeded bool, now time.Time) bmov1alpha1.HostClaimStatus {
	status := *s.claim.Status.DeepCopy()
	if s.otherController == "" && s.step == "" && s.waits.bind.Reason == "" {
		// The pass failed before anything was known: what was reported holds.
		return status
	}
	set := func(c metav1.Condition) {
		c.Message = text.Shorten(c.Message, maxMessage) // it may repeat what a tenant or a server wrote
		keepCounts(&c, binding.ConditionOf(status.Conditions, c.Type))
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
	showHost(&status, s, succeeded)
	if s.host == nil {
		meta.RemoveStatusCondition(&status.Conditions, infrav1.AdmittedCondition)
	}
	meta.RemoveStatusCondition(&status.Conditions, infrav1.MovableCondition)
	if !deleting(s.claim) {
		status.HardwareData = s.hardware
	}
	for _, c := range partsOf(s) {
		set(c)
	}
	set(readyOf(s, status.Conditions))
	return status
}

// showHost writes into a status which host the claim has. An intent stays when the pass failed,
// since it must be fenced before it is dropped.
func showHost(status *bmov1alpha1.HostClaimStatus, s *scope, succeeded bool) {
	switch {
	case s.host != nil:
		status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: s.host.Namespace, Name: s.host.Name}
		status.PoweredOn = s.host.Status.PoweredOn
	case s.step == binding.ReportLost:
		status.PoweredOn = false
	case s.hostless() && succeeded:
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

// isTrue and isFalse return a condition with that status.
func isTrue(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func isFalse(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// associatedOf is the condition Associated; unknown while a bind has failed on
// the way, since the intent in the status must then stay as it is.
func associatedOf(s *scope) (metav1.Condition, bool) {
	const kind = bmov1alpha1.AssociatedCondition
	switch {
	case s.host != nil:
		return isTrue(kind, bmov1alpha1.BareMetalHostAssociatedReason, "BareMetalHost "+s.host.Namespace+"/"+s.host.Name), true
	case s.step == binding.ReportLost:
		return isFalse(kind, bmov1alpha1.MissingBareMetalHostReason, binding.LostMessage), true
	default:
		return isFalse(kind, s.waits.bind.Reason, s.waits.bind.Message), s.waits.bind.Reason != ""
	}
}

// keepCounts keeps the message of an explanation that differs only in numbers:
// a change of counts alone is not written.
func keepCounts(c *metav1.Condition, current metav1.Condition) {
	if c.Type == bmov1alpha1.AssociatedCondition && current.Reason == c.Reason && selection.SameButCounts(current.Message, c.Message) {
		c.Message = current.Message
	}
}

// maxMessage is how many bytes a message of a condition may have. The API server refuses a
// whole status with a much longer one.
const maxMessage = 1024

// admittedOf is the condition Admitted of a claim with a host.
func admittedOf(s *scope) metav1.Condition {
	if s.grant().Admitted {
		return isTrue(infrav1.AdmittedCondition, infrav1.PolicyAdmitsReason, "")
	}
	return isFalse(infrav1.AdmittedCondition, infrav1.PolicyRevokedReason,
		"No HostDeployPolicy admits this namespace to its host any more; what runs goes on, nothing new is written to the host, and its power is neither switched nor cycled")
}

// synchronizedOf is the condition Synchronized. Nothing is written any more for a
// claim that goes.
func synchronizedOf(s *scope) metav1.Condition {
	const kind = bmov1alpha1.SynchronizedCondition
	switch {
	case s.host == nil:
		return isFalse(kind, infrav1.NotAssociatedReason, "There is no host to synchronize with")
	case deleting(s.claim):
		return isFalse(kind, bmov1alpha1.HostClaimDeletingReason, goingMessage(s))
	case s.waits.sync.Reason != "":
		return isFalse(kind, s.waits.sync.Reason, s.waits.sync.Message)
	default:
		return isTrue(kind, bmov1alpha1.ConfigurationSyncedReason, strings.Join(s.notes, ". "))
	}
}

// availableOf is the condition AvailableForProvisioning of the bound host. It does not name the states that a
// host passes on its way: each would be a write.
func availableOf(s *scope) metav1.Condition {
	const kind = bmov1alpha1.AvailableForProvisioningCondition
	switch {
	case s.host == nil:
		return isFalse(kind, infrav1.NotAssociatedReason, "There is no host")
	case deleting(s.claim):
		return isFalse(kind, bmov1alpha1.NotAvailableReason, "The host is given back")
	case s.host.Status.Provisioning.State == bmov1alpha1.StateAvailable, s.host.Status.Provisioning.State == bmov1alpha1.StateReady:
		return isTrue(kind, bmov1alpha1.AvailableReason, "")
	case binding.HasPayload(s.host):
		return isFalse(kind, bmov1alpha1.NotAvailableReason, "The host was told what to write")
	default:
		return isFalse(kind, bmov1alpha1.NotAvailableReason, "The host is on its way to another state")
	}
}

// provisionedOf is the condition Provisioned: the host runs what the claim asks
// for.
func provisionedOf(s *scope) metav1.Condition {
	const kind = bmov1alpha1.ProvisionedCondition
	if s.host == nil {
		return isFalse(kind, infrav1.NotAssociatedReason, "There is no host")
	}
	message, failed := hostError(s.host, s.crossing())
	switch state := s.host.Status.Provisioning.State; {
	case binding.Provisioned(s.claim, s.host):
		return isTrue(kind, bmov1alpha1.ProvisionedReason, message)
	case failed:
		return isFalse(kind, bmov1alpha1.ErrorReason, message)
	case deleting(s.claim):
		return isFalse(kind, bmov1alpha1.DeprovisioningReason, "The host is given back"+standstill(s.host))
	case s.waits.sync.Reason == infrav1.RebuildingReason, s.waits.sync.Reason == infrav1.WaitingForHostStatusReason:
		return isFalse(kind, s.waits.sync.Reason, s.waits.sync.Message)
	case reservation.Holds(s.claim):
		return isFalse(kind, infrav1.ReservedReason, "The claim is kept for the next machine")
	case goesOn(s.host):
		return isFalse(kind, bmov1alpha1.ProvisioningReason, stateMessage(s.host))
	case state == bmov1alpha1.StateDeprovisioning:
		return isFalse(kind, bmov1alpha1.DeprovisioningReason, stateMessage(s.host))
	case !binding.Asked(s.claim) && !binding.HasPayload(s.host):
		return isFalse(kind, bmov1alpha1.NotProvisionedReason, unasked(s.claim)+". "+stateMessage(s.host))
	default:
		return isFalse(kind, bmov1alpha1.NotProvisionedReason, stateMessage(s.host))
	}
}

// unasked returns the message of a claim that asks for no image, since its owner has not set one yet, or
// its author named none.
func unasked(claim *bmov1alpha1.HostClaim) string {
	if owner := metav1.GetControllerOf(claim); owner != nil {
		return fmt.Sprintf("%s %s has not asked for an image yet, and says what it waits for", owner.Kind, owner.Name)
	}
	return "No image asked for: nothing is written to the server before spec.image or spec.customDeploy is set"
}

// hardwareOf is the condition HardwareDataPublished.
func hardwareOf(s *scope) metav1.Condition {
	const kind = infrav1.HardwareDataPublishedCondition
	switch {
	case s.waits.publish.Reason != "":
		return isFalse(kind, s.waits.publish.Reason, s.waits.publish.Message)
	case s.hardware == nil:
		return isFalse(kind, infrav1.NotAssociatedReason, "There are no facts to publish")
	default:
		return isTrue(kind, infrav1.PublishedReason, "")
	}
}

// readyOf sums up: the way out of a claim that goes, an error of the host, the
// first condition that does not hold, or that the host is out of management.
func readyOf(s *scope, all []metav1.Condition) metav1.Condition {
	const ready = bmov1alpha1.ReadyCondition
	if deleting(s.claim) {
		return isFalse(ready, cmp.Or(s.waits.release.Reason, bmov1alpha1.HostClaimDeletingReason), goingMessage(s))
	}
	if message, failed := hostError(s.host, s.crossing()); failed {
		return isFalse(ready, bmov1alpha1.ErrorReason, message)
	}
	for _, kind := range []string{
		bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition, bmov1alpha1.ProvisionedCondition,
	} {
		part := meta.FindStatusCondition(all, kind)
		if part == nil {
			return isFalse(ready, infrav1.NotAssociatedReason, kind+" is not known yet")
		}
		if part.Status != metav1.ConditionTrue {
			return isFalse(ready, part.Reason, part.Message)
		}
	}
	switch s.host.Status.OperationalStatus {
	case bmov1alpha1.OperationalStatusDetached:
		return isFalse(ready, bmov1alpha1.DetachedReason, stateMessage(s.host))
	case bmov1alpha1.OperationalStatusServicing:
		return isFalse(ready, bmov1alpha1.ServicingReason, stateMessage(s.host))
	}
	if !s.claim.Spec.PoweredOn && !s.host.Status.PoweredOn {
		return isTrue(ready, infrav1.PoweredOffReason, "The server runs what was asked for when spec.poweredOn is true")
	}
	return isTrue(ready, bmov1alpha1.ProvisionedReason, "")
}

// goingMessage returns what a claim that is being deleted waits for.
func goingMessage(s *scope) string {
	return cmp.Or(s.waits.release.Message, "The claim is being deleted")
}

// stoodDown is the condition of a claim that another controller works on. The
// name of the other one is kept when it cannot be seen any more.
func stoodDown(s *scope, current []metav1.Condition) metav1.Condition {
	c := isTrue(infrav1.StoodDownCondition, infrav1.OtherControllerReason, fmt.Sprintf("The status of this claim is written by %q as well; "+
		"run one controller of HostClaims only, then remove this condition", s.otherController))
	if before := binding.ConditionOf(current, c.Type); before.Status == c.Status {
		c.Message = before.Message
	}
	return c
}

// provisioningRetries is the default of --max-provisioning-retries of baremetal-operator 0.14. Its count of failures is
// not in the API that is known here; that of all errors of the host is as high at least.
const provisioningRetries = 5

// hostError words an error of the host for its tenant. The schema knows the types of errors; their text may
// hold addresses of the infrastructure, so it stays in its namespace.
func hostError(host *bmov1alpha1.BareMetalHost, crossing bool) (string, bool) {
	if host == nil || !binding.InError(host) {
		return "", false
	}
	message := "The host is in error"
	if kind := host.Status.ErrorType; kind != "" {
		message += " (" + string(kind) + ")"
	}
	if host.Status.ErrorType == bmov1alpha1.ProvisioningError && host.Status.ErrorCount >= provisioningRetries {
		message += "; from release 0.14 on, baremetal-operator gives up after " + strconv.Itoa(provisioningRetries) +
			" failures of one image: have the server written anew with another one, or delete the claim"
	}
	switch {
	case crossing:
		message += "; the infrastructure team sees the text of it on the host"
	case host.Status.ErrorMessage != "":
		message += ": " + host.Status.ErrorMessage
	}
	return message, true
}

// stateMessage is what the host does, and why it may do nothing for a while.
func stateMessage(host *bmov1alpha1.BareMetalHost) string {
	if goesOn(host) {
		return text.Provisioning + standstill(host)
	}
	return "The state of the host is " + binding.StateName(host) + standstill(host)
}

// goesOn reports whether the host was told what to write, and does not run it yet. The states that it passes on
// the way are not distinguished: each would be a write of the claim and of its machine.
func goesOn(host *bmov1alpha1.BareMetalHost) bool {
	switch host.Status.Provisioning.State {
	case bmov1alpha1.StateAvailable, bmov1alpha1.StateReady, bmov1alpha1.StatePreparing:
		return binding.HasPayload(host) && host.Spec.Online // nothing is written to a server that is to be off
	default:
		return host.Status.Provisioning.State == bmov1alpha1.StateProvisioning
	}
}

// standstill is why a host may do nothing for a while.
func standstill(host *bmov1alpha1.BareMetalHost) string {
	if why := binding.Standstill(host); why != "" {
		return "; " + why
	}
	return ""
}
