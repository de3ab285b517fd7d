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
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// The events of a claim and its host, each in words for its reader: the tenant
// reads those of the claim, the infrastructure team those of the host. No event
// repeats what the host shows itself, as in its consumerRef, or what
// baremetal-operator reports of it, such as that it is written.

// reader is whom an event is for.
type reader string

const (
	tenant        reader = "claim"
	administrator reader = "host"
)

// notice is one event.
type notice struct {
	to                         reader
	kind, reason, action, note string
}

// announce emits events and metrics for what has changed in a status that was just written. If
// the answer to that write is lost, so are its events; none is emitted twice.
func (r *Reconciler) announce(ctx context.Context, before bmov1alpha1.HostClaimStatus, s *scope) {
	for _, n := range transitions(before, s) {
		var about runtime.Object = s.claim
		if n.to == administrator {
			about = s.host
		}
		r.Recorder.Eventf(about, nil, n.kind, n.reason, n.action, "%s", n.note)
		if n.reason == bmov1alpha1.ProvisionedReason {
			ctrl.LoggerFrom(ctx).Info("The host is provisioned", "BareMetalHost", klog.KObj(s.host))
		}
	}
	r.Metrics.provisioned(before, s.claim.Status)
}

// eventReleased emits the event of a release for the administrator only, since the claim goes
// with it.
func (r *Reconciler) eventReleased(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	r.Recorder.Eventf(host, nil, corev1.EventTypeNormal, "Freed", "Release",
		"HostClaim %s of namespace %s has given the host back", claim.Name, claim.Namespace)
	if _, unhealthy := host.Annotations[infrav1.UnhealthyAnnotation]; unhealthy {
		r.Recorder.Eventf(host, nil, corev1.EventTypeWarning, "MarkedUnhealthy", "Release",
			"Its tenant found the server unhealthy: it answers no claim until the annotation %s is removed", infrav1.UnhealthyAnnotation)
	}
}

// transitions compares the status that was written last with that of the scope's claim. It is pure. The
// administrator gets events only while there is a host.
func transitions(before bmov1alpha1.HostClaimStatus, s *scope) []notice {
	c := &change{
		before: before.Conditions, after: s.claim.Status.Conditions, scope: s,
		owner: fmt.Sprintf("HostClaim %s of namespace %s", s.claim.Name, s.claim.Namespace),
	}
	if c.became(infrav1.StoodDownCondition, metav1.ConditionTrue) {
		c.warn(tenant, "StoodDown", "Observe", binding.ConditionOf(c.after, infrav1.StoodDownCondition).Message)
	}
	c.association()
	c.synchronization()
	if is, turned := c.turned(infrav1.HardwareDataPublishedCondition); turned && is.Reason == infrav1.HardwareDataNameTakenReason {
		c.warn(tenant, is.Reason, "Publish", is.Message)
	}
	c.admission()
	c.provisioning()
	if s.host != nil {
		c.hostError()
		c.release()
	}
	return c.told
}

// change is two lists of conditions, the facts behind the second, and the events that follow.
type change struct {
	before, after []metav1.Condition
	scope         *scope
	owner         string // the claim, for the administrator
	told          []notice
}

func (c *change) inform(to reader, reason, action, note string) {
	c.told = append(c.told, notice{to, corev1.EventTypeNormal, reason, action, note})
}

func (c *change) warn(to reader, reason, action, note string) {
	c.told = append(c.told, notice{to, corev1.EventTypeWarning, reason, action, note})
}

// became reports whether a condition has this status now and had not before.
func (c *change) became(kind string, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(c.after, kind, status) &&
		!meta.IsStatusConditionPresentAndEqual(c.before, kind, status)
}

// turned returns a condition, and whether it is False now and was not so for this reason.
func (c *change) turned(kind string) (metav1.Condition, bool) {
	was, is := binding.ConditionOf(c.before, kind), binding.ConditionOf(c.after, kind)
	return is, is.Status == metav1.ConditionFalse && (was.Status != is.Status || was.Reason != is.Reason)
}

// association adds the events of a claim that got or lost its host, or that gets none until a person mends
// something. Waiting for a free host is no event.
func (c *change) association() {
	if host := c.scope.host; host != nil && c.became(bmov1alpha1.AssociatedCondition, metav1.ConditionTrue) {
		if len(c.scope.moved) == 0 && !binding.WithoutStatus(host) {
			c.inform(tenant, "Bound", "Bind", "Host "+host.Name+" of namespace "+host.Namespace+" answers this claim")
			return
		}
		c.inform(tenant, "HostMoved", "Move", "The claim has its host "+host.Name+" again, after both were moved or restored")
		c.inform(administrator, "Moved", "Move", c.owner+" has this host again, after both were moved or restored")
	}
	is, turned := c.turned(bmov1alpha1.AssociatedCondition)
	if !turned {
		return
	}
	switch is.Reason {
	case binding.ConditionOf(c.before, is.Type).Reason: // nearly bound again meanwhile
	case bmov1alpha1.MissingBareMetalHostReason:
		c.warn(tenant, "HostLost", "Observe", "The host of this claim is gone and is not replaced; delete the claim to get another one")
	case infrav1.InvalidHostSelectorReason, infrav1.NoNamespaceAdmitsReason, infrav1.ImageRefusedReason,
		infrav1.ClassNotFoundReason, infrav1.ClassNotAcceptedReason, infrav1.ClassNotPermittedReason, infrav1.InvalidClassArgumentsReason,
		infrav1.AnsweredByOtherReason:
		c.warn(tenant, is.Reason, "Bind", is.Message)
	}
}

