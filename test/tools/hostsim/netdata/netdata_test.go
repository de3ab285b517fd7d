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
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var cards = []NIC{{MAC: "00:00:00:00:00:01", IP: "192.168.1.1"}, {MAC: "00:00:00:00:00:0A"}}

const eth0 = `{id: eth0, type: phy, ethernet_mac_address: "00:00:00:00:00:01"}`

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		given string
		want  []string
	}{
		"accepts nothing at all": {},
		"accepts a card, a bond and a VLAN with addresses": {
			given: `links: [` + eth0 + `, {id: eth1, type: phy, ethernet_mac_address: "00:00:00:00:00:0a"},
  {id: bond0, type: bond, bond_links: [eth0, eth1]},
  {id: vlan7, type: vlan, vlan_link: bond0, vlan_id: 7, vlan_mac_address: "00:00:00:00:00:01"}]
networks: [{id: n, type: ipv4, link: vlan7, ip_address: 10.0.0.2, netmask: 255.255.255.0, routes: [{network: 0.0.0.0, netmask: 0.0.0.0, gateway: 10.0.0.1}]},
  {id: v6, type: ipv6, link: bond0, ip_address: "fd00::2", netmask: "64"},
  {id: v6m, type: ipv6, link: bond0, ip_address: "fd00::3", netmask: "ffff:ffff:ffff:ffff::"},
  {id: cidr, type: ipv4, link: eth0, ip_address: 10.0.1.2/24}, {id: d, type: ipv4_dhcp, link: eth0}]
services: [{type: dns, address: 8.8.8.8}]`,
		},
		"names a card that the machine does not have": {
			given: `links: [{id: eth9, type: phy, ethernet_mac_address: "00:00:00:00:00:09"}]`,
			want:  []string{`link "eth9": the machine has no network card with MAC address "00:00:00:00:00:09"`},
		},
		"names a network on a link that is not there": {
			given: `networks: [{id: net, type: ipv4_dhcp, link: eth0}]`,
			want:  []string{`network "net": its link "eth0" is not there`},
		},
		"names every defect": {
			given: `links: [` + eth0 + `, ` + eth0 + `, {id: b, type: bond}, {id: c, type: bond, bond_links: [x]}, {id: v, type: vlan, vlan_link: x},
  {id: v2, type: vlan, vlan_link: eth0, vlan_id: 4095}, {id: v3, type: vlan, vlan_link: eth0, vlan_id: 3}]
services: [{type: dns, address: nowhere}]`,
			want: []string{
				`link "eth0" is there twice`, `link "b": a bond without members`, `link "c": member "x" is not a link`,
				`link "v": vlan_link "x" is not a link`, `link "v2": vlan_id 4095 is not between 0 and 4094`,
				`link "v3": vlan_mac_address "" is no MAC address`, `service dns: "nowhere" is no address`,
			},
		},
		"names values that are no addresses": {
			given: `links: [` + eth0 + `]
networks: [{id: a, type: ipv4, link: eth0, ip_address: ""}, {id: b, type: ipv4, link: eth0, ip_address: 10.0.0.1, netmask: "255.0.255.0"},
  {id: c, type: ipv4, link: eth0, ip_address: 10.0.0.1, netmask: "x"}, {id: d, type: ipv4, link: eth0, ip_address: 10.0.0.1/99},
  {id: e, type: ipv4_dhcp, link: eth0, routes: [{network: x}]}, {id: f, type: ipv4_dhcp, link: eth0, routes: [{network: 0.0.0.0, netmask: 0.0.0.0, gateway: x}]}]`,
			want: []string{
				`network "a": "" is no address`, `network "b": "255.0.255.0" is no netmask for 10.0.0.1`,
				`network "c": "x" is no netmask for 10.0.0.1`, `network "d": netip.ParsePrefix`,
				`network "e": route: "x" is no address`, `network "f": route to 0.0.0.0: gateway "x" is no address`,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			doc, err := Parse([]byte(tc.given))
			expect.NoError(t, err)
			err = Check(doc, cards)
			defective(t, err, tc.want)
		})
	}
}

// defective wants an error that has all parts, and none without parts.
func defective(t *testing.T, err error, parts []string) {
	t.Helper()
	if len(parts) == 0 {
		expect.NoError(t, err)
	}
	for _, part := range parts {
		expect.Error(t, part, err)
	}
}

func TestParseRefusesOtherShapes(t *testing.T) {
	if _, err := Parse([]byte("links: 3")); err == nil {
		t.Error("no error for links that are no list")
	}
}

func TestAddresses(t *testing.T) {
	tests := map[string]struct {
		given string
		want  []string
	}{
		"takes what the cards lease without any network": {want: []string{"192.168.1.1"}},
		"lists static addresses in order": {
			given: `networks: [{type: ipv6, link: a, ip_address: "fd00::2/64"}, {type: ipv4, link: a, ip_address: 10.0.0.2}]`,
			want:  []string{"fd00::2", "10.0.0.2"},
		},
		"takes the lease of the card for DHCP, and nothing where there is none": {
			given: `links: [` + eth0 + `]
networks: [{type: ipv4_dhcp, link: eth0}, {type: ipv4_dhcp, link: eth7}]`,
			want: []string{"192.168.1.1"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			doc, err := Parse([]byte(tc.given))
			expect.NoError(t, err)
			expect.Equal(t, tc.want, Addresses(doc, cards))
		})
	}
}

