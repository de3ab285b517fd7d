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

func TestDataClaim(t *testing.T) {
	const empty = "template.name is empty: set it to the name of a Metal3DataTemplate of the same namespace"
	checkExamples(t, map[string]example{
		"a claim names a template":         {kind: "Metal3DataClaim", spec: "template: {name: nodes}"},
		"a claim may repeat its namespace": {kind: "Metal3DataClaim", spec: "template: {name: nodes, namespace: '${NAMESPACE}'}"},
		"a claim on a template of another namespace is refused": {
			kind: "Metal3DataClaim", spec: "template: {name: nodes, namespace: elsewhere}",
			refused: []string{
				`spec.template.namespace: Invalid value: "elsewhere": only templates of the same namespace`,
				"remove the field, and name one that is there",
			},
		},
		"a claim without a spec is refused":           {kind: "Metal3DataClaim", refused: []string{"spec: Required value"}},
		"a claim without a template is refused":       {kind: "Metal3DataClaim", spec: "{}", refused: []string{empty}},
		"a claim with a nameless template is refused": {kind: "Metal3DataClaim", spec: "template: {namespace: default}", refused: []string{empty}},
		"a claim with an empty template is refused":   {kind: "Metal3DataClaim", spec: "template: {}", refused: []string{empty}},
		"the kind of a template as in v1beta1 is unknown": {
			kind: "Metal3DataClaim", spec: "template: {name: nodes, kind: Metal3DataTemplate}",
			refused: []string{"unknown field", "spec.template.kind"},
		},
	})
}

