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

import (
	"fmt"
	"strings"
	"testing"
)

// checkNetworkData sends each text as the network data of a Metal3DataTemplate.
func checkNetworkData(t *testing.T, tests map[string]example) {
	t.Helper()
	for name, test := range tests {
		test.kind, test.spec = "Metal3DataTemplate", "networkData: "+test.spec
		tests[name] = test
	}
	checkExamples(t, tests)
}

// onLinks puts networks on two interfaces, a and b.
func onLinks(networks string) string {
	const links = "ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}, {type: phy, id: b, macAddress: {fromHostInterface: eth1}}]"
	return "{links: {" + links + "}, networks: " + networks + "}"
}

func TestLinks(t *testing.T) {
	const (
		nic  = "{type: phy, id: a, macAddress: {fromHostInterface: eth0}}"
		nics = "ethernets: [" + nic + ", {type: phy, id: c, macAddress: {fromHostInterface: eth1}}], "
	)
	checkNetworkData(t, map[string]example{
		"no network data is fine": {spec: "{}"},
		"a MAC address may be written down, taken from the host or from an annotation": {spec: `{links: {ethernets: [
  {type: phy, id: a, macAddress: {string: '52:54:00:00:00:01'}},
  {type: vif, id: b, macAddress: {fromHostInterface: eth1}},
  {type: ovs, id: c, macAddress: {fromAnnotation: {object: baremetalhost, annotation: mac}}}]}}`},
		"an interface needs a MAC address, since it is recognized by it": {
			spec: "{links: {ethernets: [{type: phy, id: a}]}}", refused: []string{"ethernets[0].macAddress: Required value"},
		},
		"a MAC address that is none is refused": {
			spec: "{links: {ethernets: [{type: phy, id: a, macAddress: {string: '52:54:00'}}]}}",
			refused: []string{
				`ethernets[0].macAddress.string: Invalid value: "52:54:00": not a MAC address`, "write six pairs of hex digits, such as 52:54:00:12:34:56",
			},
		},
		"a MAC address may be written with hyphens": {
			spec: "{links: {ethernets: [{type: phy, id: a, macAddress: {string: 52-54-00-AA-BB-01}}]}}",
		},
		"a MAC address needs a source": {
			spec:    "{links: {ethernets: [{type: phy, id: a, macAddress: {}}]}}",
			refused: []string{"ethernets[0].macAddress: Invalid value", "no MAC address is named: set string, fromHostInterface or fromAnnotation"},
		},
		"an interface needs a type": {
			spec: "{links: {ethernets: [{id: a, macAddress: {string: x}}]}}", refused: []string{"ethernets[0].type: Required value"},
		},
		"an unknown type of interface is refused with the known ones": {
			spec:    "{links: {ethernets: [{type: wifi, id: a, macAddress: {string: x}}]}}",
			refused: []string{`ethernets[0].type: Unsupported value: "wifi"`, `"bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"`},
		},
		"an annotation with a MAC address is that of a known object": {
			spec:    "{links: {ethernets: [{type: phy, id: a, macAddress: {fromAnnotation: {object: node, annotation: mac}}}]}}",
			refused: []string{`macAddress.fromAnnotation.object: Unsupported value: "node"`},
		},
		"two interfaces of one id are refused": {
			spec: "{links: {ethernets: [" + nic + ", " + nic + "]}}", refused: []string{"ethernets[1]: Duplicate value", `"id":"a"`},
		},
		"32 interfaces are the most": {
			spec:    "{links: {ethernets: [" + strings.TrimSuffix(strings.Repeat(nic+", ", 33), ", ") + "]}}",
			refused: []string{"ethernets: Too many", "must have at most 32 items"},
		},
		"a name has the letters that Linux takes": {
			spec:    "{links: {ethernets: [{type: phy, id: a, name: 1eth, macAddress: {string: x}}]}}",
			refused: []string{"ethernets[0].name", "should match '^[a-zA-Z][a-zA-Z0-9._-]*$'"},
		},
		"a name has at most 15 letters": {
			spec:    "{links: {ethernets: [{type: phy, id: a, name: abcdefghijklmnop, macAddress: {string: x}}]}}",
			refused: []string{"ethernets[0].name: Too long"},
		},
		"an MTU fits IPv6": {
			spec:    "{links: {ethernets: [{type: phy, id: a, mtu: 1279, macAddress: {string: x}}]}}",
			refused: []string{"ethernets[0].mtu", "should be greater than or equal to 1280"},
		},
		"an MTU is at most that of jumbo frames": {
			spec:    "{links: {ethernets: [{type: phy, id: a, mtu: 9001, macAddress: {string: x}}]}}",
			refused: []string{"ethernets[0].mtu", "should be less than or equal to 9000"},
		},

		"a bond needs neither MAC address nor parameters": {spec: "{links: {" + nics + "bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a, c]}]}}"},
		"the parameters of a bond are numbers, strings and booleans": {
			spec: "{links: {" + nics + "bonds: [{id: b, bondMode: active-backup, bondLinks: [a, c], parameters: [{name: miimon, value: 100}, {name: primary, value: eth0}, {name: all_slaves_active, value: true}, {name: none}]}]}}",
		},
		"a bond needs a mode": {spec: "{links: {bonds: [{id: b}]}}", refused: []string{"bonds[0].bondMode: Required value"}},
		"an unknown bond mode is refused with the known ones": {
			spec:    "{links: {bonds: [{id: b, bondMode: lacp}]}}",
			refused: []string{`bonds[0].bondMode: Unsupported value: "lacp"`, `"balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb", "802.3ad"`},
		},
		"an unknown hash policy is refused with the known ones": {
			spec:    "{links: {bonds: [{id: b, bondMode: 802.3ad, bondXmitHashPolicy: layer4}]}}",
			refused: []string{`bonds[0].bondXmitHashPolicy: Unsupported value: "layer4"`, `"layer2", "layer3+4", "layer2+3"`},
		},
		"a link is in a bond once": {
			spec:    "{links: {bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a, a]}]}}",
			refused: []string{"bonds[0].bondLinks[1]: Duplicate value"},
		},
		"a parameter of a bond is set once": {
			spec:    "{links: {bonds: [{id: b, bondMode: 802.3ad, parameters: [{name: miimon, value: 1}, {name: miimon, value: 2}]}]}}",
			refused: []string{"bonds[0].parameters[1]: Duplicate value", `"name":"miimon"`},
		},

		"one VLAN may be on two links": {spec: "{links: {" + nics + "vlans: [{id: v1, vlanID: 7, vlanLink: a}, {id: v2, vlanID: 7, vlanLink: c}]}}"},
		"a VLAN may be untagged":       {spec: "{links: {" + nics + "vlans: [{id: v, vlanID: 0, vlanLink: a}]}}"},
		"a VLAN needs an ID":           {spec: "{links: {vlans: [{id: v, vlanLink: a}]}}", refused: []string{"vlans[0].vlanID: Required value"}},
		"a VLAN needs a link":          {spec: "{links: {vlans: [{id: v, vlanID: 7}]}}", refused: []string{"vlans[0].vlanLink: Required value"}},
		"a VLAN ID has a limit": {
			spec:    "{links: {vlans: [{id: v, vlanID: 4097, vlanLink: a}]}}",
			refused: []string{"vlans[0].vlanID", "should be less than or equal to 4096"},
		},
		"two VLANs of one id are refused": {
			spec:    "{links: {vlans: [{id: v, vlanID: 7, vlanLink: a}, {id: v, vlanID: 8, vlanLink: a}]}}",
			refused: []string{"vlans[1]: Duplicate value", `"id":"v"`},
		},
	})
}

