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

package api_test

import "testing"

// TestLinksTogether is about what links and networks say of each other. The tables
// of baremetal/templatecheck have every rule; here they meet an API server.
func TestLinksTogether(t *testing.T) {
	const nics = "ethernets: [{type: phy, id: a, name: lan0, macAddress: {string: '52:54:00:00:00:01'}}, " +
		"{type: phy, id: c, name: lan1, macAddress: {string: '52:54:00:00:00:02'}}]"
	links := func(more string) string { return "{links: {" + nics + more + "}}" }
	checkNetworkData(t, map[string]example{
		"a VLAN on a bond of two interfaces is fine": {
			spec: links(", bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a, c]}], vlans: [{id: v, vlanID: 4094, vlanLink: b}]"),
		},
		"networks may be on any link": {
			spec: "{links: {" + nics + ", vlans: [{id: v, vlanID: 7, vlanLink: a}]}, networks: {ipv4DHCP: [{id: n4, link: v}], ipv6SLAAC: [{id: n6, link: c}]}}",
		},
		"a network needs a link that exists": {
			spec: "{links: {" + nics + "}, networks: {ipv4DHCP: [{id: n1, link: eth9}]}}",
			refused: []string{
				`spec.networkData.networks.ipv4DHCP[0].link: Not found: "eth9"`, "no link has this id: add it, or use one of those that are there: a, c",
			},
		},
		"a bond needs links that exist": {
			spec:    links(", bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a, eth9]}]"),
			refused: []string{`bonds[0].bondLinks[1]: Not found: "eth9"`, "add it, or use one of those that are there: a, c, b"},
		},
		"a VLAN needs a link that exists": {
			spec:    links(", vlans: [{id: v, vlanID: 7, vlanLink: eth9}]"),
			refused: []string{`vlans[0].vlanLink: Not found: "eth9"`, "add it, or use one of those that are there: a, c, v"},
		},
		"an id stands for one link, of whatever kind": {
			spec:    links(", vlans: [{id: a, vlanID: 7, vlanLink: c}]"),
			refused: []string{`vlans[0].id: Duplicate value: "a"`, "give each link one of its own"},
		},
		"an id stands for one network, of whatever kind": {
			spec:    "{links: {" + nics + "}, networks: {ipv4DHCP: [{id: n1, link: a}], ipv6DHCP: [{id: n1, link: a}]}}",
			refused: []string{`ipv6DHCP[0].id: Duplicate value: "n1"`, "give each network one of its own"},
		},
		"no link rests on itself": {
			spec:    links(", bonds: [{id: b, bondMode: 802.3ad, bondLinks: [v]}], vlans: [{id: v, vlanID: 7, vlanLink: b}]"),
			refused: []string{`vlans[0].vlanLink: Invalid value: "b": this link rests on itself: put it on another link`},
		},
		"a bond needs links": {
			spec:    links(", bonds: [{id: b, bondMode: 802.3ad}]"),
			refused: []string{"bonds[0].bondLinks: Required value: the bond has no links: name them by their ids"},
		},
		"a link is in one bond": {
			spec:    links(", bonds: [{id: b1, bondMode: 802.3ad, bondLinks: [a]}, {id: b2, bondMode: 802.3ad, bondLinks: [a, c]}]"),
			refused: []string{`bonds[1].bondLinks[0]: Duplicate value: "a"`, "the link is in a bond already: put it into one of them only"},
		},
		"an option of a bond that has a field is set there": {
			spec:    links(", bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: mode, value: 1}]}]"),
			refused: []string{`bonds[0].parameters[0].name: Invalid value: "mode"`, "set bondMode instead"},
		},
		"a VLAN is on a link once": {
			spec:    links(", vlans: [{id: v1, vlanID: 7, vlanLink: a}, {id: v2, vlanID: 7, vlanLink: a}]"),
			refused: []string{`vlans[1].vlanID: Duplicate value: "7 on a"`, "put it on another link, or remove it"},
		},
		"a VLAN has a tag that exists": {
			spec:    links(", vlans: [{id: v, vlanID: 4095, vlanLink: a}]"),
			refused: []string{"vlans[0].vlanID: Invalid value: 4095: no VLAN has this tag: use one between 0 and 4094"},
		},
		"a name stands for one link": {
			spec:    links(", vlans: [{id: v, name: lan1, vlanID: 7, vlanLink: a}]"),
			refused: []string{`vlans[0].name: Duplicate value: "lan1"`, "give each link one of its own, or none"},
		},
		"a MAC address stands for one interface": {
			spec: "{links: {ethernets: [{type: phy, id: a, macAddress: {string: '52:54:00:00:00:0A'}}, " +
				"{type: phy, id: c, macAddress: {string: 52-54-00-00-00-0a}}]}}",
			refused: []string{`ethernets[1].macAddress.string: Duplicate value: "52:54:00:00:00:0a"`, "give each interface a MAC address of its own"},
		},
	})
}
