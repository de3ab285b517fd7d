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
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/facts"
)

// The kind of pool that a template means when it says nothing else.
const (
	// Metal3Group is the API group of ip-address-manager.
	Metal3Group = "ipam.metal3.io"
	// Metal3Kind is its kind of pool.
	Metal3Kind = "IPPool"
)

// Pool identifies an address pool of the machine's namespace.
type Pool struct {
	Name     string
	APIGroup string
	Kind     string
}

// Metal3 says that the pool is asked by an IPClaim of ip-address-manager. All
// others are asked by an IPAddressClaim of Cluster API's IPAM contract.
func (p Pool) Metal3() bool {
	return p.APIGroup == Metal3Group && p.Kind == Metal3Kind
}

func (p Pool) String() string {
	return fmt.Sprintf("%s.%s %q", p.Kind, p.APIGroup, p.Name)
}

// NewPool returns the pool with the defaults of the API filled in.
func NewPool(name, apiGroup, kind string) Pool {
	if apiGroup == "" {
		apiGroup = Metal3Group
	}
	if kind == "" {
		kind = Metal3Kind
	}
	return Pool{Name: name, APIGroup: apiGroup, Kind: kind}
}

// ConflictError says that a template means two different pools by one name,
// although answers are told apart by name only.
type ConflictError struct {
	One, Other Pool
}

func (e ConflictError) Error() string {
	return fmt.Sprintf("two pools of one name, %s and %s: give one of them another name, "+
		"and name it in a new Metal3DataTemplate", e.One, e.Other)
}

// Pools lists the pools that the template asks on behalf of a machine, each
// once, sorted by name. Pools that annotations name are looked up. All errors
// are returned together, with the pools that are known nevertheless.
func Pools(spec infrav1.Metal3DataTemplateSpec, f facts.Facts) ([]Pool, error) {
	c := &collector{facts: f}
	if spec.MetaData != nil {
		c.metaData(spec.MetaData)
	}
	if spec.NetworkData != nil {
		c.networkData(spec.NetworkData)
	}
	slices.SortFunc(c.pools, func(a, b Pool) int { return strings.Compare(a.Name, b.Name) })
	return c.pools, errors.Join(c.problems...)
}

// collector gathers pools in the order of the template.
type collector struct {
	facts    facts.Facts
	pools    []Pool
	problems []error
}

func (c *collector) add(pool Pool) {
	if pool.Name == "" {
		return
	}
	at := slices.IndexFunc(c.pools, func(known Pool) bool { return known.Name == pool.Name })
	switch {
	case at < 0:
		c.pools = append(c.pools, pool)
	case c.pools[at] != pool:
		c.problems = append(c.problems, ConflictError{One: c.pools[at], Other: pool})
	}
}

func (c *collector) metaData(spec *infrav1.MetaData) {
	lists := [][]infrav1.FromPool{
		spec.IPAddressesFromPool, spec.PrefixesFromPool, spec.GatewaysFromPool, spec.DNSServersFromPool,
	}
	for _, entry := range slices.Concat(lists...) {
		c.add(NewPool(entry.Name, entry.APIGroup, entry.Kind))
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
		c.source(Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool})
		c.routesV4(n.Routes)
	}
	for _, n := range networks.IPv6 {
		c.source(Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool})
		c.routesV6(n.Routes)
	}
	for _, n := range networks.IPv4DHCP {
		c.routesV4(n.Routes)
	}
	for _, n := range slices.Concat(networks.IPv6DHCP, networks.IPv6SLAAC) {
		c.routesV6(n.Routes)
	}
}

func (c *collector) routesV4(routes []infrav1.NetworkDataRoutev4) {
	for _, r := range routes {
		if g := r.Gateway; g.String == "" {
			c.source(Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool})
		}
		if r.Services != nil {
			c.named(r.Services.DNSFromIPPool)
		}
	}
}

func (c *collector) routesV6(routes []infrav1.NetworkDataRoutev6) {
	for _, r := range routes {
		if g := r.Gateway; g.String == "" {
			c.source(Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool})
		}
		if r.Services != nil {
			c.named(r.Services.DNSFromIPPool)
		}
	}
}

func (c *collector) named(pool string) {
	c.add(NewPool(pool, "", ""))
}

func (c *collector) source(s Source) {
	pool, err := s.Pool(c.facts)
	if err != nil {
		c.problems = append(c.problems, err)
		return
	}
	c.add(pool)
}
