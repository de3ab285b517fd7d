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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/lease"
)

// The events of a claim and its host, each in words for its reader: the tenant
// reads those of the claim, the infrastructure team those of the host.

// eventBound tells both sides of a bind.
func (r *Reconciler) eventBound(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	r.Events.Eventf(claim, nil, corev1.EventTypeNormal, "Bound", "Bind",
		"Host %s of namespace %s answers this claim", host.Name, host.Namespace)
	r.Events.Eventf(host, nil, corev1.EventTypeNormal, "Claimed", "Bind",
		"Bound to HostClaim %s of namespace %s", claim.Name, claim.Namespace)
}

// eventReleased tells both sides of a release.
func (r *Reconciler) eventReleased(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	r.Events.Eventf(claim, nil, corev1.EventTypeNormal, "Released", "Release",
		"The host was wiped and given back")
	r.Events.Eventf(host, nil, corev1.EventTypeNormal, "Freed", "Release",
		"HostClaim %s of namespace %s has given the host back", claim.Name, claim.Namespace)
}

// eventLost warns the tenant that its host is gone.
func (r *Reconciler) eventLost(claim *bmov1alpha1.HostClaim) {
	r.Events.Eventf(claim, nil, corev1.EventTypeWarning, "HostLost", "Observe",
		"The host of this claim is gone and is not replaced; delete the claim to get another one")
}

// eventEmptied tells both sides that a host is wiped without being given back.
func (r *Reconciler) eventEmptied(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	if lease.Asked(claim) {
		r.Events.Eventf(claim, nil, corev1.EventTypeNormal, "Rebuilding", "Rebuild",
			"The host is deprovisioned and then written anew")
		r.Events.Eventf(host, nil, corev1.EventTypeNormal, "Rebuilding", "Rebuild",
			"HostClaim %s of namespace %s has the host written anew", claim.Name, claim.Namespace)
		return
	}
	r.Events.Eventf(claim, nil, corev1.EventTypeNormal, "Emptied", "Rebuild",
		"The host is deprovisioned and stays bound")
	r.Events.Eventf(host, nil, corev1.EventTypeNormal, "Emptied", "Rebuild",
		"HostClaim %s of namespace %s has the host deprovisioned and keeps it", claim.Name, claim.Namespace)
}

// eventReboot tells both sides that a one-shot reboot was passed on.
func (r *Reconciler) eventReboot(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) {
	r.Events.Eventf(claim, nil, corev1.EventTypeNormal, "Reboot", "Reboot", "The reboot was passed on to the host")
	r.Events.Eventf(host, nil, corev1.EventTypeNormal, "Reboot", "Reboot",
		"HostClaim %s of namespace %s asks for a reboot", claim.Name, claim.Namespace)
}

// eventLimited warns the tenant that its reservation has no end that can be
// understood.
func (r *Reconciler) eventLimited(claim *bmov1alpha1.HostClaim) {
	r.Events.Eventf(claim, nil, corev1.EventTypeWarning, "ReservationLimited", "Reserve",
		"Annotation %s was missing or no time, so it was set; write a time such as 2026-01-31T12:00:00Z to change it",
		infrav1.ReservedUntilAnnotation)
}

// eventExpired tells the tenant why its claim goes.
func (r *Reconciler) eventExpired(claim *bmov1alpha1.HostClaim) {
	r.Events.Eventf(claim, nil, corev1.EventTypeNormal, "ReservationExpired", "Reserve",
		"Nobody has adopted this claim in time; it is deleted and its host goes back")
}
