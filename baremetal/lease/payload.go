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
	// Redo means that what the host was told must be taken back: the claim asks
	// for a rebuild, is reserved, or was adopted after it had been parked.
	Redo Progress = "Redo"
	// Emptying means that the host is told nothing and still shows what was on
	// it. Nothing is written now: an image of the same URL would be taken for the
	// one that is there.
	Emptying Progress = "Emptying"
	// Parked means that the host is kept as it is, switched off, for the next
	// workload of the claim.
	Parked Progress = "Parked"
)

// facts are what the progress of a payload depends on.
type facts struct {
	// asked, told and same say whether the claim names a payload, whether the host
	// does, and whether the two are equal.
	asked, told, same bool
	// begun says that the host writes, or has written, its payload.
	begun bool
	// left says that the host shows a payload, or is on its way from or to one.
	left bool
	// renewed says that the claim carries a token of rebuild that the host was
	// not emptied for.
	renewed bool
	// reserved says that the claim is kept for the next machine, skips that its
	// host then keeps what is on it, and parked that the host does so.
	reserved, skips, parked bool
}

// Compare says how far the payload of a claim has come on its host. skips says
// that the claim wants its host not to be cleaned between two workloads, and
// that policy permits it.
func Compare(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, skips bool) Progress {
	return facts{
		asked:    Asked(claim),
		told:     Told(host),
		same:     same(claim, host),
		begun:    begun(host),
		left:     left(host),
		renewed:  renewed(claim, host),
		reserved: Reserved(claim),
		skips:    skips,
		parked:   IsParked(host),
	}.progress()
}

// progress is the rule itself: the first case that holds.
func (f facts) progress() Progress {
	switch {
	case !f.told && f.left:
		return Emptying
	case !f.told && f.asked:
		return Wanted
	case !f.told:
		return NothingAsked
	case f.reserved && !f.skips, f.parked && f.asked, f.renewed && !f.reserved && !f.parked:
		return Redo
	case f.reserved, f.parked:
		return Parked
	case !f.same:
		return Diverged
	case f.begun:
		return Frozen
	default:
		return Applied
	}
}

// Asked says that a claim names something to be written.
func Asked(claim *bmov1alpha1.HostClaim) bool {
	return claim.Spec.Image != nil || claim.Spec.CustomDeploy != nil
}

// Told says that a host is told what to write, by whomever.
func Told(host *bmov1alpha1.BareMetalHost) bool {
	return host.Spec.Image != nil || host.Spec.CustomDeploy != nil
}

// same says that a host is told what its claim asks for.
func same(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return equality.Semantic.DeepEqual(withoutPullSecret(claim.Spec.Image), withoutPullSecret(host.Spec.Image)) &&
		equality.Semantic.DeepEqual(claim.Spec.CustomDeploy, host.Spec.CustomDeploy)
}

// left says that something of a former payload may be on the host. The reported
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
	// A host that must not be powered off refuses to be asked.
	out.Spec.Online = host.Spec.DisablePowerOff || (claim.Spec.PoweredOn && !Reserved(claim) && !IsParked(host))
	if payload != nil {
		payload.putOn(out)
	}
	if Told(out) {
		noteToken(claim, out, !Told(host))
	}
	if Told(out) || !uncleaned(out) {
		enforceCleaning(out)
	}
	if runsWhatItWasTold(out) {
		delete(out.Annotations, infrav1.UncleanedAnnotation)
	}
	return out
}

// putOn tells a host what to write. The zero payload takes everything back.
func (p *Payload) putOn(host *bmov1alpha1.BareMetalHost) {
	host.Spec.Image = p.Image
	host.Spec.CustomDeploy = p.CustomDeploy
	host.Spec.UserData = p.UserData
	host.Spec.MetaData = p.MetaData
	host.Spec.NetworkData = p.NetworkData
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
// else: a host may still report what was on it before, and a parked one has what
// was written for another machine.
func Provisioned(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return Asked(claim) && same(claim, host) && !IsParked(host) && runsWhatItWasTold(host)
}

// runsWhatItWasTold says that a host reports to be provisioned with the payload
// in its spec.
func runsWhatItWasTold(host *bmov1alpha1.BareMetalHost) bool {
	status := host.Status.Provisioning
	if !Told(host) || status.State != bmov1alpha1.StateProvisioned {
		return false
	}
	if host.Spec.Image != nil && host.Spec.Image.URL != status.Image.URL {
		return false
	}
	return host.Spec.CustomDeploy == nil || equality.Semantic.DeepEqual(host.Spec.CustomDeploy, status.CustomDeploy)
}
