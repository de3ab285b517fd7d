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
	"strings"
	"testing"
)

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
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}
