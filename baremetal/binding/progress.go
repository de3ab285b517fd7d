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
	"fmt"
	"time"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
)

// Progress is how far what a claim asks for has come on its host.
type Progress string

// The stages of a payload.
const (
	// NothingAsked means that the claim names neither image nor customDeploy
	// and that the host has none.
	NothingAsked Progress = "NothingAsked"
	// Wanted means that the claim asks for something and the host has nothing.
	Wanted Progress = "Wanted"
	// Applied means that the spec of the host has what the claim asks for, and the host has not
	// begun, or has failed, to write it: its data may still change.
	Applied Progress = "Applied"
	// Frozen means that the host writes, or has written, what the claim asks
	// for: changed data would change nothing on the server.
	Frozen Progress = "Frozen"
	// Diverged means that the claim was changed after its payload was written to the host. The
	// host keeps what it has.
	Diverged Progress = "Diverged"
	// Redo means that the payload of the host must be taken back: the claim asks for a rebuild,
	// is reserved, or was adopted after it had been parked.
	Redo Progress = "Redo"
	// Emptying means that the host has no payload and its status still shows the last one.
	// Nothing is written now: an image of the same URL would be taken for the one that is there.
	Emptying Progress = "Emptying"
	// Parked means that the host is kept as it is, switched off, for the next
	// workload of the claim.
	Parked Progress = "Parked"
)

// Compare returns how far the payload of a claim has come on its host. skips is true if the claim
// wants its host not to be cleaned between two workloads, and policy permits that. A host that must
// not be switched off is always cleaned, since what is on it would run on.
func Compare(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, skips bool) Progress {
	switch {
	case HasPayload(host) && (reservation.Holds(claim) || IsParked(host)):
		return ofFormerMachine(claim, host, skips)
	case HasPayload(host):
		return inUse(claim, host)
	case left(host):
		return Emptying
	case Asked(claim):
		return Wanted
	default:
		return NothingAsked
	}
}

// ofFormerMachine is for a host with the payload of a machine that is gone. That payload never runs again: the
// host is switched off, or the payload taken back.
func ofFormerMachine(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, skips bool) Progress {
	kept := skips && !host.Spec.DisablePowerOff
	if Asked(claim) || reservation.Holds(claim) && !kept {
		return Redo
	}
	return Parked
}

// inUse is for a host with the payload of its claim.
func inUse(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) Progress {
	switch {
	case renewed(claim, host):
		return Redo
	case !same(claim, host):
		return Diverged
	case begun(host):
		return Frozen
	default:
		return Applied
	}
}

// Asked reports whether a claim names something to be written.
func Asked(claim *bmov1alpha1.HostClaim) bool {
	return claim.Spec.Image != nil || claim.Spec.CustomDeploy != nil
}

// HasPayload reports whether the spec of a host has a payload, by any client.
func HasPayload(host *bmov1alpha1.BareMetalHost) bool {
	return host.Spec.Image != nil || host.Spec.CustomDeploy != nil
}

// same reports whether the payload of a host is the one that its claim asks for.
func same(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return equality.Semantic.DeepEqual(withoutPullSecret(claim.Spec.Image), withoutPullSecret(host.Spec.Image)) &&
		equality.Semantic.DeepEqual(claim.Spec.CustomDeploy, host.Spec.CustomDeploy)
}

// left reports whether something of a former payload may be on the host. The reported
// image alone would not do: it is set only when provisioning has finished.
func left(host *bmov1alpha1.BareMetalHost) bool {
	status := host.Status.Provisioning
	switch status.State {
	case bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned, bmov1alpha1.StateDeprovisioning:
		return true
	default:
		return status.Image.URL != "" || status.CustomDeploy != nil
	}
}

// withoutPullSecret is an image without the name of its pull secret, which differs
// between claim and host when the secret is a copy.
func withoutPullSecret(image *bmov1alpha1.Image) *bmov1alpha1.Image {
	out := image.DeepCopy()
	if out != nil {
		out.OCIAuthSecretName = nil
	}
	return out
}

