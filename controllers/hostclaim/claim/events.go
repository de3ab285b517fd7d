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

// announce emits events and measures for what a status that was just written
// says anew. An answer that gets lost may cost an event; none is emitted twice.
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

// eventReleased tells the administrator of a release. The claim goes with it.
func (r *Reconciler) eventReleased(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	r.Recorder.Eventf(host, nil, corev1.EventTypeNormal, "Freed", "Release",
		"HostClaim %s of namespace %s has given the host back", claim.Name, claim.Namespace)
	if _, unhealthy := host.Annotations[infrav1.UnhealthyAnnotation]; unhealthy {
		r.Recorder.Eventf(host, nil, corev1.EventTypeWarning, "MarkedUnhealthy", "Release",
			"Its tenant found the server unhealthy: it answers no claim until the annotation %s is removed", infrav1.UnhealthyAnnotation)
	}
}

// transitions compares the status that was written last with that of the scope's
// claim. It is pure. Notices for the administrator are given only while there is
// a host.
func transitions(before bmov1alpha1.HostClaimStatus, s *scope) []notice {
	c := change{before: before.Conditions, after: s.claim.Status.Conditions, scope: s}
	var all []notice
	for _, rule := range [...]func(change) []notice{
		stoodDownNow, bound, lost, refused, admission, provisioning, hostErrors, releasing,
	} {
		all = append(all, rule(c)...)
	}
	return all
}

// change is two lists of conditions and the facts behind the second.
type change struct {
	before, after []metav1.Condition
	scope         *scope
}

// became reports whether a condition has this status now and had not before.
func (c change) became(kind string, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(c.after, kind, status) &&
		!meta.IsStatusConditionPresentAndEqual(c.before, kind, status)
}

// turned returns a condition that is False now and was not so for this reason.
func (c change) turned(kind string) (metav1.Condition, bool) {
	was, is := conditionOf(c.before, kind), conditionOf(c.after, kind)
	return is, is.Status == metav1.ConditionFalse && (was.Status != is.Status || was.Reason != is.Reason)
}

