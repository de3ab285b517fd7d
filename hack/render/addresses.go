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

package main

import (
	"fmt"
	"io"
	"strings"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
)

// answered is an address with where it is from.
type answered struct {
	ask     ippool.Ask
	claim   string
	address metadata.Address
	// from is how the address was chosen.
	from string
}

// answer plays the pools: those that were given answer with their addresses, all others
// with placeholders.
func answer(in *input, asks []ippool.Ask) ([]answered, error) {
	pools := map[string]*ipamv1alpha1.IPPool{}
	for _, pool := range in.pools {
		pools[pool.Name] = pool.DeepCopy()
	}
	answers := make([]answered, 0, len(asks))
	for i, ask := range asks {
		a := answered{ask: ask, claim: in.request().ClaimName(ask)}
		if pool := pools[ask.Name]; pool != nil && ask.Metal3() {
			if err := a.take(pool); err != nil {
				return nil, err
			}
		} else {
			a.address, a.from = placeholder(ask, i), "placeholder"
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// take chooses an address as ip-address-manager does: the one that is held for
// the name of the claim, or else the first that is free.
func (a *answered) take(pool *ipamv1alpha1.IPPool) error {
	held, wanted := pool.Spec.PreAllocations[a.claim]
	a.from = "first free address of the pool"
	if wanted {
		a.from = "held for the claim by preAllocations"
	}
	for _, part := range pool.Spec.Pools {
		for i := 0; ; i++ {
			address, err := ipamv1alpha1.GetIPAddress(part, i)
			if err != nil {
				break // the end of this part
			}
			if wanted && address == held || !wanted && free(pool, address) {
				a.give(pool, part, address)
				return nil
			}
		}
	}
	if wanted {
		return fmt.Errorf("%s holds %s for claim %q, which is in none of its spec.pools: correct spec.preAllocations or spec.pools", a.ask.Pool, held, a.claim)
	}
	return fmt.Errorf("%s has no free address for claim %q: extend spec.pools", a.ask.Pool, a.claim)
}

// free reports whether an address is neither allocated nor held for a claim.
func free(pool *ipamv1alpha1.IPPool, address ipamv1alpha1.IPAddressStr) bool {
	for _, taken := range []map[string]ipamv1alpha1.IPAddressStr{pool.Spec.PreAllocations, pool.Status.Allocations} {
		for _, other := range taken {
			if other == address {
				return false
			}
		}
	}
	return true
}

// give notes that the address is taken. What a part of a pool does not set, the pool sets for all.
func (a *answered) give(pool *ipamv1alpha1.IPPool, part ipamv1alpha1.Pool, address ipamv1alpha1.IPAddressStr) {
	if pool.Status.Allocations == nil {
		pool.Status.Allocations = map[string]ipamv1alpha1.IPAddressStr{}
	}
	pool.Status.Allocations[a.claim] = address
	servers := part.DNSServers
	if len(servers) == 0 {
		servers = pool.Spec.DNSServers
	}
	given := &ipamv1alpha1.IPAddress{Spec: ipamv1alpha1.IPAddressSpec{
		Address: address, Prefix: part.Prefix, Gateway: part.Gateway, DNSServers: servers,
	}}
	if given.Spec.Prefix == 0 {
		given.Spec.Prefix = pool.Spec.Prefix
	}
	if given.Spec.Gateway == nil {
		given.Spec.Gateway = pool.Spec.Gateway
	}
	a.address = ippool.FromMetal3Address(given)
}

// placeholder is an address of the ranges that are reserved for documentation. Pools whose family
// the template does not set give IPv4, and other kinds than IPPool know no name servers.
func placeholder(ask ippool.Ask, i int) metadata.Address {
	address := metadata.Address{Address: fmt.Sprintf("192.0.2.%d", 10+i%240), Prefix: 24, Gateway: "192.0.2.1"}
	server := "192.0.2.2"
	if ask.Family == ippool.IPv6 {
		address = metadata.Address{Address: fmt.Sprintf("2001:db8::%x", 0x10+i), Prefix: 64, Gateway: "2001:db8::1"}
		server = "2001:db8::2"
	}
	if ask.Metal3() {
		address.DNSServers = []string{server}
	}
	return address
}

func addresses(answers []answered) map[metadata.AddressRef]metadata.Address {
	all := map[metadata.AddressRef]metadata.Address{}
	for _, a := range answers {
		all[a.ask.Ref()] = a.address
	}
	return all
}

// printAnswers lists the addresses as comments, so that the whole is YAML.
func printAnswers(out io.Writer, answers []answered) {
	if len(answers) == 0 {
		fmt.Fprintln(out, "# No pool is asked.")
		return
	}
	fmt.Fprintln(out, "# Addresses that are asked for:")
	for _, a := range answers {
		kind := "IPAddressClaim"
		if a.ask.Metal3() {
			kind = "IPClaim"
		}
		fmt.Fprintf(out, "#   %s, by %s %s: %s/%d", a.ask, kind, a.claim, a.address.Address, a.address.Prefix)
		if a.address.Gateway != "" {
			fmt.Fprintf(out, ", gateway %s", a.address.Gateway)
		}
		if servers := a.address.DNSServers; len(servers) > 0 {
			fmt.Fprintf(out, ", name servers %s", strings.Join(servers, " "))
		}
		fmt.Fprintf(out, " (%s)\n", a.from)
	}
}