// begun reports whether the host writes its payload, or has written it. A host in
// error will read its data again.
func begun(host *bmov1alpha1.BareMetalHost) bool {
	state := host.Status.Provisioning.State
	return state == bmov1alpha1.StateProvisioned || state == bmov1alpha1.StateProvisioning && host.Status.ErrorMessage == ""
}

// CheckRebuild returns an error for its author if the token of a claim cannot be
// used. Such a token asks for nothing.
func CheckRebuild(claim *bmov1alpha1.HostClaim) error {
	if utf8.RuneCountInString(claim.Annotations[infrav1.RebuildAnnotation]) > infrav1.MaxRebuildLength {
		return fmt.Errorf("annotation %s is longer than %d characters and is ignored; write something short and new, such as a date",
			infrav1.RebuildAnnotation, infrav1.MaxRebuildLength)
	}
	return nil
}

// token is what a claim asks for a rebuild with; empty when it asks for none.
func token(claim *bmov1alpha1.HostClaim) string {
	if CheckRebuild(claim) != nil {
		return ""
	}
	return claim.Annotations[infrav1.RebuildAnnotation]
}

// renewed reports whether a claim asks for a rebuild that its host has not seen. A host
// without a note was written by another client, or has lost it: then nothing is
// destroyed on a guess, and the token counts as seen.
func renewed(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	seen, noted := host.Annotations[infrav1.RebuildAnnotation]
	asked := token(claim)
	return noted && asked != "" && asked != seen
}

// noteToken notes the token of the claim on a host that gets its first payload, or that has no
// note. A claim that takes its token away leaves the note: the same token does nothing later.
func noteToken(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, first bool) {
	_, noted := host.Annotations[infrav1.RebuildAnnotation]
	asked := token(claim)
	if !noted || (first && asked != "") {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.RebuildAnnotation, asked)
	}
}

// Emptied returns the host without its payload, to be wiped in place. The token is noted by the
// same write, so it is used up. With uncleaned, the host is deprovisioned without cleaning, and
// carries the mark that keeps it from other claims from the same write on.
func Emptied(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, uncleaned bool) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	delete(out.Annotations, infrav1.ParkedAnnotation)
	out = Desired(claim, out, &Payload{})
	enforceCleaning(out)
	if runsItsPayload(host) {
		delete(out.Annotations, infrav1.UncleanedAnnotation)
	}
	if asked := token(claim); asked != "" {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.RebuildAnnotation, asked)
	}
	if uncleaned {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.UncleanedAnnotation, string(claim.UID))
		out.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
	}
	return out
}

// EmptyingWait returns what is waited for while a host is emptied: what keeps it
// from being released would keep it from being wiped in place, too.
func EmptyingWait(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) Wait {
	wait := Releasable(host)
	switch {
	case wait.Reason != "" && wait.Reason != infrav1.HostDeprovisioningReason:
		return wait
	case Asked(claim):
		return Wait{infrav1.RebuildingReason, "The host is deprovisioned; then it is written anew"}
	default:
		return Wait{infrav1.HostDeprovisioningReason, "Waiting for the host to be deprovisioned and cleaned"}
	}
}

// ReservedUntil is when a reservation ends; not ok if the claim has no time for that, or none that
// can be parsed.
func ReservedUntil(claim *bmov1alpha1.HostClaim) (until time.Time, ok bool) {
	until, err := time.Parse(time.RFC3339, claim.Annotations[infrav1.ReservedUntilAnnotation])
	return until, err == nil
}

// LimitReservation returns the claim with an end of its reservation.
func LimitReservation(claim *bmov1alpha1.HostClaim, until time.Time) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.ReservedUntilAnnotation, until.UTC().Format(time.RFC3339))
	return out
}

// WantsNoCleaning reports whether a claim would like its host not to be cleaned between
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

// IsParked reports whether a host was parked, so that it may be written anew without
// being cleaned.
func IsParked(host *bmov1alpha1.BareMetalHost) bool {
	return metav1.HasAnnotation(host.ObjectMeta, infrav1.ParkedAnnotation)
}

func uncleaned(host *bmov1alpha1.BareMetalHost) bool {
	return metav1.HasAnnotation(host.ObjectMeta, infrav1.UncleanedAnnotation)
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
