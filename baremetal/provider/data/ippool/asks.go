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

package ippool

import (
	"errors"
	"fmt"
	"slices"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
)

// The families of addresses, by their names in a template.
const (
	IPv4 = "ipv4"
	IPv6 = "ipv6"
)

// Ask is one address that a pool is asked for.
type Ask struct {
	Pool
	// Network is the id of the network that the address is for, if another network
	// has the first address of the pool; empty for the first one.
	Network string
	// Family is what the template needs; empty if that does not follow from it.
	Family string
}

// Ref is the name of the address within the facts of a machine.
func (a Ask) Ref() facts.AddressRef {
	return facts.AddressRef{Pool: a.Name, Network: a.Network}
}

func (a Ask) String() string {
	if a.Network == "" {
		return a.Pool.String()
	}
	return fmt.Sprintf("%s for network %q", a.Pool, a.Network)
}

// claimSuffix is what the name of the claim has after its holder. The id of a
// network may hold characters that names of objects may not.
func (a Ask) claimSuffix() string {
	switch {
	case a.Network == "":
		return "-" + a.Name
	case networkInName.MatchString(a.Network):
		return "-" + a.Name + "-" + a.Network
	default:
		return "-" + a.Name + "-" + hash(a.Network)
	}
}

// Assigned are the pools whose first address a network of the template has. That
// address is also the one that the metadata of the template refers to; each
// further network gets an address of its own.
type Assigned map[string]bool

// Assign returns the address of the next network of the template on a pool.
func (a Assigned) Assign(pool, network string) facts.AddressRef {
	if a[pool] {
		return facts.AddressRef{Pool: pool, Network: network}
	}
	a[pool] = true
	return facts.AddressRef{Pool: pool}
}

// Asks lists the addresses that the template asks for on behalf of a machine,
// each once, sorted by pool and network. Pools that annotations name are looked
// up. All errors are returned together, with what is known nevertheless.
func Asks(spec infrav1.Metal3DataTemplateSpec, f facts.Facts) ([]Ask, error) {
	c := collect(spec, f)
	return c.asks, errors.Join(c.problems...)
}

// Contradictions lists what is wrong with the pools of a template for every machine
// that it may be rendered for: ConflictErrors and ClaimNameErrors.
func Contradictions(spec infrav1.Metal3DataTemplateSpec) []error {
	return slices.DeleteFunc(collect(spec, facts.Facts{}).problems, func(err error) bool {
		return !errors.As(err, &ConflictError{}) && !errors.As(err, &ClaimNameError{})
	})
}

// collector gathers addresses in the order of the template.
type collector struct {
	facts    facts.Facts
	assigned Assigned
	asks     []Ask
	problems []error
	// pools are the pools by name, and places the positions of addresses in asks.
	pools  map[string]Pool
	places map[facts.AddressRef]int
	// reported are the texts of the problems.
	reported map[string]bool
}

func collect(spec infrav1.Metal3DataTemplateSpec, f facts.Facts) *collector {
	c := &collector{
		facts: f, assigned: Assigned{}, pools: map[string]Pool{}, places: map[facts.AddressRef]int{}, reported: map[string]bool{},
	}
	if spec.MetaData != nil {
		c.metaData(spec.MetaData)
	}
	if spec.NetworkData != nil {
		c.networkData(spec.NetworkData)
	}
	slices.SortFunc(c.asks, func(a, b Ask) int {
		return slices.Compare([]string{a.Name, a.Network}, []string{b.Name, b.Network})
	})
	c.compareClaims()
	return c
}

// add records an address, unless the template asks for it already.
func (c *collector) add(ask Ask) {
	if ask.Name == "" {
		return
	}
	if known, asked := c.pools[ask.Name]; asked && known != ask.Pool {
		c.fail(ConflictError{One: known, Other: ask.Pool})
		return
	}
	c.pools[ask.Name] = ask.Pool
	if i, asked := c.places[ask.Ref()]; asked {
		if c.asks[i].Family == "" {
			c.asks[i].Family = ask.Family
		}
		return
	}
	c.places[ask.Ref()] = len(c.asks)
	c.asks = append(c.asks, ask)
}

// fail records a problem once.
func (c *collector) fail(err error) {
	if text := err.Error(); !c.reported[text] {
		c.reported[text] = true
		c.problems = append(c.problems, err)
	}
}

// compareClaims finds addresses whose claims would have one name.
func (c *collector) compareClaims() {
	names := map[string]Ask{}
	for _, ask := range c.asks {
		if other, used := names[ask.claimSuffix()]; used {
			c.fail(ClaimNameError{One: other, Other: ask})
		}
		names[ask.claimSuffix()] = ask
	}
}

func (c *collector) metaData(spec *infrav1.MetaData) {
	lists := [][]infrav1.FromPool{
		spec.IPAddressesFromPool, spec.PrefixesFromPool, spec.GatewaysFromPool, spec.DNSServersFromPool,
	}
	for _, entry := range slices.Concat(lists...) {
		c.add(Ask{Pool: NewPool(entry.Name, entry.APIGroup, entry.Kind)})
	}
}

func (c *collector) networkData(spec *infrav1.NetworkData) {
	if spec.Services != nil {
		c.named(spec.Services.DNSFromIPPool)
	}
	networks := spec.Networks
	if networks == nil {
		return
	}
	for _, n := range networks.IPv4 {
		c.network(IPv4, n.ID, Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool})
		c.routesV4("ipv4", n.ID, n.Routes)
	}
	for _, n := range networks.IPv6 {
		c.network(IPv6, n.ID, Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool})
		c.routesV6("ipv6", n.ID, n.Routes)
	}
	for _, n := range networks.IPv4DHCP {
		c.routesV4("ipv4DHCP", n.ID, n.Routes)
	}
	for _, n := range networks.IPv6DHCP {
		c.routesV6("ipv6DHCP", n.ID, n.Routes)
	}
	for _, n := range networks.IPv6SLAAC {
		c.routesV6("ipv6SLAAC", n.ID, n.Routes)
	}
}

func (c *collector) routesV4(list, id string, routes []infrav1.NetworkDataRoutev4) {
	for i, r := range routes {
		if g := r.Gateway; g.String == "" {
			c.gateway(IPv4, route(list, id, i), Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool})
		}
		if r.Services != nil {
			c.named(r.Services.DNSFromIPPool)
		}
	}
}

func (c *collector) routesV6(list, id string, routes []infrav1.NetworkDataRoutev6) {
	for i, r := range routes {
		if g := r.Gateway; g.String == "" {
			c.gateway(IPv6, route(list, id, i), Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool})
		}
		if r.Services != nil {
			c.named(r.Services.DNSFromIPPool)
		}
	}
}

func (c *collector) named(pool string) {
	c.add(Ask{Pool: NewPool(pool, "", "")})
}

func (c *collector) network(family, id string, source Source) {
	pool, err := source.Pool(c.facts)
	switch {
	case err != nil:
		c.fail(fmt.Errorf("networkData.networks.%s[%s]: %w", family, id, err))
	case pool.Name != "":
		c.add(Ask{Pool: pool, Network: c.assigned.Assign(pool.Name, id).Network, Family: family})
	}
}

func (c *collector) gateway(family, field string, source Source) {
	pool, err := source.Pool(c.facts)
	if err != nil {
		c.fail(fmt.Errorf("%s.gateway: %w", field, err))
		return
	}
	c.add(Ask{Pool: pool, Family: family})
}

// route names a route of a network in messages.
func route(list, id string, index int) string {
	return fmt.Sprintf("networkData.networks.%s[%s].routes[%d]", list, id, index)
}
