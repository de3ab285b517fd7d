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
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// ReservedUntil is when a reservation ends; not ok if the claim does not say so in
// a way that can be understood.
func ReservedUntil(claim *bmov1alpha1.HostClaim) (until time.Time, ok bool) {
	until, err := time.Parse(time.RFC3339, claim.Annotations[infrav1.ReservedUntilAnnotation])
	return until, err == nil
}

// LimitReservation returns the claim with an end of its reservation.
func LimitReservation(claim *bmov1alpha1.HostClaim, until time.Time) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	annotateClaim(out, infrav1.ReservedUntilAnnotation, until.UTC().Format(time.RFC3339))
	return out
}

// WantsNoCleaning says that a claim would like its host not to be cleaned between
// two of its workloads. Policy must permit it.
func WantsNoCleaning(claim *bmov1alpha1.HostClaim) bool {
	return claim.Annotations[infrav1.SkipCleaningAnnotation] == "true"
}

// Park marks a host that keeps what is on it, switched off, until its claim is
// adopted.
func Park(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.ParkedAnnotation, string(claim.UID))
	return out
}

// IsParked says that a host was parked, so that it may be written anew without
// being cleaned.
func IsParked(host *bmov1alpha1.BareMetalHost) bool {
	_, found := host.Annotations[infrav1.ParkedAnnotation]
	return found
}

func uncleaned(host *bmov1alpha1.BareMetalHost) bool {
	_, found := host.Annotations[infrav1.UncleanedAnnotation]
	return found
}

// WithoutWork takes the marks of a claim's power, reboots, rebuilds and reservation off
// a host that is released. That it was not cleaned is taken off only if the host
// runs a full payload, which cleaning will wipe.
func WithoutWork(host *bmov1alpha1.BareMetalHost) {
	withoutReboots(host)
	delete(host.Annotations, infrav1.RebuildAnnotation)
	delete(host.Annotations, infrav1.ParkedAnnotation)
	delete(host.Annotations, infrav1.PowerChangesAnnotation)
	if runsItsPayload(host) {
		delete(host.Annotations, infrav1.UncleanedAnnotation)
	}
}
