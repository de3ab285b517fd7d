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

package networkdata

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
)

// family is an address family, by its name in the format.
type family string

const (
	ipv4 family = ippool.IPv4
	ipv6 family = ippool.IPv6
)

// bits is the length of an address.
func (f family) bits() int {
	if f == ipv4 {
		return 32
	}
	return 128
}

// mask writes a prefix length as an address.
func (f family) mask(prefix int32) string {
	mask := net.CIDRMask(int(prefix), f.bits())
	return net.IP(mask).String()
}

// contains says whether the text is an address of the family.
func (f family) contains(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == "" && address.BitLen() == f.bits() && !address.Is4In6()
}

// networks renders static IPv4 and IPv6 first, then DHCP for both, then SLAAC.
func (r *renderer) networks(spec *infrav1.NetworkDataNetwork) []network {
	rendered := []network{}
	if spec == nil {
		return rendered
	}
	for _, n := range spec.IPv4 {
		source := ippool.Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool}
		rendered = append(rendered, r.static(ipv4, n.ID, n.Link, source, routesV4(n.Routes)))
	}
	for _, n := range spec.IPv6 {
		source := ippool.Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool}
		rendered = append(rendered, r.static(ipv6, n.ID, n.Link, source, routesV6(n.Routes)))
	}
	for _, n := range spec.IPv4DHCP {
		rendered = append(rendered, r.leased(ipv4, "ipv4_dhcp", n.ID, n.Link, routesV4(n.Routes)))
	}
	for _, n := range spec.IPv6DHCP {
		rendered = append(rendered, r.leased(ipv6, "ipv6_dhcp", n.ID, n.Link, routesV6(n.Routes)))
	}
	for _, n := range spec.IPv6SLAAC {
		rendered = append(rendered, r.leased(ipv6, "ipv6_slaac", n.ID, n.Link, routesV6(n.Routes)))
	}
	return rendered
}

// leased renders a network whose addresses the network itself hands out.
func (r *renderer) leased(f family, kind, id, link string, routes []routeSpec) network {
	rendered, name := r.network(kind, id, link)
	rendered.Routes = r.routes(f, name, facts.AddressRef{}, routes)
	return rendered
}

// network renders what all networks have in common, and names it for messages.
func (r *renderer) network(kind, id, link string) (network, string) {
	name := item("networks."+list(kind), id)
	r.mustExist(name+".link", link)
	return network{Type: kind, ID: id, Link: link}, name
}

// list is the field of the template that networks of a kind are in.
func list(kind string) string {
	return strings.NewReplacer("_dhcp", "DHCP", "_slaac", "SLAAC").Replace(kind)
}

// static renders a network with an address from a pool. Its routes speak of that
// address too, where they name the same pool.
func (r *renderer) static(f family, id, link string, source ippool.Source, routes []routeSpec) network {
	rendered, name := r.network(string(f), id, link)
	pool, err := source.Pool(r.facts)
	if err == nil && pool.Name == "" {
		err = TemplateError{
			Problem: "the network names no pool", Remedy: "set fromPoolRef, fromPoolAnnotation or ipAddressFromIPPool",
		}
	}
	if err != nil {
		r.fail(name, err)
		return rendered
	}
	ref := r.assigned.Assign(pool.Name, id)
	rendered.Routes = r.routes(f, name, ref, routes)
	address, err := r.facts.Address(ref)
	if err == nil {
		err = f.fits(ref, address)
	}
	if err != nil {
		r.fail(name, err)
		return rendered
	}
	rendered.IPAddress, rendered.Netmask = address.Address, f.mask(address.Prefix)
	return rendered
}

// fits says why an address of a pool cannot be that of a network.
func (f family) fits(ref facts.AddressRef, address facts.Address) error {
	switch {
	case !f.contains(address.Address):
		return PoolError{
			Address: ref, Problem: fmt.Sprintf("gave %q, which is not an %s address", address.Address, f),
			Remedy: "name a pool of that family",
		}
	case address.Prefix < 1 || int(address.Prefix) > f.bits():
		return PoolError{
			Address: ref, Problem: fmt.Sprintf("gave prefix length %d, which is none of %s", address.Prefix, f),
			Remedy: "set the prefix in the pool",
		}
	}
	return nil
}
