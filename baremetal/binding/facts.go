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
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// maxNameLength is the limit of the names of most objects.
const maxNameLength = 253

// HardwareDataName is the name under which the facts of a claim's host are
// published: the claim's name and a suffix, cut and hashed past the limit.
func HardwareDataName(claim string) string {
	room := maxNameLength - len(infrav1.HardwareDataSuffix)
	if len(claim) > room {
		hash := shortHash(claim)
		claim = claim[:room-len(hash)-1] + "-" + hash
	}
	return claim + infrav1.HardwareDataSuffix
}

// HardwareData returns the facts of a host as the tenant of a claim may see
// them, with the labels and annotations of the host that policy lets out. The host must have reported its hardware.
func HardwareData(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, labels, annotations map[string]string) *bmov1alpha1.HardwareData {
	// An owner that blocks its deletion would take rights on the finalizers of claims.
	owner := metav1.NewControllerRef(claim, bmov1alpha1.GroupVersion.WithKind(hostClaimKind))
	owner.BlockOwnerDeletion = nil
	data := &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       claim.Namespace,
			Name:            HardwareDataName(claim.Name),
			Labels:          map[string]string{},
			Annotations:     map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: host.Status.HardwareDetails.DeepCopy()},
	}
	maps.Copy(data.Labels, labels)
	data.Labels[infrav1.ClaimUIDLabel] = string(claim.UID)
	maps.Copy(data.Annotations, annotations)
	data.Annotations[infrav1.HostUIDAnnotation] = string(host.UID)
	data.Annotations[infrav1.HostNameAnnotation] = host.Name
	data.Annotations[infrav1.HostNamespaceAnnotation] = host.Namespace
	data.Annotations[infrav1.BootMACAddressAnnotation] = host.Spec.BootMACAddress
	if domain, found := host.Labels[infrav1.FailureDomainLabel]; found {
		data.Annotations[infrav1.HostFailureDomainAnnotation] = domain
	}
	return data
}

// IsPublished reports whether a HardwareData was made for a claim, or for the claim of that
// name from which it was moved or restored. Then the label has the former UID, and the
// owner has the UID of the claim if clusterctl moved both, the former one after a restore. An owner that was
// taken out is written again.
func IsPublished(data *bmov1alpha1.HardwareData, claim *bmov1alpha1.HostClaim) bool {
	owner, label := metav1.GetControllerOf(data), data.Labels[infrav1.ClaimUIDLabel]
	switch {
	case owner == nil:
		return label == string(claim.UID)
	case label == "" || owner.Kind != hostClaimKind || owner.Name != claim.Name:
		return false
	}
	return owner.UID == claim.UID || string(owner.UID) == label
}

// hashPrefix begins a hash that stands for hardware. No name of a hardware profile
// or of a machine looks like it.
const hashPrefix = "sha256:"

// StripHost drops what nothing is decided by, as the cache does with every host: credentials,
// history, what was configured on the server, and the hardware, most of its size. Of that a hash
// stays that HardwareHash finds. The hash stands in the status, which is not ours to write:
// the API server ignores it in every patch of a host, so it stays in memory.
//
// Tests that choose among hosts strip theirs too, or they would pass with an order by memory, which
// the manager does not see.
func StripHost(host *bmov1alpha1.BareMetalHost) {
	// JSON of hardware; never published.
	delete(host.Annotations, bmov1alpha1.HardwareDetailsAnnotation)
	spec, status := &host.Spec, &host.Status
	spec.Taints, spec.RAID, spec.RootDeviceHints, spec.Description = nil, nil, nil, ""
	hash, _ := HardwareHash(host)
	status.HardwareDetails, status.HardwareProfile = nil, hash
	status.GoodCredentials, status.TriedCredentials = bmov1alpha1.CredentialsStatus{}, bmov1alpha1.CredentialsStatus{}
	status.OperationHistory = bmov1alpha1.OperationHistory{}
	status.Provisioning.RAID, status.Provisioning.RootDeviceHints, status.Provisioning.Firmware = nil, nil, nil
}

// HardwareHash identifies the hardware that a host has reported, whether or not it
// was stripped; false if the host has reported none.
func HardwareHash(host *bmov1alpha1.BareMetalHost) (string, bool) {
	if host.Status.HardwareDetails != nil {
		return hashOf(host.Status.HardwareDetails), true
	}
	if hash := host.Status.HardwareProfile; strings.HasPrefix(hash, hashPrefix) {
		return hash, true
	}
	return "", false
}

// StripFacts does to published facts what StripHost does to a host. Stripped
// facts can be compared and must not be written.
func StripFacts(data *bmov1alpha1.HardwareData) {
	data.Spec.HardwareDetails = &bmov1alpha1.HardwareDetails{Hostname: FactsHash(data)}
}

// FactsHash identifies the hardware in published facts, whether or not they were
// stripped: it equals HardwareHash of the host as long as they are current.
func FactsHash(data *bmov1alpha1.HardwareData) string {
	hardware := data.Spec.HardwareDetails
	if hardware != nil && strings.HasPrefix(hardware.Hostname, hashPrefix) &&
		reflect.DeepEqual(*hardware, bmov1alpha1.HardwareDetails{Hostname: hardware.Hostname}) {
		return hardware.Hostname
	}
	return hashOf(hardware)
}

// hashOf hashes what the hardware is in JSON, as the API server stores it.
func hashOf(hardware *bmov1alpha1.HardwareDetails) string {
	text, err := json.Marshal(hardware)
	if err != nil {
		// Plain structs of texts and numbers always have a JSON form.
		return hashPrefix
	}
	sum := sha256.Sum256(text)
	return hashPrefix + base64.RawStdEncoding.EncodeToString(sum[:])
}