func TestAccept(t *testing.T) {
	const eth1 = `{id: eth1, type: vif, name: en1, mtu: 9000, ethernet_mac_address: "00:00:00:00:00:0a"}`
	tests := map[string]struct {
		given string
		want  []string
	}{
		"takes nothing at all": {given: "{}"},
		"takes all kinds of links and networks": {
			given: `links: [` + eth0 + `, ` + eth1 + `,
  {id: b, type: bond, bond_mode: 802.3ad, bond_links: [eth0, eth1], bond_miimon: 100, bond_x: "y", ethernet_mac_address: "00:00:00:00:00:01"},
  {id: v, type: vlan, vlan_link: b, vlan_id: 7, vlan_mac_address: "00:00:00:00:00:01"}]
networks: [{id: net, type: ipv4, link: v, ip_address: 10.0.0.2, netmask: 255.255.255.0, gateway: 10.0.0.1,
    routes: [{network: 0.0.0.0, netmask: 0.0.0.0, gateway: 10.0.0.1, services: [{type: dns, address: 10.0.0.9}]}]},
  {id: m, type: ipv6, link: b, ip_address: "fd00::2", netmask: "ffff::", routes: [{network: "::", netmask: "::", gateway: "fd00::1"}]},
  {id: d, type: ipv4_dhcp, link: b, routes: []}, {id: e, type: ipv6_slaac, link: b, services: [{type: dns, address: "fd00::9"}]}]
services: [{type: dns, address: 8.8.8.8}]`,
		},
		"names what is missing and what is too much": {
			given: `links: [{type: phy, hue: red}, {id: b, type: bond}, {id: v, type: vlan}]
networks: [{id: net, type: ipv4, link: b, routes: [{}]}, {id: d, type: ipv4_dhcp, link: b, ip_address: 10.0.0.1}]
services: [{type: ntp}]
extra: 1`,
			want: []string{
				"ethernet_mac_address is missing", "id is missing", "hue is no field of the format", "bond_links is missing", "bond_mode is missing",
				"vlan_id is missing", "vlan_link is missing", "vlan_mac_address is missing", "ip_address is missing", "netmask is missing",
				"gateway is missing", `"ntp" is none of ["dns"]`, "address is missing", "extra is no field of the format",
				"ip_address is no field of the format",
			},
		},
		"names values of the wrong kind": {
			given: `links: [{id: 3, type: zebra, name: "much too long a name", mtu: 1.5, ethernet_mac_address: 00-00-00-00-00-01},
  {id: b, type: bond, bond_mode: 802.3ad, bond_links: eth0, bond_x: [1]}, 7]
networks: [{id: net, type: ipv4, link: l, ip_address: "fd00::1", netmask: x, routes: [{network: "::", netmask: 0.0.0.0, gateway: 10.0.0.1}]}]`,
			want: []string{
				"3 is no text", `"zebra" is none of`, "is no name of a device", "1.5 is no number between", "is no MAC address as the kernel",
				"eth0 is no list", "[1] is no single value", "7 is no object", `"fd00::1" is no address of that family`, `"::" is no address of that family`,
			},
		},
		"names links that would be one device": {
			given: `links: [` + eth0 + `, {id: e, type: phy, name: en9, ethernet_mac_address: "00:00:00:00:00:01"}, {id: f, type: phy, name: en9, ethernet_mac_address: "00:00:00:00:00:0a"},
  {id: b, type: bond, bond_mode: m, bond_links: [eth0]}, {id: c, type: bond, bond_mode: m, bond_links: [eth0, c]},
  {id: v, type: vlan, vlan_link: e, vlan_id: 7, vlan_mac_address: "00:00:00:00:00:01"}, {id: w, type: vlan, vlan_link: e, vlan_id: 7, vlan_mac_address: "00:00:00:00:00:01"}]
networks: [{id: net, type: ipv4, link: v, ip_address: 10.0.0.2, netmask: 255.255.255.0}, {id: m, type: ipv4, link: w, ip_address: 10.0.0.2, netmask: 255.255.255.0}]`,
			want: []string{
				`"eth0" and "e" have the same MAC address`, `"e" and "f" have the same name en9`, `"eth0" is in bonds "b" and "c"`, `"c" rests on itself`,
				`"v" and "w" have the same device e.7`, `"v" and "w" have the same address 10.0.0.2`,
			},
		},
		"names a key that is there twice": {given: "links: []\nlinks: []", want: []string{"links"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := Accept([]byte(tc.given), cards)
			defective(t, err, tc.want)
		})
	}
}