// synchronization adds the events of what a person must mend before the host is in step, and of a host on
// its way back. A request that is tried again is no event, nor is a limit on power changes, which a tenant
// could meet and leave as often as it likes. A revoked policy and a host that is wiped have events of their
// own.
func (c *change) synchronization() {
	is, turned := c.turned(bmov1alpha1.SynchronizedCondition)
	if !turned {
		return
	}
	switch is.Reason {
	case bmov1alpha1.HostClaimDeletingReason:
		if c.scope.host != nil && deleting(c.scope.claim) {
			c.inform(tenant, "Releasing", "Release", "The host is being wiped; the claim goes when it is given back")
		}
	case infrav1.NotAssociatedReason, infrav1.PolicyRevokedReason, infrav1.PowerChangesLimitedReason, infrav1.SecretCopiesLimitedReason,
		bmov1alpha1.BareMetalHostNotSynchronizedReason, infrav1.RebuildingReason, infrav1.HostDeprovisioningReason,
		infrav1.WaitingForHostStatusReason:
	default:
		c.warn(tenant, is.Reason, "Synchronize", is.Message)
	}
}

// admission adds events for both sides about a policy that was revoked, or came back.
func (c *change) admission() {
	const kind, action = infrav1.AdmittedCondition, "Admit"
	switch {
	case c.became(kind, metav1.ConditionFalse):
		c.warn(tenant, infrav1.PolicyRevokedReason, action, binding.ConditionOf(c.after, kind).Message)
		c.warn(administrator, infrav1.PolicyRevokedReason, action, c.owner+
			" keeps this host, and no HostDeployPolicy admits it any more; the host comes back when the claim is deleted")
	case c.became(kind, metav1.ConditionTrue) && meta.IsStatusConditionFalse(c.before, kind):
		c.inform(tenant, infrav1.PolicyAdmitsReason, action, "A HostDeployPolicy admits this namespace to its host again")
		c.inform(administrator, infrav1.PolicyAdmitsReason, action, "A HostDeployPolicy admits "+c.owner+" again")
	}
}

// provisioning adds the events of a host that is being written, or runs, unless it runs what it
// ran before a move.
func (c *change) provisioning() {
	const kind, action = bmov1alpha1.ProvisionedCondition, "Provision"
	is, turned := c.turned(kind)
	switch {
	case binding.ConditionOf(c.before, kind).Reason == infrav1.WaitingForHostStatusReason:
	case c.became(kind, metav1.ConditionTrue):
		c.inform(tenant, bmov1alpha1.ProvisionedReason, action, "The host runs what this claim asks for")
	case turned && is.Reason == bmov1alpha1.ProvisioningReason:
		c.inform(tenant, "ProvisioningStarted", action, "What this claim asks for is being written to the host")
	}
}

// hostError adds the events of an error of the host that appeared or is gone. The administrator reads
// the text of the error on the host.
func (c *change) hostError() {
	message, failed := hostError(c.scope.host, c.scope.crossing())
	switch was, is := inError(c.before), inError(c.after); {
	case is && !was && failed:
		c.warn(tenant, "HostError", "Observe", text.Shorten(message, text.MaxNote))
		c.warn(administrator, "ClaimAffected", "Observe", "The error of this host affects "+c.owner)
	case was && !is && !failed:
		c.inform(tenant, "HostErrorGone", "Observe", "The host is no longer in error")
		c.inform(administrator, "ClaimUnaffected", "Observe", "The error that affected "+c.owner+" is gone")
	}
}

// inError reports whether a status reports an error of the host.
func inError(conditions []metav1.Condition) bool {
	reason := binding.ConditionOf(conditions, bmov1alpha1.ReadyCondition).Reason
	return reason == bmov1alpha1.ErrorReason || reason == infrav1.HostInErrorReason
}

// release adds the events of a release that does not go on until a person acts.
func (c *change) release() {
	is, turned := c.turned(bmov1alpha1.ReadyCondition)
	if !turned || !deleting(c.scope.claim) {
		return
	}
	switch is.Reason {
	case bmov1alpha1.HostClaimDeletingReason, infrav1.HostDeprovisioningReason, infrav1.HostPoweringOffReason, infrav1.HostInErrorReason:
	default:
		c.warn(tenant, "ReleaseHeld", "Release", is.Message)
		c.warn(administrator, "ReleaseHeld", "Release", c.owner+" cannot give this host back: "+is.Reason)
	}
}

// eventEmptied emits events for both sides about a host that is wiped and not given back.
func (r *Reconciler) eventEmptied(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	reason, toTenant, toAdministrator := "Emptied", "The host is deprovisioned and stays bound", "has the host deprovisioned and keeps it"
	if binding.Asked(claim) {
		reason, toTenant, toAdministrator = "Rebuilding", "The host is deprovisioned and then written anew", "has the host written anew"
	}
	r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, reason, "Rebuild", "%s", toTenant)
	r.Recorder.Eventf(host, nil, corev1.EventTypeNormal, reason, "Rebuild",
		"HostClaim %s of namespace %s %s", claim.Name, claim.Namespace, toAdministrator)
}
