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
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
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

// contains reports whether the text is an address of the family.
func (f family) contains(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == "" && address.BitLen() == f.bits() && !address.Is4In6()
}

// networks renders the networks of all lists.
func (r *renderer) networks(spec *infrav1.NetworkDataNetwork) []network {
	rendered := []network{}
	for _, n := range ippool.Networks(spec) {
		rendered = append(rendered, r.network(n))
	}
	return rendered
}

// network renders a network. Routes of a static one use the address that it has from a pool, too,
// where they name the same pool.
func (r *renderer) network(n ippool.Network) network {
	name := item("networks."+n.List, n.ID)
	// The format has ipv4_dhcp where the template has ipv4DHCP.
	kind := strings.NewReplacer("DHCP", "_dhcp", "SLAAC", "_slaac").Replace(n.List)
	rendered := network{Type: kind, ID: n.ID, Link: n.Link}
	var own metadata.AddressRef
	if n.Static {
		var found bool
		if own, found = r.ownAddress(name, n); !found {
			return rendered
		}
	}
	f := family(n.Family)
	rendered.Routes = r.routes(f, name, own, n.Routes)
	if !n.Static {
		return rendered
	}
	address, err := r.facts.Address(own)
	if err == nil {
		err = f.fits(own, address)
	}
	if err != nil {
		r.fail(name, err)
		return rendered
	}
	rendered.IPAddress, rendered.Netmask = address.Address, f.mask(address.Prefix)
	return rendered
}

// ownAddress returns which address a static network has.
func (r *renderer) ownAddress(name string, n ippool.Network) (own metadata.AddressRef, found bool) {
	pool, err := n.Source.Pool(r.facts)
	if err == nil && pool.Name == "" {
		err = TemplateError{
			Problem: "the network names no pool", Remedy: "set fromPoolRef, fromPoolAnnotation or ipAddressFromIPPool",
		}
	}
	if err != nil {
		r.fail(name, err)
		return own, false
	}
	return r.assigned.Assign(pool.Name, n.ID), true
}

// fits returns why an address of a pool cannot be that of a network.
func (f family) fits(ref metadata.AddressRef, address metadata.Address) error {
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

// routes renders the routes of a network, which has an address of its own
// from a pool if own names one.
func (r *renderer) routes(f family, network string, own metadata.AddressRef, specs []ippool.Route) []route {
	rendered := make([]route, 0, len(specs))
	for i, spec := range specs {
		name := fmt.Sprintf("%s.routes[%d]", network, i)
		if !f.contains(spec.Network) || spec.Prefix < 0 || int(spec.Prefix) > f.bits() {
			r.fail(name, TemplateError{
				Problem: fmt.Sprintf("%s/%d is not an %s network", spec.Network, spec.Prefix, f),
				Remedy:  "correct network and prefix",
			})
			continue
		}
		gateway, err := r.gateway(f, own, spec)
		if err != nil {
			r.fail(name+".gateway", err)
			continue
		}
		rendered = append(rendered, route{
			Network:  spec.Network,
			Netmask:  f.mask(spec.Prefix),
			Gateway:  gateway,
			Services: r.services(name+".services", spec.DNS, ownOf(own, spec.DNSPool)),
		})
	}
	return rendered
}

// gateway returns the router of a route, which the template gives or a pool knows.
func (r *renderer) gateway(f family, own metadata.AddressRef, spec ippool.Route) (string, error) {
	if spec.Gateway != "" {
		if !f.contains(spec.Gateway) {
			return "", TemplateError{
				Problem: fmt.Sprintf("%q is not an %s address", spec.Gateway, f), Remedy: "correct it",
			}
		}
		return spec.Gateway, nil
	}
	pool, err := spec.Source.Pool(r.facts)
	if err != nil {
		return "", err
	}
	if pool.Name == "" {
		return "", TemplateError{
			Problem: "the route has no gateway", Remedy: "set string, fromPoolRef, fromPoolAnnotation or fromIPPool",
		}
	}
	ref := ownOf(own, pool.Name)
	address, err := r.facts.Address(ref)
	if err != nil {
		return "", err
	}
	if !f.contains(address.Gateway) {
		return "", PoolError{
			Address: ref, Problem: fmt.Sprintf("has the gateway %q, which is not an %s address", address.Gateway, f),
			Remedy: "set spec.gateway of the pool",
		}
	}
	return address.Gateway, nil
}

// ownOf is the address of a pool that matters to a network: its own, if that is
// from the pool, since gateways may differ between the subnets of a pool.
func ownOf(own metadata.AddressRef, pool string) metadata.AddressRef {
	if own.Pool == pool {
		return own
	}
	return metadata.AddressRef{Pool: pool}
}
