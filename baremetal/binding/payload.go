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
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
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

// Desired returns the bound host as the claim wants it. A nil payload leaves
// image and data as they are: the data is not ready, or it is too late.
func Desired(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, payload *Payload) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	setClaimUID(out, string(claim.UID))
	if !metav1.HasAnnotation(out.ObjectMeta, infrav1.BoundHostUIDAnnotation) {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.BoundHostUIDAnnotation, string(host.UID))
	}
	out.Spec.Online = Online(claim, host)
	if payload != nil {
		payload.putOn(out)
	}
	if HasPayload(out) {
		noteToken(claim, out, !HasPayload(host))
	}
	if HasPayload(out) || !uncleaned(out) {
		enforceCleaning(out)
	}
	if runsItsPayload(out) {
		delete(out.Annotations, infrav1.UncleanedAnnotation)
	}
	return out
}

// Online reports whether the host of a claim is to be on. One that must not be powered
// off refuses to be asked. One that came from the pool on, since its administrator keeps it so,
// stays on until the claim asks for something.
func Online(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	switch {
	case host.Spec.DisablePowerOff:
		return true
	case reservation.Holds(claim), IsParked(host):
		return false
	case claim.Spec.PoweredOn:
		return true
	default:
		return host.Spec.Online && fastTracked(host) && !Asked(claim) && !HasPayload(host) && !left(host)
	}
}

// KeepingPower returns the claim as if it asked for the power that its host has, and
// whether that makes a difference. A host that is emptied or kept for the next
// machine is switched all the same.
func KeepingPower(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) (*bmov1alpha1.HostClaim, bool) {
	if Online(claim, host) == host.Spec.Online || reservation.Holds(claim) || IsParked(host) {
		return claim, false
	}
	out := claim.DeepCopy()
	out.Spec.PoweredOn = host.Spec.Online
	return out, true
}

// CheckPayload returns an error for its author if no host takes what a claim asks
// for: baremetal-operator refuses such a host, or never provisions it. The rules are those that its
// release 0.14 has for hosts and claims. Whether policy permits the image is another question.
func CheckPayload(claim *bmov1alpha1.HostClaim) error {
	if custom := claim.Spec.CustomDeploy; custom != nil && custom.Method == "" {
		return errors.New("spec.customDeploy.method is empty; name a deploy method, or leave customDeploy out")
	}
	image := claim.Spec.Image
	if image == nil {
		return nil
	}
	source, err := url.ParseRequestURI(image.URL)
	if err != nil {
		return errors.New("spec.image.url is no absolute URL; write scheme://host/path, with special characters escaped")
	}
	switch source.Scheme {
	case "http", "https", "ftp", "gopher", "oci": // what baremetal-operator 0.14 takes
	default:
		return fmt.Errorf("spec.image.url has the scheme %.16q, which no server can fetch an image by; use http, https, ftp, gopher or oci", source.Scheme)
	}
	sum, _, err := image.GetChecksum()
	if err != nil {
		return fmt.Errorf("spec.image is not accepted: %w; set checksum, and checksumType if need be", err)
	}
	if _, err := url.ParseRequestURI(sum); err != nil && (strings.HasPrefix(sum, "http://") || strings.HasPrefix(sum, "https://")) {
		return errors.New("spec.image.checksum begins as a URL and is none; correct the URL, or write the checksum itself")
	}
	return nil
}

// putOn writes the payload to the spec of a host. The zero payload takes everything back.
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
	if !metav1.HasAnnotation(host.ObjectMeta, infrav1.FormerCleaningModeAnnotation) {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.FormerCleaningModeAnnotation, string(host.Spec.AutomatedCleaningMode))
	}
	host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
}

// Provisioned reports whether the host runs what the claim asks for, and nothing
// else: a host may still report what was on it before, a parked one has what was
// written for another machine, and one that is to be written anew does not run it yet,
// be its image the same.
func Provisioned(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return Asked(claim) && same(claim, host) && !IsParked(host) && !renewed(claim, host) && runsItsPayload(host)
}

// runsItsPayload reports whether a host reports to be provisioned with the payload
// in its spec.
func runsItsPayload(host *bmov1alpha1.BareMetalHost) bool {
	status := host.Status.Provisioning
	if !HasPayload(host) || status.State != bmov1alpha1.StateProvisioned {
		return false
	}
	if host.Spec.Image != nil && host.Spec.Image.URL != status.Image.URL {
		return false
	}
	return host.Spec.CustomDeploy == nil || equality.Semantic.DeepEqual(host.Spec.CustomDeploy, status.CustomDeploy)
}

// A server is switched or rebooted for its claim MaxPowerChanges times within
// PowerWindow at most, since a BMC is hardware.
const (
	MaxPowerChanges = 10
	PowerWindow     = 10 * time.Minute
)

// fastTracked reports whether the administrator of a host keeps it on while it is empty. A host
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

// PowerLimited reports whether a host was switched or rebooted too often to be so now, and
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
