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

package netdata

import (
	"net/netip"
	"slices"
	"strings"
)

// Addresses lists what the machine is reachable by, in the order of its
// networks: the static addresses, and for networks by DHCP what the card of the
// link gets. Without any network every card that has an address counts.
func Addresses(doc Document, nics []NIC) []string {
	var found []string
	if len(doc.Networks) == 0 {
		for _, nic := range nics {
			found = append(found, nic.IP)
		}
	}
	for _, network := range doc.Networks {
		if static(network) {
			address, _, _ := strings.Cut(network.Address, "/")
			found = append(found, address)
			continue
		}
		found = append(found, leased(doc, network.Link, nics))
	}
	return slices.DeleteFunc(found, func(address string) bool {
		_, err := netip.ParseAddr(address)
		return err != nil
	})
}

// leased is the address that the card with the MAC of a link gets by DHCP.
func leased(doc Document, link string, nics []NIC) string {
	at := slices.IndexFunc(doc.Links, func(l Link) bool { return l.ID == link })
	if at < 0 {
		return ""
	}
	for _, nic := range nics {
		if strings.EqualFold(nic.MAC, doc.Links[at].MAC) {
			return nic.IP
		}
	}
	return ""
}
