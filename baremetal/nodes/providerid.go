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

package nodes

import "strings"

// ProviderIDPrefix starts every provider ID of this provider.
const ProviderIDPrefix = "metal3://"

// ProviderID is a provider ID in its parts, which are unique only together.
type ProviderID struct {
	// Namespace of the Metal3Machine.
	Namespace string
	// Host is the name of the BareMetalHost, which may live in any namespace.
	Host string
	// Machine is the name of the Metal3Machine.
	Machine string
}

// Path returns the ID without its prefix. Rendered metadata carries it under the key providerid,
// for the configuration of the kubelet.
func (i ProviderID) Path() string {
	return i.Namespace + "/" + i.Host + "/" + i.Machine
}

// String returns the ID as it is written to spec.providerID.
func (i ProviderID) String() string {
	return ProviderIDPrefix + i.Path()
}

// Valid reports whether ParseProviderID reads back what String returns.
func (i ProviderID) Valid() bool {
	for _, part := range []string{i.Namespace, i.Host, i.Machine} {
		if part == "" || strings.Contains(part, "/") {
			return false
		}
	}
	return true
}

// ParseProviderID reads a provider ID. It returns false for the IDs of other providers
// and for older formats of this one, which name a host only.
func ParseProviderID(providerID string) (ProviderID, bool) {
	path, ours := strings.CutPrefix(providerID, ProviderIDPrefix)
	parts := strings.Split(path, "/")
	if !ours || len(parts) != 3 {
		return ProviderID{}, false
	}
	id := ProviderID{Namespace: parts[0], Host: parts[1], Machine: parts[2]}
	if !id.Valid() {
		return ProviderID{}, false
	}
	return id, true
}