func TestNetworks(t *testing.T) {
	const noPool = "no address pool is named: set fromPoolRef, ipAddressFromIPPool or fromPoolAnnotation"
	tests := map[string]example{}
	for _, list := range []string{"ipv4", "ipv6", "ipv4DHCP", "ipv6DHCP", "ipv6SLAAC"} {
		pool := ", ipAddressFromIPPool: pool"
		if strings.HasSuffix(list, "DHCP") || strings.HasSuffix(list, "SLAAC") {
			pool = ""
		}
		network := func(fields string) string { return onLinks(fmt.Sprintf("{%s: [{%s%s}]}", list, fields, pool)) }
		path := "spec.networkData.networks." + list + "[0]"
		tests[list+" takes id and link"] = example{spec: network("id: n1, link: a")}
		tests[list+" needs an id"] = example{spec: network("link: a"), refused: []string{path + ".id: Required value"}}
		tests[list+" needs a link"] = example{spec: network("id: n1"), refused: []string{path + ".link: Required value"}}
		tests[list+" refuses an empty list of routes"] = example{
			spec: network("id: n1, link: a, routes: []"), refused: []string{path + ".routes", "should have at least 1 items"},
		}
	}
	for _, list := range []string{"ipv4", "ipv6"} {
		network := func(fields string) string { return onLinks(fmt.Sprintf("{%s: [{id: n1, link: a, %s}]}", list, fields)) }
		path := "spec.networkData.networks." + list + "[0]"
		tests[list+" takes a pool by reference"] = example{spec: network("fromPoolRef: {name: pool}")}
		tests[list+" takes a pool of another kind and group"] = example{
			spec: network("fromPoolRef: {name: pool, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}"),
		}
		tests[list+" takes a pool by annotation"] = example{spec: network("fromPoolAnnotation: {object: machine, annotation: pool}")}
		tests[list+" takes all three and says which counts"] = example{
			spec: network("ipAddressFromIPPool: p, fromPoolRef: {name: p}, fromPoolAnnotation: {object: machine, annotation: p}"),
		}
		tests[list+" needs a pool"] = example{
			spec: onLinks(fmt.Sprintf("{%s: [{id: n1, link: a}]}", list)), refused: []string{path, noPool},
		}
		tests[list+" needs the name of a referenced pool"] = example{
			spec: network("fromPoolRef: {kind: IPPool}"), refused: []string{path + ".fromPoolRef.name: Required value"},
		}
		tests[list+" refuses a named pool that cannot exist"] = example{
			spec: network("ipAddressFromIPPool: My_Pool"), refused: []string{path + `.ipAddressFromIPPool: Invalid value: "My_Pool"`, "should match '^[a-z0-9]"},
		}
		tests[list+" refuses a pool whose name cannot exist"] = example{
			spec: network("fromPoolRef: {name: My_Pool}"), refused: []string{path + ".fromPoolRef.name", "should match"},
		}
		tests[list+" refuses two networks of one id"] = example{
			spec:    onLinks(fmt.Sprintf("{%s: [{id: n1, link: a, ipAddressFromIPPool: p}, {id: n1, link: b, ipAddressFromIPPool: p}]}", list)),
			refused: []string{list + "[1]: Duplicate value", `"id":"n1"`},
		}
	}
	checkNetworkData(t, tests)
}

