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
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Network is a network of a template, from whichever list.
type Network struct {
	// List is the field of the template that it is in, and Index its place there.
	List  string
	Index int
	// Family is IPv4 or IPv6.
	Family   string
	ID, Link string
	// Static means that it has an address of a pool, and Source names the pool.
	Static bool
	Source Source
	Routes []Route
}

// Route is a route of a network.
type Route struct {
	Network string
	Prefix  int32
	// Gateway is the router itself, if the template gives it, and Source the pool whose gateway is meant otherwise.
	Gateway string
	Source  Source
	// DNS are name servers, and DNSPool is the pool that has more of them.
	DNS     []string
	DNSPool string
}

// Networks lists the networks of a template: static ones of both families, then DHCP of both, then SLAAC.
func Networks(spec *infrav1.NetworkDataNetwork) []Network {
	if spec == nil {
		return nil
	}
	var all []Network
	for i, n := range spec.IPv4 {
		source := Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool}
		all = append(all, Network{"ipv4", i, IPv4, n.ID, n.Link, true, source, routesV4(n.Routes)})
	}
	for i, n := range spec.IPv6 {
		source := Source{Annotation: n.FromPoolAnnotation, Ref: n.FromPoolRef, Name: n.IPAddressFromIPPool}
		all = append(all, Network{"ipv6", i, IPv6, n.ID, n.Link, true, source, routesV6(n.Routes)})
	}
	for i, n := range spec.IPv4DHCP {
		all = append(all, Network{List: "ipv4DHCP", Index: i, Family: IPv4, ID: n.ID, Link: n.Link, Routes: routesV4(n.Routes)})
	}
	for i, n := range spec.IPv6DHCP {
		all = append(all, Network{List: "ipv6DHCP", Index: i, Family: IPv6, ID: n.ID, Link: n.Link, Routes: routesV6(n.Routes)})
	}
	for i, n := range spec.IPv6SLAAC {
		all = append(all, Network{List: "ipv6SLAAC", Index: i, Family: IPv6, ID: n.ID, Link: n.Link, Routes: routesV6(n.Routes)})
	}
	return all
}

func routesV4(specs []infrav1.NetworkDataRoutev4) []Route {
	routes := make([]Route, 0, len(specs))
	for _, r := range specs {
		g, services := r.Gateway, ptr.Deref(r.Services, infrav1.NetworkDataServicev4{})
		source := Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool}
		routes = append(routes, Route{
			string(r.Network), ptr.Deref(r.Prefix, 0), string(g.String), source, Texts(services.DNS), services.DNSFromIPPool,
		})
	}
	return routes
}

func routesV6(specs []infrav1.NetworkDataRoutev6) []Route {
	routes := make([]Route, 0, len(specs))
	for _, r := range specs {
		g, services := r.Gateway, ptr.Deref(r.Services, infrav1.NetworkDataServicev6{})
		source := Source{Annotation: g.FromPoolAnnotation, Ref: g.FromPoolRef, Name: g.FromIPPool}
		routes = append(routes, Route{
			string(r.Network), ptr.Deref(r.Prefix, 0), string(g.String), source, Texts(services.DNS), services.DNSFromIPPool,
		})
	}
	return routes
}

// Texts turns addresses of any API type into plain strings.
func Texts[T ~string](values []T) []string {
	plain := make([]string, 0, len(values))
	for _, value := range values {
		plain = append(plain, string(value))
	}
	return plain
}
