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

// Package ippool decides which address pools a data template asks, and what follows
// from their answers.
//
// Its inputs are a template with the facts of one machine, and the claim and
// address objects of the two address management APIs. It returns the pools,
// the claims to be applied and the answers in one common form. It never talks
// to a pool.
package ippool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
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
func (a Ask) Ref() metadata.AddressRef {
	return metadata.AddressRef{Pool: a.Name, Network: a.Network}
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
		return "-" + a.Name + "-" + text.Hash(a.Network)
	}
}

// Assigned are the pools whose first address a network of the template has. That
// address is also the one that the metadata of the template refers to; each
// further network gets an address of its own.
type Assigned map[string]bool

// Assign returns the address of the next network of the template on a pool.
func (a Assigned) Assign(pool, network string) metadata.AddressRef {
	if a[pool] {
		return metadata.AddressRef{Pool: pool, Network: network}
	}
	a[pool] = true
	return metadata.AddressRef{Pool: pool}
}

// Asks lists the addresses that the template asks for on behalf of a machine,
// each once, sorted by pool and network. Pools that annotations name are looked
// up. All errors are returned together, with what is known nevertheless.
func Asks(spec infrav1.Metal3DataTemplateSpec, f metadata.Facts) ([]Ask, error) {
	c := collect(spec, f)
	return c.asks, errors.Join(c.problems...)
}

// Contradictions lists what is wrong with the pools of a template for every machine
// that it may be rendered for: ConflictErrors and ClaimNameErrors.
func Contradictions(spec infrav1.Metal3DataTemplateSpec) []error {
	return slices.DeleteFunc(collect(spec, metadata.Facts{}).problems, func(err error) bool {
		return !errors.As(err, &ConflictError{}) && !errors.As(err, &ClaimNameError{})
	})
}

// collector gathers addresses in the order of the template.
type collector struct {
	facts    metadata.Facts
	assigned Assigned
	asks     []Ask
	problems []error
	// pools are the pools by name, and places the positions of addresses in asks.
	pools  map[string]Pool
	places map[metadata.AddressRef]int
	// reported are the texts of the problems.
	reported map[string]bool
}

func collect(spec infrav1.Metal3DataTemplateSpec, f metadata.Facts) *collector {
	c := &collector{
		facts: f, assigned: Assigned{}, pools: map[string]Pool{}, places: map[metadata.AddressRef]int{}, reported: map[string]bool{},
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
		c.add(Ask{Pool: newPool(entry.Name, entry.APIGroup, entry.Kind)})
	}
}

func (c *collector) networkData(spec *infrav1.NetworkData) {
	if spec.Services != nil {
		c.named(spec.Services.DNSFromIPPool)
	}
	for _, n := range Networks(spec.Networks) {
		if n.Static {
			c.network(n)
		}
		for i, route := range n.Routes {
			if route.Gateway == "" {
				c.gateway(n, i, route.Source)
			}
			c.named(route.DNSPool)
		}
	}
}

func (c *collector) named(pool string) {
	c.add(Ask{Pool: newPool(pool, "", "")})
}

func (c *collector) network(n Network) {
	pool, err := n.Source.Pool(c.facts)
	switch {
	case err != nil:
		c.fail(fmt.Errorf("networkData.networks.%s[%s]: %w", n.List, n.ID, err))
	case pool.Name != "":
		c.add(Ask{Pool: pool, Network: c.assigned.Assign(pool.Name, n.ID).Network, Family: n.Family})
	}
}

func (c *collector) gateway(n Network, route int, source Source) {
	pool, err := source.Pool(c.facts)
	if err != nil {
		c.fail(fmt.Errorf("networkData.networks.%s[%s].routes[%d].gateway: %w", n.List, n.ID, route, err))
		return
	}
	c.add(Ask{Pool: pool, Family: n.Family})
}

// The kind of pool that a template means when it names none.
const (
	// metal3Group is the API group of ip-address-manager.
	metal3Group = "ipam.metal3.io"
	// metal3Kind is its kind of pool.
	metal3Kind = "IPPool"
)

// Pool identifies an address pool of the machine's namespace.
type Pool struct {
	Name     string
	APIGroup string
	Kind     string
}

// Metal3 reports whether the pool is asked by an IPClaim of ip-address-manager. All
// others are asked by an IPAddressClaim of Cluster API's IPAM contract.
func (p Pool) Metal3() bool {
	return p.APIGroup == metal3Group && p.Kind == metal3Kind
}

func (p Pool) String() string {
	return fmt.Sprintf("%s.%s %q", p.Kind, p.APIGroup, p.Name)
}

// newPool returns the pool with the defaults of the API filled in.
func newPool(name, apiGroup, kind string) Pool {
	return Pool{Name: name, APIGroup: cmp.Or(apiGroup, metal3Group), Kind: cmp.Or(kind, metal3Kind)}
}

// ConflictError is that of a template which means two different pools by one name, although answers
// are matched by name only.
type ConflictError struct {
	One, Other Pool
}

func (e ConflictError) Error() string {
	return fmt.Sprintf("two pools of one name, %s and %s: give one of them another name, "+
		"and name it in a new Metal3DataTemplate", e.One, e.Other)
}

// ClaimNameError is that of two addresses which would be claimed by claims of one name.
type ClaimNameError struct {
	One, Other Ask
}

func (e ClaimNameError) Error() string {
	return fmt.Sprintf("%s and %s would be asked by claims of one name: give the network another id in a new Metal3DataTemplate",
		e.One, e.Other)
}

// Source is how a network or a gateway of a template names a pool. The first
// one that is set counts: annotation, reference, name.
type Source struct {
	Annotation *infrav1.FromPoolAnnotation
	Ref        *infrav1.IPPoolReference
	Name       string
}

// Pool returns the pool that is meant. A source that names none gives a pool
// without a name.
func (s Source) Pool(f metadata.Facts) (Pool, error) {
	switch {
	case s.Annotation != nil:
		name, err := f.Annotation(s.Annotation.Object, s.Annotation.Annotation)
		if err != nil {
			return Pool{}, err
		}
		return newPool(name, "", ""), nil
	case s.Ref != nil && s.Ref.Name != "":
		return newPool(s.Ref.Name, s.Ref.APIGroup, s.Ref.Kind), nil
	default:
		return newPool(s.Name, "", ""), nil
	}
}