// conditionOf returns the zero value for a condition that is not there.
func conditionOf(all []metav1.Condition, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(all, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// owner names the claim for the administrator.
func (c change) owner() string {
	return fmt.Sprintf("HostClaim %s of namespace %s", c.scope.claim.Name, c.scope.claim.Namespace)
}

func stoodDownNow(c change) []notice {
	if !c.became(infrav1.StoodDownCondition, metav1.ConditionTrue) {
		return nil
	}
	return []notice{{tenant, corev1.EventTypeWarning, "StoodDown", "Observe", conditionOf(c.after, infrav1.StoodDownCondition).Message}}
}

func bound(c change) []notice {
	host := c.scope.host
	if host == nil || !c.became(bmov1alpha1.AssociatedCondition, metav1.ConditionTrue) {
		return nil
	}
	if len(c.scope.moved) > 0 || binding.WithoutStatus(host) {
		return []notice{
			{tenant, corev1.EventTypeNormal, "HostMoved", "Move", "The claim has its host " + host.Name + " again, after both were moved or restored"},
			{administrator, corev1.EventTypeNormal, "Moved", "Move", c.owner() + " has this host again, after both were moved or restored"},
		}
	}
	return []notice{{
		tenant, corev1.EventTypeNormal, "Bound", "Bind", "Host " + host.Name + " of namespace " + host.Namespace + " answers this claim",
	}}
}

func lost(c change) []notice {
	if is, turned := c.turned(bmov1alpha1.AssociatedCondition); !turned || is.Reason != bmov1alpha1.MissingBareMetalHostReason {
		return nil
	}
	return []notice{{
		tenant, corev1.EventTypeWarning, "HostLost", "Observe",
		"The host of this claim is gone and is not replaced; delete the claim to get another one",
	}}
}

// refused tells the tenant what a person must mend. Waiting for a free host is
// nothing of the kind, nor is a request that is tried again, or a limit on power changes,
// which a tenant could meet and leave as often as it likes; what a claim that goes
// waits for, what a revoked policy means, and that a host is wiped have events of their own.
func refused(c change) []notice {
	var all []notice
	tell := func(kind, action string, told func(reason string) bool) {
		if is, turned := c.turned(kind); turned && told(is.Reason) {
			all = append(all, notice{tenant, corev1.EventTypeWarning, is.Reason, action, is.Message})
		}
	}
	tell(bmov1alpha1.AssociatedCondition, "Bind", func(reason string) bool {
		return reason == infrav1.InvalidHostSelectorReason || reason == infrav1.NoNamespaceAdmitsReason ||
			reason == infrav1.ImageRefusedReason
	})
	tell(bmov1alpha1.SynchronizedCondition, "Synchronize", func(reason string) bool {
		switch reason {
		case infrav1.NotAssociatedReason, infrav1.PolicyRevokedReason, infrav1.PowerChangesLimitedReason, infrav1.SecretCopiesLimitedReason,
			bmov1alpha1.HostClaimDeletingReason, bmov1alpha1.BareMetalHostNotSynchronizedReason,
			infrav1.RebuildingReason, infrav1.HostDeprovisioningReason, infrav1.WaitingForHostStatusReason:
			return false
		default:
			return true
		}
	})
	tell(infrav1.HardwareDataPublishedCondition, "Publish", func(reason string) bool {
		return reason == infrav1.HardwareDataNameTakenReason
	})
	return all
}

// admission tells both sides of a policy that was taken away, or came back.
func admission(c change) []notice {
	const kind = infrav1.AdmittedCondition
	switch {
	case c.became(kind, metav1.ConditionFalse):
		return []notice{
			{tenant, corev1.EventTypeWarning, infrav1.PolicyRevokedReason, "Admit", conditionOf(c.after, kind).Message},
			{administrator, corev1.EventTypeWarning, infrav1.PolicyRevokedReason, "Admit", c.owner() +
				" keeps this host, and no HostDeployPolicy admits it any more; the host comes back when the claim is deleted"},
		}
	case c.became(kind, metav1.ConditionTrue) && meta.IsStatusConditionFalse(c.before, kind):
		return []notice{
			{tenant, corev1.EventTypeNormal, infrav1.PolicyAdmitsReason, "Admit", "A HostDeployPolicy admits this namespace to its host again"},
			{administrator, corev1.EventTypeNormal, infrav1.PolicyAdmitsReason, "Admit", "A HostDeployPolicy admits " + c.owner() + " again"},
		}
	default:
		return nil
	}
}

func provisioning(c change) []notice {
	if conditionOf(c.before, bmov1alpha1.ProvisionedCondition).Reason == infrav1.WaitingForHostStatusReason {
		return nil // as before the move
	}
	if c.became(bmov1alpha1.ProvisionedCondition, metav1.ConditionTrue) {
		return []notice{{tenant, corev1.EventTypeNormal, bmov1alpha1.ProvisionedReason, "Provision", "The host runs what this claim asks for"}}
	}
	if is, turned := c.turned(bmov1alpha1.ProvisionedCondition); turned && is.Reason == bmov1alpha1.ProvisioningReason {
		return []notice{{tenant, corev1.EventTypeNormal, "ProvisioningStarted", "Provision", "What this claim asks for is being written to the host"}}
	}
	return nil
}

// hostErrors tells that an error of the host appeared or is gone. The text of the
// error is for those who may see the host; its administrator has it there.
func hostErrors(c change) []notice {
	host := c.scope.host
	if host == nil {
		return nil
	}
	message, failed := hostError(host, c.scope.crossing())
	was, is := inError(c.before), inError(c.after)
	switch {
	case is && !was && failed:
		return []notice{
			{tenant, corev1.EventTypeWarning, "HostError", "Observe", cut(message)},
			{administrator, corev1.EventTypeWarning, "ClaimAffected", "Observe", "The error of this host affects " + c.owner()},
		}
	case was && !is && !failed:
		return []notice{
			{tenant, corev1.EventTypeNormal, "HostErrorGone", "Observe", "The host is no longer in error"},
			{administrator, corev1.EventTypeNormal, "ClaimUnaffected", "Observe", "The error that affected " + c.owner() + " is gone"},
		}
	default:
		return nil
	}
}

// inError reports whether a status tells of an error of the host.
func inError(conditions []metav1.Condition) bool {
	reason := conditionOf(conditions, bmov1alpha1.ReadyCondition).Reason
	return reason == bmov1alpha1.ErrorReason || reason == infrav1.HostInErrorReason
}

// releasing tells that a host which is not free at once is on its way back, and
// what a person must do before it gets on.
func releasing(c change) []notice {
	if c.scope.host == nil || !deleting(c.scope.claim) {
		return nil
	}
	var all []notice
	if is, turned := c.turned(bmov1alpha1.SynchronizedCondition); turned && is.Reason == bmov1alpha1.HostClaimDeletingReason {
		all = append(all, notice{tenant, corev1.EventTypeNormal, "Releasing", "Release", "The host is being wiped; the claim goes when it is given back"})
	}
	is, turned := c.turned(bmov1alpha1.ReadyCondition)
	switch is.Reason {
	case bmov1alpha1.HostClaimDeletingReason, infrav1.HostDeprovisioningReason, infrav1.HostPoweringOffReason, infrav1.HostInErrorReason:
		return all
	}
	if turned {
		all = append(all,
			notice{tenant, corev1.EventTypeWarning, "ReleaseHeld", "Release", is.Message},
			notice{administrator, corev1.EventTypeWarning, "ReleaseHeld", "Release", c.owner() + " cannot give this host back: " + is.Reason})
	}
	return all
}

// eventEmptied tells both sides that a host is wiped without being given back.
func (r *Reconciler) eventEmptied(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	if binding.Asked(claim) {
		r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, "Rebuilding", "Rebuild",
			"The host is deprovisioned and then written anew")
		r.Recorder.Eventf(host, nil, corev1.EventTypeNormal, "Rebuilding", "Rebuild",
			"HostClaim %s of namespace %s has the host written anew", claim.Name, claim.Namespace)
		return
	}
	r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, "Emptied", "Rebuild",
		"The host is deprovisioned and stays bound")
	r.Recorder.Eventf(host, nil, corev1.EventTypeNormal, "Emptied", "Rebuild",
		"HostClaim %s of namespace %s has the host deprovisioned and keeps it", claim.Name, claim.Namespace)
}