func TestData(t *testing.T) {
	const (
		misnamed = "metadata.name does not match the spec: name the object <spec.template.name>-<spec.index>"
		empty    = "spec.template.name is empty: set it to the name of the Metal3DataTemplate"
	)
	checkExamples(t, map[string]example{
		"data is named after template and index": {
			kind: "Metal3Data", name: "nodes-12",
			spec: "index: 12\ntemplate: {name: nodes}\nclaim: {name: m}",
		},
		"an index that is left out is 0": {kind: "Metal3Data", name: "nodes-0", spec: "template: {name: nodes}"},
		"a template may itself end in a number": {
			kind: "Metal3Data", name: "nodes-1-2", spec: "index: 2\ntemplate: {name: nodes-1}",
		},
		"the name of another template is refused": {
			kind: "Metal3Data", name: "other-0", spec: "index: 0\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"the name of another index is refused": {
			kind: "Metal3Data", name: "nodes-1", spec: "index: 0\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"an index with leading zeros in the name is refused": {
			kind: "Metal3Data", name: "nodes-01", spec: "index: 1\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"the name of the template alone is refused": {
			kind: "Metal3Data", name: "nodes", spec: "index: 0\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"data without a spec is refused":     {kind: "Metal3Data", name: "nodes-0", refused: []string{empty}},
		"data without a template is refused": {kind: "Metal3Data", name: "nodes-0", spec: "index: 0", refused: []string{empty}},
		"a nameless template is refused": {
			kind: "Metal3Data", name: "nodes-0", spec: "template: {namespace: default}", refused: []string{empty},
		},
		"an index is not negative": {
			kind: "Metal3Data", name: "nodes--1", spec: "index: -1\ntemplate: {name: nodes}",
			refused: []string{"spec.index", "should be greater than or equal to 0"},
		},
	})
}

// entries is one list of the metadata grammar with an entry that is complete.
var entries = map[string]string{
	"strings":             "{key: k, value: x}",
	"objectNames":         "{key: k, object: machine}",
	"indexes":             "{key: k, offset: 0, step: 1, prefix: p, suffix: s}",
	"namespaces":          "{key: k}",
	"ipAddressesFromPool": "{key: k, name: pool}",
	"prefixesFromPool":    "{key: k, name: pool, kind: IPPool, apiGroup: ipam.metal3.io}",
	"gatewaysFromPool":    "{key: k, name: pool, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}",
	"dnsServersFromPool":  "{key: k, name: pool}",
	"fromHostInterfaces":  "{key: k, interface: eth0}",
	"fromLabels":          "{key: k, object: baremetalhost, label: rack}",
	"fromAnnotations":     "{key: k, object: metal3machine, annotation: a}",
}

func TestMetaDataLists(t *testing.T) {
	examples := map[string]example{}
	add := func(name, list, items string, refused ...string) {
		examples[list+name] = example{
			kind:    "Metal3DataTemplate",
			spec:    fmt.Sprintf("metaData: {%s: [%s]}", list, items),
			refused: refused,
		}
	}
	for list, entry := range entries {
		path := "spec.metaData." + list
		add(" take a full entry", list, entry)
		add(" refuse an empty list", list, "", path, "should have at least 1 items")
		add(" refuse a key that is there twice", list, entry+", "+entry, path+"[1]: Duplicate value", `"key":"k"`)
		add(" refuse an entry without a key", list, strings.NewReplacer("key: k, ", "", "key: k", "").Replace(entry), path+"[0].key: Required value")
		add(" refuse an empty key", list, strings.Replace(entry, "key: k", "key: ''", 1), path+"[0].key", "should be at least 1 chars long")
		many := make([]string, 0, 513)
		for i := range 513 {
			many = append(many, strings.Replace(entry, "key: k", fmt.Sprintf("key: k%d", i), 1))
		}
		add(" take 512 entries", list, strings.Join(many[:512], ", "))
		add(" refuse more than 512 entries", list, strings.Join(many, ", "), path+": Too many", "must have at most 512 items")
	}
	checkExamples(t, examples)
}

func TestMetaDataEntries(t *testing.T) {
	const (
		objects   = `supported values: "machine", "metal3machine", "baremetalhost"`
		eitherNIC = "set either interface, to the name of a network interface, or fromBootMAC: true, not both and not none"
	)
	tests := map[string]struct {
		metaData string
		refused  []string
	}{
		"lists may share a key":         {metaData: "{strings: [{key: k, value: x}], namespaces: [{key: k}]}"},
		"a string needs a value":        {metaData: "{strings: [{key: k}]}", refused: []string{"strings[0].value: Required value"}},
		"a string is at most 512 long":  {metaData: "{strings: [{key: k, value: " + strings.Repeat("v", 513) + "}]}", refused: []string{"strings[0].value: Too long"}},
		"an index needs only a key":     {metaData: "{indexes: [{key: k}]}"},
		"an index steps forward":        {metaData: "{indexes: [{key: k, step: 0}]}", refused: []string{"indexes[0].step", "should be greater than or equal to 1"}},
		"an offset is not negative":     {metaData: "{indexes: [{key: k, offset: -1}]}", refused: []string{"indexes[0].offset", "should be greater than or equal to 0"}},
		"a name is that of some object": {metaData: "{objectNames: [{key: k}]}", refused: []string{"objectNames[0].object: Required value"}},
		"a name is that of a known object": {
			metaData: "{objectNames: [{key: k, object: host}]}",
			refused:  []string{"objectNames[0].object: Unsupported value: \"host\"", objects},
		},
		"a label is that of a known object": {
			metaData: "{fromLabels: [{key: k, object: node, label: l}]}",
			refused:  []string{"fromLabels[0].object: Unsupported value: \"node\"", objects},
		},
		"a label needs its key":       {metaData: "{fromLabels: [{key: k, object: machine}]}", refused: []string{"fromLabels[0].label: Required value"}},
		"an annotation needs its key": {metaData: "{fromAnnotations: [{key: k, object: machine}]}", refused: []string{"fromAnnotations[0].annotation: Required value"}},
		"an annotation is that of a known object": {
			metaData: "{fromAnnotations: [{key: k, object: node, annotation: a}]}",
			refused:  []string{"fromAnnotations[0].object: Unsupported value: \"node\"", objects},
		},
		"an address needs a pool": {metaData: "{ipAddressesFromPool: [{key: k}]}", refused: []string{"ipAddressesFromPool[0].name: Required value"}},
		"a pool that cannot exist is refused": {
			metaData: "{gatewaysFromPool: [{key: k, name: My_Pool}]}",
			refused:  []string{`gatewaysFromPool[0].name: Invalid value: "My_Pool"`, "should match '^[a-z0-9]"},
		},
		"a kind of pool that cannot exist is refused": {
			metaData: "{gatewaysFromPool: [{key: k, name: p, kind: ip pool}]}",
			refused:  []string{`gatewaysFromPool[0].kind: Invalid value: "ip pool"`, "should match '^[a-zA-Z]"},
		},
		"a group of pools that cannot exist is refused": {
			metaData: "{gatewaysFromPool: [{key: k, name: p, apiGroup: ipam/v1}]}",
			refused:  []string{`gatewaysFromPool[0].apiGroup: Invalid value: "ipam/v1"`, "should match '^[a-z0-9]"},
		},
		"one name may not stand for two pools": {
			metaData: "{ipAddressesFromPool: [{key: a, name: pool}], gatewaysFromPool: [{key: b, name: pool, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}]}",
			refused: []string{
				`spec: Invalid value: "pool": the name stands for two pools`, `InClusterIPPool.ipam.cluster.x-k8s.io "pool"`, "give one of them another name",
			},
		},
		"the list of v1beta1 for addresses is unknown": {
			metaData: "{ipAddressesFromIPPool: [{key: k, name: pool}]}",
			refused:  []string{"unknown field", "metaData.ipAddressesFromIPPool"},
		},
		"an interface may be the one that the host boots from": {metaData: "{fromHostInterfaces: [{key: k, fromBootMAC: true}]}"},
		"an interface by name may say that it is no boot interface": {
			metaData: "{fromHostInterfaces: [{key: k, interface: eth0, fromBootMAC: false}]}",
		},
		"an interface by name and by boot is refused": {
			metaData: "{fromHostInterfaces: [{key: k, interface: eth0, fromBootMAC: true}]}",
			refused:  []string{"spec.metaData.fromHostInterfaces[0]", eitherNIC},
		},
		"no interface at all is refused": {
			metaData: "{fromHostInterfaces: [{key: k}]}",
			refused:  []string{"spec.metaData.fromHostInterfaces[0]", eitherNIC},
		},
		"an interface that is not even the boot interface is refused": {
			metaData: "{fromHostInterfaces: [{key: k, fromBootMAC: false}]}",
			refused:  []string{"spec.metaData.fromHostInterfaces[0]", eitherNIC},
		},
	}
	examples := map[string]example{
		"a template without a spec is fine":              {kind: "Metal3DataTemplate"},
		"the cluster name of old templates may stay":     {kind: "Metal3DataTemplate", spec: "clusterName: old"},
		"the cluster name of old templates may be empty": {kind: "Metal3DataTemplate", spec: "clusterName: ''"},
		"the template reference of v1beta1 is unknown": {
			kind: "Metal3DataTemplate", spec: "templateReference: old", refused: []string{"unknown field", "spec.templateReference"},
		},
	}
	for name, test := range tests {
		examples[name] = example{kind: "Metal3DataTemplate", spec: "metaData: " + test.metaData, refused: test.refused}
	}
	checkExamples(t, examples)
}

// TestLinksTogether is about the references between links and networks. The tables of
// baremetal/templatecheck have every rule; here they meet an API server.
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
