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
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Check returns an error if a machine with these cards would not come up with the
// document. It names every defect.
func Check(doc Document, nics []NIC) error {
	var defects []error
	links := map[string]Link{}
	for _, link := range doc.Links {
		if _, twice := links[link.ID]; twice {
			defects = append(defects, fmt.Errorf("link %q is there twice", link.ID))
		}
		links[link.ID] = link
	}
	for _, link := range doc.Links {
		if err := checkLink(link, links, nics); err != nil {
			defects = append(defects, fmt.Errorf("link %q: %w", link.ID, err))
		}
	}
	for _, network := range doc.Networks {
		if err := checkNetwork(network, links); err != nil {
			defects = append(defects, fmt.Errorf("network %q: %w", network.ID, err))
		}
	}
	for _, service := range doc.Services {
		if _, err := netip.ParseAddr(service.Address); err != nil {
			defects = append(defects, fmt.Errorf("service %s: %q is no address", service.Type, service.Address))
		}
	}
	return errors.Join(defects...)
}

func checkLink(link Link, links map[string]Link, nics []NIC) error {
	switch link.Type {
	case "bond":
		for _, member := range link.Bond {
			if _, ok := links[member]; !ok {
				return fmt.Errorf("member %q is not a link", member)
			}
		}
		if len(link.Bond) == 0 {
			return errors.New("a bond without members")
		}
		return nil
	case "vlan":
		return checkVLAN(link, links)
	default:
		// Every other type, phy above all, is a card.
		if !slices.ContainsFunc(nics, func(nic NIC) bool { return strings.EqualFold(nic.MAC, link.MAC) }) {
			return fmt.Errorf("the machine has no network card with MAC address %q", link.MAC)
		}
		return nil
	}
}

func checkVLAN(link Link, links map[string]Link) error {
	if _, ok := links[link.VLAN]; !ok {
		return fmt.Errorf("vlan_link %q is not a link", link.VLAN)
	}
	if link.VLANID < 0 || link.VLANID > 4094 {
		return fmt.Errorf("vlan_id %d is not between 0 and 4094", link.VLANID)
	}
	if _, err := net.ParseMAC(link.VLANMAC); err != nil {
		return fmt.Errorf("vlan_mac_address %q is no MAC address", link.VLANMAC)
	}
	return nil
}

func checkNetwork(network Network, links map[string]Link) error {
	if _, ok := links[network.Link]; !ok {
		return fmt.Errorf("its link %q is not there", network.Link)
	}
	if static(network) {
		if err := checkPrefix(network.Address, network.Netmask); err != nil {
			return err
		}
	}
	for _, route := range network.Routes {
		if err := checkPrefix(route.Network, route.Netmask); err != nil {
			return fmt.Errorf("route: %w", err)
		}
		if _, err := netip.ParseAddr(route.Gateway); err != nil {
			return fmt.Errorf("route to %s: gateway %q is no address", route.Network, route.Gateway)
		}
	}
	return nil
}

// static networks bring their address along.
func static(network Network) bool {
	return network.Type == "ipv4" || network.Type == "ipv6"
}

// checkPrefix wants address/bits, or an address with a mask, which is dotted for
// IPv4, and for IPv6 an address or a number of bits.
func checkPrefix(address, mask string) error {
	if strings.Contains(address, "/") {
		_, err := netip.ParsePrefix(address)
		return err
	}
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return fmt.Errorf("%q is no address", address)
	}
	if maskAddr, err := netip.ParseAddr(mask); err == nil {
		if _, size := net.IPMask(maskAddr.AsSlice()).Size(); size == addr.BitLen() {
			return nil
		}
	} else if _, err := netip.ParsePrefix(address + "/" + mask); err == nil {
		return nil
	}
	return fmt.Errorf("%q is no netmask for %s", mask, address)
}
