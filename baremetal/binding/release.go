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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Cleared returns the host with everything of the claim taken back but the
// claim's name: image, data, power and annotations, with cleaning on. A host that its
// administrator keeps on is not switched off, and never switched on: baremetal-operator
// deprovisions it before it looks at its power. What the administrator had set as cleaning mode stays noted until Freed.
// It takes nothing back that StripHost drops: a host is cleared as it is cached, and freed once nothing is left to
// be cleared on the live one.
func Cleared(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	WithoutWork(out) // judges by the payload that is taken back next
	(&Payload{}).putOn(out)
	out.Spec.Online = host.Spec.DisablePowerOff || (host.Spec.Online && fastTracked(out))
	enforceCleaning(out)
	resume(out) // a paused host is not wiped
	delete(out.Annotations, infrav1.BoundHostUIDAnnotation)
	delete(out.Annotations, infrav1.FenceAnnotation)
	if ConsumerKey(out) != "" {
		// The label alone proves from here on that the host is ours to free. Another client may
		// have taken it off.
		setClaimUID(out, string(out.Spec.ConsumerRef.UID))
	}
	return out
}

// Freed returns the host as it goes back to the pool, with the administrator's
// cleaning mode and without any mark of ours.
func Freed(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	out.Spec.ConsumerRef = nil
	if former, found := out.Annotations[infrav1.FormerCleaningModeAnnotation]; found {
		out.Spec.AutomatedCleaningMode = bmov1alpha1.AutomatedCleaningMode(former)
	}
	for _, key := range marks {
		delete(out.Annotations, key)
	}
	delete(out.Labels, infrav1.ClaimUIDLabel)
	unguard(out)
	return out
}

// unhealthyValue is what CAPM3 writes.
const unhealthyValue = "capm3/UnhealthyNode"

// SaysUnhealthy reports whether the claim wants its host kept out of the pool.
func SaysUnhealthy(claim *bmov1alpha1.HostClaim) bool {
	return claim.Annotations[infrav1.UnhealthyClaimAnnotation] == "true"
}

// ClearedUnhealthy returns the host Cleared, with the mark by which it answers no claim
// until an administrator takes the mark off. Only a host that the claim has put to work gets
// it: a claim that just takes hosts and lets go of them must not use up a pool.
func ClearedUnhealthy(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := Cleared(host)
	if HasPayload(host) && !metav1.HasAnnotation(host.ObjectMeta, infrav1.UnhealthyAnnotation) {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.UnhealthyAnnotation, unhealthyValue)
	}
	return out
}

// marks are the annotations that a host may carry while it names a claim.
var marks = [...]string{
	infrav1.FormerCleaningModeAnnotation, infrav1.BoundHostUIDAnnotation, infrav1.FenceAnnotation,
	infrav1.OrphanedSinceAnnotation, infrav1.ReleaseAnnotation,
}

// Wait is why something cannot go on, in the words of a condition.
type Wait struct {
	Reason, Message string
}

// Releasable returns why a host that was Cleared must not be Freed, what a person must remove first; empty if
// it may be. The host must have been read after it was cleared. All of it must hold:
// nothing of the former tenant is on the host or asked for, the host has come
// back to rest, nothing keeps its state from being true, and cleaning was not
// switched off meanwhile.
func Releasable(host *bmov1alpha1.BareMetalHost) Wait {
	switch {
	case !host.DeletionTimestamp.IsZero():
		return Wait{infrav1.HostBeingDeletedReason, "The host is being deleted itself; the claim goes when the host is gone"}
	case paused(host):
		return Wait{bmov1alpha1.HostPausedReason, "The host is paused, so it is not wiped; the infrastructure team must unpause it"}
	case detached(host), host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached:
		return Wait{infrav1.HostDetachedReason, "The host is detached, so it is not wiped; the infrastructure team must attach it again"}
	case InError(host):
		return Wait{infrav1.HostInErrorReason, "The host reports an error and cannot be wiped; the infrastructure team must mend it"}
	case external(host) && host.Status.PoweredOn && !host.Spec.DisablePowerOff:
		return Wait{infrav1.HostPoweringOffReason, "Waiting for the host, which was provisioned by others, to be powered off"}
	case !external(host) && !atRest(host):
		return Wait{infrav1.HostDeprovisioningReason, "Waiting for the host to be deprovisioned and cleaned"}
	case uncleaned(host):
		return Wait{infrav1.HostNotCleanedReason, "The host was emptied without being cleaned, between two workloads of this claim; " +
			"the infrastructure team must clean it and then remove annotation " + infrav1.UncleanedAnnotation + " from it"}
	default:
		return Wait{}
	}
}

// external reports whether the host was provisioned by others and will never become
// available by being cleared.
func external(h *bmov1alpha1.BareMetalHost) bool {
	return h.Spec.ExternallyProvisioned && h.Status.Provisioning.State == bmov1alpha1.StateExternallyProvisioned
}

// atRest reports whether nothing of a tenant is on the host, asked for or under way.
func atRest(h *bmov1alpha1.BareMetalHost) bool {
	return available(h) && h.Status.OperationalStatus != bmov1alpha1.OperationalStatusServicing &&
		!left(h) && !HasPayload(h) && h.Spec.AutomatedCleaningMode == bmov1alpha1.CleaningModeMetadata
}
