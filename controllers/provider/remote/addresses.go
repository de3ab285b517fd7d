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

package remote

import (
	"net"
	"net/netip"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
)

// LocalAddresses are those by which a process reaches its own machine, its Pod and the
// services that clouds offer to their machines: this host, loopback, link-local and the
// addresses of its interfaces. Nothing that a tenant names should be found there.
func LocalAddresses() []netip.Prefix {
	return append(ownAddresses(), addresses.Local()...)
}

// ownAddresses are those of the interfaces of this process.
func ownAddresses() []netip.Prefix {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil // without a right to ask, the other ones are denied still
	}
	var out []netip.Prefix
	for _, address := range interfaces {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			ip := prefix.Addr().Unmap()
			out = append(out, netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	return out
}

// ParseAddresses reads a list of prefixes such as 10.0.0.0/8, separated by commas. The
// word local stands for LocalAddresses, services for the given ranges of Services, and an
// empty text for none.
func ParseAddresses(text string, services []netip.Prefix) ([]netip.Prefix, error) {
	return addresses.Parse(text, map[string][]netip.Prefix{"local": LocalAddresses(), "services": services})
}