func TestRoutes(t *testing.T) {
	tests := map[string]example{}
	families := []struct {
		lists                 []string
		any, network, gateway string
		wrong, format         string
		longest               int
	}{
		{[]string{"ipv4", "ipv4DHCP"}, "0.0.0.0", "198.51.100.0", "192.0.2.1", "2001:db8::1", "ipv4", 32},
		{[]string{"ipv6", "ipv6DHCP", "ipv6SLAAC"}, "::", "2001:db8:1::", "2001:db8::1", "192.0.2.1", "ipv6", 128},
	}
	for _, family := range families {
		for _, list := range family.lists {
			pool := ""
			if list == "ipv4" || list == "ipv6" {
				pool = ", ipAddressFromIPPool: pool"
			}
			routes := func(items string) string {
				return onLinks(fmt.Sprintf("{%s: [{id: n1, link: a%s, routes: [%s]}]}", list, pool, items))
			}
			add := func(name, items string, refused ...string) {
				tests[list+" "+name] = example{spec: routes(items), refused: refused}
			}
			path := "spec.networkData.networks." + list + "[0].routes[0]"
			add("takes a default route", fmt.Sprintf("{network: '%s', prefix: 0, gateway: {string: '%s'}}", family.any, family.gateway))
			add("takes a default route without a prefix", fmt.Sprintf("{network: '%s', gateway: {string: '%s'}}", family.any, family.gateway))
			add("takes the gateway of a pool", fmt.Sprintf("{network: '%s', prefix: 24, gateway: {fromIPPool: pool}}", family.network))
			add("takes the gateway of a referenced pool", fmt.Sprintf("{network: '%s', prefix: 24, gateway: {fromPoolRef: {name: pool}}}", family.network))
			add("takes the gateway of an annotated pool",
				fmt.Sprintf("{network: '%s', prefix: 24, gateway: {fromPoolAnnotation: {object: machine, annotation: pool}}}", family.network))
			add("takes two routes to one network by their prefixes",
				fmt.Sprintf("{network: '%[1]s', prefix: 24, gateway: {string: '%[2]s'}}, {network: '%[1]s', prefix: 25, gateway: {string: '%[2]s'}}", family.network, family.gateway))
			add("takes the DNS servers of a route",
				fmt.Sprintf("{network: '%s', gateway: {string: '%[2]s'}, services: {dns: ['%[2]s'], dnsFromIPPool: pool}}", family.any, family.gateway))
			add("refuses a route with an empty gateway", fmt.Sprintf("{network: '%s', gateway: {}}", family.any),
				path+".gateway: Invalid value", "no gateway is named: set string, fromPoolRef, fromIPPool or fromPoolAnnotation")
			add("refuses the gateway of a pool that cannot exist", fmt.Sprintf("{network: '%s', gateway: {fromIPPool: My_Pool}}", family.any),
				path+`.gateway.fromIPPool: Invalid value: "My_Pool"`, "should match '^[a-z0-9]")
			add("refuses the DNS servers of a pool that cannot exist",
				fmt.Sprintf("{network: '%s', gateway: {string: '%s'}, services: {dnsFromIPPool: My_Pool}}", family.any, family.gateway),
				path+`.services.dnsFromIPPool: Invalid value: "My_Pool"`, "should match '^[a-z0-9]")
			add("refuses a route without a network", fmt.Sprintf("{gateway: {string: '%s'}}", family.gateway), path+".network: Required value")
			add("refuses a route without a gateway", fmt.Sprintf("{network: '%s'}", family.any), path+".gateway: Required value")
			add("refuses a network of the other family",
				fmt.Sprintf("{network: '%s', gateway: {string: '%s'}}", family.wrong, family.gateway), path+".network", "must be of type "+family.format)
			add("refuses a gateway of the other family",
				fmt.Sprintf("{network: '%s', gateway: {string: '%s'}}", family.any, family.wrong), path+".gateway.string", "must be of type "+family.format)
			add("refuses a DNS server of the other family",
				fmt.Sprintf("{network: '%s', gateway: {string: '%s'}, services: {dns: ['%s']}}", family.any, family.gateway, family.wrong),
				path+".services.dns[0]", "must be of type "+family.format)
			add("refuses a prefix that is too long",
				fmt.Sprintf("{network: '%s', prefix: %d, gateway: {string: '%s'}}", family.any, family.longest+1, family.gateway),
				path+".prefix", fmt.Sprintf("should be less than or equal to %d", family.longest))
		}
	}
	checkNetworkData(t, tests)
}

func TestServices(t *testing.T) {
	checkNetworkData(t, map[string]example{
		"DNS servers may be of both families": {spec: "{services: {dns: [192.0.2.53, '2001:db8::53'], dnsFromIPPool: pool}}"},
		"a DNS server is an address": {
			spec:    "{services: {dns: [dns.example.com]}}",
			refused: []string{"services.dns[0]", "not an IP address: write an IPv4 address such as 192.0.2.1 or an IPv6 address such as 2001:db8::1"},
		},
		"a pool that cannot exist is refused": {
			spec: "{services: {dnsFromIPPool: My_Pool}}", refused: []string{`services.dnsFromIPPool: Invalid value: "My_Pool"`, "should match '^[a-z0-9]"},
		},
		"a DNS server is listed once": {
			spec: "{services: {dns: [192.0.2.53, 192.0.2.53]}}", refused: []string{"services.dns[1]: Duplicate value"},
		},
		"an empty list of DNS servers is refused": {
			spec: "{services: {dns: []}}", refused: []string{"services.dns", "should have at least 1 items"},
		},
	})
}
