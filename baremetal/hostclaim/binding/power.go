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
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// A server is switched or rebooted for its claim MaxPowerChanges times within
// PowerWindow at most, since a BMC is hardware.
const (
	MaxPowerChanges = 10
	PowerWindow     = 10 * time.Minute
)

// fastTracked says that the administrator of a host keeps it on while it is empty. A host
// that cleaning does not empty is switched off all the same.
func fastTracked(host *bmov1alpha1.BareMetalHost) bool {
	return host.Annotations[infrav1.FastTrackAnnotation] == "true" && !uncleaned(host) && !host.Spec.ExternallyProvisioned
}

// PowerChanged returns the host with a note that it is switched or rebooted now. The note
// goes with the write that does so, so a manager that crashes after it knows of it.
func PowerChanged(host *bmov1alpha1.BareMetalHost, now time.Time) *bmov1alpha1.BareMetalHost {
	changes := append(powerChanges(host, now), now)
	var notes []string
	for _, at := range changes[max(0, len(changes)-MaxPowerChanges):] {
		notes = append(notes, at.UTC().Format(time.RFC3339))
	}
	out := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.PowerChangesAnnotation, strings.Join(notes, ","))
	return out
}

// PowerLimited says that a host was switched or rebooted too often to be so now, and
// until when.
func PowerLimited(host *bmov1alpha1.BareMetalHost, now time.Time) (until time.Time, limited bool) {
	changes := powerChanges(host, now)
	if len(changes) < MaxPowerChanges {
		return time.Time{}, false
	}
	return changes[len(changes)-MaxPowerChanges].Add(PowerWindow), true
}

// powerChanges are the times that are noted on a host and count now, the oldest first. A
// time that no manager can have noted counts for nothing.
func powerChanges(host *bmov1alpha1.BareMetalHost, now time.Time) []time.Time {
	var out []time.Time
	for note := range strings.SplitSeq(host.Annotations[infrav1.PowerChangesAnnotation], ",") {
		at, err := time.Parse(time.RFC3339, note)
		if err == nil && now.Sub(at).Abs() < PowerWindow {
			out = append(out, at)
		}
	}
	return out
}
