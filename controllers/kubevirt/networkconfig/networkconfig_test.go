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

package networkconfig

import (
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestFromNetworkData(t *testing.T) {
	tests := map[string]struct{ data, want string }{
		"nothing": {},
		"an address, a route and name servers": {
			data: `{
				"links": [{"id": "eth0", "type": "phy", "ethernet_mac_address": "02:00:00:00:00:01", "mtu": 9000}],
				"networks": [{"id": "a", "type": "ipv4", "link": "eth0", "ip_address": "192.0.2.5", "netmask": "255.255.255.0",
					"routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}],
					"services": [{"type": "dns", "address": "192.0.2.53"}]}],
				"services": [{"type": "dns", "address": "198.51.100.53"}, {"type": "dns", "address": "198.51.100.53"}]}`,
			want: `config:
- mac_address: "02:00:00:00:00:01"
  mtu: 9000
  name: eth0
  subnets:
  - address: 192.0.2.5/24
    dns_nameservers:
    - 192.0.2.53
    routes:
    - destination: 0.0.0.0/0
      gateway: 192.0.2.1
    type: static
  type: physical
- address:
  - 198.51.100.53
  type: nameserver
version: 1
`,
		},
		"IPv6, by prefix length and by SLAAC": {
			data: `
links: [{id: eth0, type: ethernet}, {id: eth1, type: ethernet}]
networks:
- {id: a, type: ipv6, link: eth0, ip_address: "2001:db8::5", netmask: "64"}
- {id: b, type: ipv6_slaac, link: eth1}
- {id: c, type: ipv4_dhcp, link: eth1}`,
			want: `config:
- name: eth0
  subnets:
  - address: 2001:db8::5/64
    type: static6
  type: physical
- name: eth1
  subnets:
  - type: ipv6_slaac
  - type: dhcp4
  type: physical
version: 1
`,
		},
		"a VLAN on a bond": {
			data: `
links:
- {id: eth0, type: phy}
- {id: eth1, type: phy}
- {id: bond0, type: bond, bond_links: [eth0, eth1], bond_mode: 802.3ad, bond_xmit_hash_policy: layer3+4, bond_miimon: 100}
- {id: vlan, type: vlan, vlan_link: bond0, vlan_id: 100, vlan_mac_address: "02:00:00:00:00:02"}`,
			want: `config:
- name: eth0
  type: physical
- name: eth1
  type: physical
- bond_interfaces:
  - eth0
  - eth1
  name: bond0
  params:
    bond-miimon: "100"
    bond-mode: 802.3ad
    bond-xmit-hash-policy: layer3+4
  type: bond
- mac_address: "02:00:00:00:00:02"
  name: bond0.100
  type: vlan
  vlan_id: 100
  vlan_link: bond0
version: 1
`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := FromNetworkData([]byte(tt.data))
			expect.NoError(t, err)
			expect.Equal(t, tt.want, string(got))
		})
	}
}

// TestErrorsShowNothingOfTheData has network data be wrong, which is in a Secret.
func TestErrorsShowNothingOfTheData(t *testing.T) {
	const hidden = "hidden-word"
	tests := map[string]struct{ data, want string }{
		"no object":      {data: `[hidden-word]`, want: "no object in YAML or JSON"},
		"a wrong type":   {data: `{links: hidden-word}`, want: "no object in YAML or JSON"},
		"a network type": {data: `{links: [{id: a}], networks: [{link: a, type: hidden-word}]}`, want: "networks[0].type"},
		"an address":     {data: `{links: [{id: a}], networks: [{link: a, type: ipv4, ip_address: hidden-word}]}`, want: "networks[0].ip_address"},
		"a netmask":      {data: `{links: [{id: a}], networks: [{link: a, type: ipv4, ip_address: 192.0.2.5, netmask: 255.0.255.0}]}`, want: "networks[0].ip_address and netmask"},
		"a route": {
			data: `{links: [{id: a}], networks: [{link: a, type: ipv4_dhcp, routes: [{network: hidden-word}]}]}`,
			want: "networks[0].routes[0].network",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := FromNetworkData([]byte(tt.data))
			expect.Error(t, tt.want, err)
			expect.That(t, !strings.Contains(err.Error(), hidden), "the error shows the data: %v", err)
		})
	}
}
