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

package lease

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Payload is what is to be written to the disks of a host, with every reference
// in the namespace of the host.
type Payload struct {
	Image        *bmov1alpha1.Image
	CustomDeploy *bmov1alpha1.CustomDeploy
	UserData     *corev1.SecretReference
	MetaData     *corev1.SecretReference
	NetworkData  *corev1.SecretReference
}

// Progress is how far what a claim asks for has come on its host.
type Progress string

// The stages of a payload.
const (
	// NothingAsked means that the claim names neither image nor customDeploy
	// and that the host has none.
	NothingAsked Progress = "NothingAsked"
	// Wanted means that the claim asks for something and the host has nothing.
	Wanted Progress = "Wanted"
	// Applied means that the host is told what the claim asks for and has not
	// begun, or has failed, to write it: its data may still change.
	Applied Progress = "Applied"
	// Frozen means that the host writes, or has written, what the claim asks
	// for: changed data would change nothing on the server.
	Frozen Progress = "Frozen"
	// Diverged means that the claim was changed after its host was told what to
	// write. The host keeps what it has.
	Diverged Progress = "Diverged"
)

// Compare says how far the payload of a claim has come on its host.
func Compare(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) Progress {
	asked := claim.Spec.Image != nil || claim.Spec.CustomDeploy != nil
	told := host.Spec.Image != nil || host.Spec.CustomDeploy != nil
	switch {
	case !told && !asked:
		return NothingAsked
	case !told:
		return Wanted
	case !equality.Semantic.DeepEqual(withoutPullSecret(claim.Spec.Image), withoutPullSecret(host.Spec.Image)),
		!equality.Semantic.DeepEqual(claim.Spec.CustomDeploy, host.Spec.CustomDeploy):
		return Diverged
	case begun(host):
		return Frozen
	default:
		return Applied
	}
}

// withoutPullSecret is an image without the name of its pull secret, which differs
// between claim and host when the secret is a copy.
func withoutPullSecret(image *bmov1alpha1.Image) *bmov1alpha1.Image {
	if image == nil {
		return nil
	}
	out := image.DeepCopy()
	out.OCIAuthSecretName = nil
	return out
}

// begun says that the host writes its payload, or has written it. A host in
// error will read its data again.
func begun(host *bmov1alpha1.BareMetalHost) bool {
	switch host.Status.Provisioning.State {
	case bmov1alpha1.StateProvisioned:
		return true
	case bmov1alpha1.StateProvisioning:
		return host.Status.ErrorMessage == ""
	default:
		return false
	}
}

// Desired returns the bound host as the claim wants it. A nil payload leaves
// image and data as they are: the data is not ready, or it is too late.
func Desired(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, payload *Payload) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	setLabel(out, infrav1.ClaimUIDLabel, string(claim.UID))
	if _, found := out.Annotations[infrav1.BoundHostUIDAnnotation]; !found {
		setAnnotation(out, infrav1.BoundHostUIDAnnotation, string(host.UID))
	}
	enforceCleaning(out)
	// A host that must not be powered off refuses to be asked.
	out.Spec.Online = claim.Spec.PoweredOn || host.Spec.DisablePowerOff
	if payload == nil {
		return out
	}
	out.Spec.Image = payload.Image
	out.Spec.CustomDeploy = payload.CustomDeploy
	out.Spec.UserData = payload.UserData
	out.Spec.MetaData = payload.MetaData
	out.Spec.NetworkData = payload.NetworkData
	return out
}

// enforceCleaning turns cleaning on and remembers what the administrator had
// set, once.
func enforceCleaning(host *bmov1alpha1.BareMetalHost) {
	if _, found := host.Annotations[infrav1.FormerCleaningModeAnnotation]; !found {
		setAnnotation(host, infrav1.FormerCleaningModeAnnotation, string(host.Spec.AutomatedCleaningMode))
	}
	host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
}

// Provisioned says that the host runs what the claim asks for, and nothing
// else: a host may still report what was on it before.
func Provisioned(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	progress, status := Compare(claim, host), host.Status.Provisioning
	if progress != Frozen || status.State != bmov1alpha1.StateProvisioned {
		return false
	}
	if claim.Spec.Image != nil && claim.Spec.Image.URL != status.Image.URL {
		return false
	}
	return claim.Spec.CustomDeploy == nil ||
		equality.Semantic.DeepEqual(claim.Spec.CustomDeploy, status.CustomDeploy)
}
