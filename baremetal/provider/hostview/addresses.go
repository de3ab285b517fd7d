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

package hostview

import (
	"cmp"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// What status.addresses of a Metal3Machine can hold.
const (
	maxAddresses     = 32
	maxAddressLength = 256
)

// Addresses lists under which addresses the server is known: one InternalIP
// for each address of its interfaces, then its name as Hostname and
// InternalDNS. The Hostname is the name of the machine's Node, once that is known
// and not empty: the two differ where a machine does not keep the name of its host.
// The order is that of the inspection, repeats are dropped, and when there are too
// many, names are kept and surplus interfaces left out. One that is too long is none.
func Addresses(host Host, node string) []clusterv1.MachineAddress {
	var names []clusterv1.MachineAddress
	if hostname := cmp.Or(node, host.Hostname); hostname != "" && len(hostname) <= maxAddressLength {
		names = append(names, clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: hostname})
	}
	if host.Hostname != "" && len(host.Hostname) <= maxAddressLength {
		names = append(names, clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: host.Hostname})
	}
	var addresses []clusterv1.MachineAddress
	for _, nic := range host.NICs {
		address := clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: nic.IP}
		if nic.IP == "" || len(nic.IP) > maxAddressLength || slices.Contains(addresses, address) {
			continue
		}
		if len(addresses)+len(names) == maxAddresses {
			break
		}
		addresses = append(addresses, address)
	}
	return append(addresses, names...)
}
