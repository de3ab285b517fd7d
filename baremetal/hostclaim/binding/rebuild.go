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
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

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

// renewed says that a claim asks for a rebuild that its host has not seen. A host
// without a note was written by another client, or has lost it: then nothing is
// destroyed on a guess, and the token counts as seen.
func renewed(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	seen, noted := host.Annotations[infrav1.RebuildAnnotation]
	asked := token(claim)
	return noted && asked != "" && asked != seen
}

// noteToken notes the token of the claim on a host that is told what to write
// for the first time, or that has no note. A claim that takes its token away
// leaves the note, so that the same one does nothing later.
func noteToken(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, first bool) {
	_, noted := host.Annotations[infrav1.RebuildAnnotation]
	asked := token(claim)
	if !noted || (first && asked != "") {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.RebuildAnnotation, asked)
	}
}

// Emptied returns the host without what it was told to write, to be wiped in
// place. The token is noted by the same write, so it is used up. With uncleaned,
// the host is deprovisioned without cleaning, and carries the mark that keeps it
// from other claims from the same write on.
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

// EmptyingWait says what is waited for while a host is emptied: what keeps it
// from being released would keep it from being wiped in place, too.
func EmptyingWait(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) Wait {
	wait, rests := Releasable(host)
	switch {
	case !rests && wait.Reason != HostDeprovisioningReason:
		return wait
	case Asked(claim):
		return Wait{infrav1.RebuildingReason, "The host is deprovisioned; then it is written anew"}
	default:
		return Wait{HostDeprovisioningReason, "Waiting for the host to be deprovisioned and cleaned"}
	}
}
