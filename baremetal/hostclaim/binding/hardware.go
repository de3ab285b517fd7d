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
	"reflect"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// hashPrefix begins a hash that stands for hardware. No name of a hardware profile
// or of a machine looks like it.
const hashPrefix = "sha256:"

// StripHardware replaces the hardware of a host, most of its size, by a hash that
// HardwareHash finds. The hash stands in the status, which is not ours to write:
// the API server ignores it in every patch of a host, so it stays in memory.
func StripHardware(host *bmov1alpha1.BareMetalHost) {
	hash, _ := HardwareHash(host)
	host.Status.HardwareDetails, host.Status.HardwareProfile = nil, hash
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

// StripFacts does to published facts what StripHardware does to a host. Stripped
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
