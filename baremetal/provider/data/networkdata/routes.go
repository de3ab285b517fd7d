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

	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
)

// routeSpec is a route of either family.
type routeSpec struct {
	network string
	prefix  int32
	gateway string        // the address itself, if the template gives it
	source  ippool.Source // the pool whose gateway is meant otherwise
	dns     []string
	dnsPool string
}

func routesV4(routes []infrav1.NetworkDataRoutev4) []routeSpec {
	specs := make([]routeSpec, 0, len(routes))
	for _, r := range routes {
		g, services := r.Gateway, ptr.Deref(r.Services, infrav1.NetworkDataServicev4{})
		specs = append(specs, routeSpec{
			network: string(r.Network),
			prefix:  ptr.Deref(r.Prefix, 0),
			gateway: string(g.String),
			source:  ippool.Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool},
			dns:     texts(services.DNS),
			dnsPool: services.DNSFromIPPool,
		})
	}
	return specs
}

func routesV6(routes []infrav1.NetworkDataRoutev6) []routeSpec {
	specs := make([]routeSpec, 0, len(routes))
	for _, r := range routes {
		g, services := r.Gateway, ptr.Deref(r.Services, infrav1.NetworkDataServicev6{})
		specs = append(specs, routeSpec{
			network: string(r.Network),
			prefix:  ptr.Deref(r.Prefix, 0),
			gateway: string(g.String),
			source:  ippool.Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool},
			dns:     texts(services.DNS),
			dnsPool: services.DNSFromIPPool,
		})
	}
	return specs
}

// routes renders the routes of a network, which has an address of its own
// from a pool if own names one.
func (r *renderer) routes(f family, network string, own facts.AddressRef, specs []routeSpec) []route {
	rendered := make([]route, 0, len(specs))
	for i, spec := range specs {
		name := fmt.Sprintf("%s.routes[%d]", network, i)
		if !f.contains(spec.network) || spec.prefix < 0 || int(spec.prefix) > f.bits() {
			r.fail(name, TemplateError{
				Problem: fmt.Sprintf("%s/%d is not an %s network", spec.network, spec.prefix, f),
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
			Network:  spec.network,
			Netmask:  f.mask(spec.prefix),
			Gateway:  gateway,
			Services: r.services(name+".services", spec.dns, ownOf(own, spec.dnsPool)),
		})
	}
	return rendered
}

// gateway returns the router of a route, which the template gives or a pool knows.
func (r *renderer) gateway(f family, own facts.AddressRef, spec routeSpec) (string, error) {
	if spec.gateway != "" {
		if !f.contains(spec.gateway) {
			return "", TemplateError{
				Problem: fmt.Sprintf("%q is not an %s address", spec.gateway, f), Remedy: "correct it",
			}
		}
		return spec.gateway, nil
	}
	pool, err := spec.source.Pool(r.facts)
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
func ownOf(own facts.AddressRef, pool string) facts.AddressRef {
	if own.Pool == pool {
		return own
	}
	return facts.AddressRef{Pool: pool}
}
