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

package templatecheck

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const sameMAC = "another link is recognized by the same: give each interface a MAC address of its own"

// asking is a template that asks so many pools.
func asking(pools int) infrav1.Metal3DataTemplateSpec {
	metadata := &infrav1.MetaData{}
	for i := range pools {
		name := fmt.Sprint("pool-", i)
		metadata.IPAddressesFromPool = append(metadata.IPAddressesFromPool, infrav1.FromPool{Key: name, Name: name})
	}
	return infrav1.Metal3DataTemplateSpec{MetaData: metadata}
}

func TestProblems(t *testing.T) {
	ethernets := []infrav1.NetworkDataLinkEthernet{{ID: "eth0"}, {ID: "eth1"}}
	network := func(links infrav1.NetworkDataLink, networks infrav1.NetworkDataNetwork) infrav1.Metal3DataTemplateSpec {
		return infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{Links: &links, Networks: &networks}}
	}
	tests := map[string]struct {
		given infrav1.Metal3DataTemplateSpec
		want  []string
	}{
		"nothing is wrong with nothing": {},
		"nothing is wrong with empty network data": {
			given: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{}},
		},
		"networks on links, bonds and VLANs are fine": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Bonds:     []infrav1.NetworkDataLinkBond{{ID: "bond0", BondLinks: []string{"eth0", "eth1"}}},
				Vlans:     []infrav1.NetworkDataLinkVlan{{ID: "vlan1", VlanLink: "bond0"}},
			}, infrav1.NetworkDataNetwork{
				IPv4:      []infrav1.NetworkDataIPv4{{ID: "a", Link: "vlan1", IPAddressFromIPPool: "pool"}},
				IPv6:      []infrav1.NetworkDataIPv6{{ID: "b", Link: "vlan1", IPAddressFromIPPool: "pool"}},
				IPv4DHCP:  []infrav1.NetworkDataIPv4DHCP{{ID: "c", Link: "eth0"}},
				IPv6DHCP:  []infrav1.NetworkDataIPv6DHCP{{ID: "d", Link: "eth0"}},
				IPv6SLAAC: []infrav1.NetworkDataIPv6DHCP{{ID: "e", Link: "bond0"}},
			}),
		},
		"128 addresses of pools are fine": {given: asking(128)},
		"129 are too many": {given: asking(129), want: []string{
			`spec: Invalid value: 129: pools are asked for 129 addresses of each machine, and at most for 128: leave some out, or use fewer networks with addresses of pools`,
		}},
		"a network needs a link that exists": {
			given: network(infrav1.NetworkDataLink{Ethernets: ethernets}, infrav1.NetworkDataNetwork{
				IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "a", Link: "eth9"}},
			}),
			want: []string{`spec.networkData.networks.ipv4DHCP[0].link: Not found: "eth9": no link has this id: add it, or use one of those that are there: eth0, eth1`},
		},
		"a network needs a link even if there is none": {
			given: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{Networks: &infrav1.NetworkDataNetwork{
				IPv6: []infrav1.NetworkDataIPv6{{ID: "a", Link: "eth0"}},
			}}},
			want: []string{`spec.networkData.networks.ipv6[0].link: Not found: "eth0": no link has this id: add it, or use one of those that are there: none`},
		},
		"bonds and VLANs need links that exist": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Bonds:     []infrav1.NetworkDataLinkBond{{ID: "bond0", BondLinks: []string{"eth0", "eth7"}}},
				Vlans:     []infrav1.NetworkDataLinkVlan{{ID: "vlan1", VlanLink: "bond9"}},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.bonds[0].bondLinks[1]: Not found: "eth7": no link has this id: add it, or use one of those that are there: eth0, eth1, bond0, vlan1`,
				`spec.networkData.links.vlans[0].vlanLink: Not found: "bond9": no link has this id: add it, or use one of those that are there: eth0, eth1, bond0, vlan1`,
			},
		},
		"ids are unique over all kinds of links, and of networks": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Vlans:     []infrav1.NetworkDataLinkVlan{{ID: "eth1", VlanLink: "eth0"}},
			}, infrav1.NetworkDataNetwork{
				IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "n", Link: "eth0"}},
				IPv6DHCP: []infrav1.NetworkDataIPv6DHCP{{ID: "n", Link: "eth0"}},
			}),
			want: []string{
				`spec.networkData.links.vlans[0].id: Duplicate value: "eth1": another link has this id: give each link one of its own`,
				`spec.networkData.networks.ipv6DHCP[0].id: Duplicate value: "n": another network has this id: give each network one of its own`,
			},
		},
		"no link rests on itself": {
			given: network(infrav1.NetworkDataLink{
				Bonds: []infrav1.NetworkDataLinkBond{{ID: "bond0", BondLinks: []string{"vlan1"}}},
				Vlans: []infrav1.NetworkDataLinkVlan{{ID: "vlan1", VlanLink: "bond0"}},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.vlans[0].vlanLink: Invalid value: "bond0": this link rests on itself: put it on another link`,
			},
		},
		"a link may rest on others however deep, and several on one": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Bonds:     []infrav1.NetworkDataLinkBond{{ID: "bond0", BondLinks: []string{"eth0", "eth1"}}},
				Vlans: []infrav1.NetworkDataLinkVlan{
					{ID: "v1", VlanLink: "bond0", VlanID: ptr.To[int32](1)},
					{ID: "v2", VlanLink: "bond0", VlanID: ptr.To[int32](2)},
					{ID: "v3", VlanLink: "v1", VlanID: ptr.To[int32](2)},
				},
			}, infrav1.NetworkDataNetwork{}),
		},
		"a bond has links, each in one bond only": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Bonds: []infrav1.NetworkDataLinkBond{
					{ID: "bond0", BondLinks: []string{"eth0", "eth1"}}, {ID: "bond1", BondLinks: []string{"eth1"}}, {ID: "bond2"},
				},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.bonds[2].bondLinks: Required value: the bond has no links: name them by their ids`,
				`spec.networkData.links.bonds[1].bondLinks[0]: Duplicate value: "eth1": the link is in a bond already: put it into one of them only`,
			},
		},
		"options of a bond that have fields are set there": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Bonds: []infrav1.NetworkDataLinkBond{{ID: "bond0", BondLinks: []string{"eth0"}, Parameters: []infrav1.BondParameter{
					{Name: "miimon"}, {Name: "mode"}, {Name: "links"}, {Name: "xmit_hash_policy"},
				}}},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.bonds[0].parameters[1].name: Invalid value: "mode": the option has a field of its own: set bondMode instead`,
				`spec.networkData.links.bonds[0].parameters[2].name: Invalid value: "links": the option has a field of its own: set bondLinks instead`,
				`spec.networkData.links.bonds[0].parameters[3].name: Invalid value: "xmit_hash_policy": the option has a field of its own: set bondXmitHashPolicy instead`,
			},
		},
		"a VLAN has a tag that exists, once on each link": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Vlans: []infrav1.NetworkDataLinkVlan{
					{ID: "v0", VlanLink: "eth0", VlanID: ptr.To[int32](4094)},
					{ID: "v1", VlanLink: "eth1", VlanID: ptr.To[int32](4094)},
					{ID: "v2", VlanLink: "eth0", VlanID: ptr.To[int32](4094)},
					{ID: "v3", VlanLink: "eth0", VlanID: ptr.To[int32](4096)},
				},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.vlans[3].vlanID: Invalid value: 4096: no VLAN has this tag: use one between 0 and 4094`,
				`spec.networkData.links.vlans[2].vlanID: Duplicate value: "4094 on eth0": the VLAN is there already: put it on another link, or remove it`,
			},
		},
		"names are those of one link, and links may do without": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: []infrav1.NetworkDataLinkEthernet{{ID: "eth0", Name: "lan"}, {ID: "eth1"}, {ID: "eth2"}},
				Bonds:     []infrav1.NetworkDataLinkBond{{ID: "bond0", Name: "lan", BondLinks: []string{"eth1"}}},
				Vlans:     []infrav1.NetworkDataLinkVlan{{ID: "vlan1", Name: "lan", VlanLink: "eth0"}},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.bonds[0].name: Duplicate value: "lan": another link has this name: give each link one of its own, or none`,
				`spec.networkData.links.vlans[0].name: Duplicate value: "lan": another link has this name: give each link one of its own, or none`,
			},
		},
		"MAC addresses are those of one interface, however they are written": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: []infrav1.NetworkDataLinkEthernet{
					{ID: "eth0", MACAddress: &infrav1.NetworkLinkMAC{String: "52:54:00:00:00:0A"}},
					{ID: "eth1", MACAddress: &infrav1.NetworkLinkMAC{String: "52-54-00-00-00-0a"}},
					{ID: "eth2", MACAddress: &infrav1.NetworkLinkMAC{FromHostInterface: "lan"}},
					{ID: "eth3", MACAddress: &infrav1.NetworkLinkMAC{FromHostInterface: "lan"}},
					{ID: "eth4", MACAddress: &infrav1.NetworkLinkMAC{FromAnnotation: &infrav1.NetworkLinkMACFromAnnotation{Object: "machine", Annotation: "mac"}}},
					{ID: "eth5", MACAddress: &infrav1.NetworkLinkMAC{FromAnnotation: &infrav1.NetworkLinkMACFromAnnotation{Object: "baremetalhost", Annotation: "mac"}}},
					{ID: "eth6", MACAddress: &infrav1.NetworkLinkMAC{FromAnnotation: &infrav1.NetworkLinkMACFromAnnotation{Object: "machine", Annotation: "mac"}}},
				},
				Vlans: []infrav1.NetworkDataLinkVlan{
					{ID: "vlan1", VlanLink: "eth0", MACAddress: &infrav1.NetworkLinkMAC{String: "52:54:00:00:00:0a"}},
				},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.ethernets[1].macAddress.string: Duplicate value: "52:54:00:00:00:0a": ` + sameMAC,
				`spec.networkData.links.ethernets[3].macAddress.fromHostInterface: Duplicate value: "lan": ` + sameMAC,
				`spec.networkData.links.ethernets[6].macAddress.fromAnnotation: Duplicate value: "mac of machine": ` + sameMAC,
			},
		},
		"two addresses are not asked for by claims of one name": {
			given: network(infrav1.NetworkDataLink{Ethernets: ethernets}, infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{
				{ID: "n1", Link: "eth0", IPAddressFromIPPool: "a"},
				{ID: "b", Link: "eth1", IPAddressFromIPPool: "a"},
				{ID: "n2", Link: "eth1", IPAddressFromIPPool: "a-b"},
			}}),
			want: []string{`spec: Invalid value: "a-b": IPPool.ipam.metal3.io "a" for network "b" and IPPool.ipam.metal3.io "a-b" ` +
				`would be asked by claims of one name: give the network another id`},
		},
		"one name stands for one pool": {
			given: infrav1.Metal3DataTemplateSpec{
				MetaData: &infrav1.MetaData{IPAddressesFromPool: []infrav1.FromPool{{Key: "ip", Name: "pool"}}},
				NetworkData: &infrav1.NetworkData{
					Links: &infrav1.NetworkDataLink{Ethernets: ethernets},
					Networks: &infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{{
						ID: "a", Link: "eth0", FromPoolRef: &infrav1.IPPoolReference{Name: "pool", Kind: "InClusterIPPool", APIGroup: "ipam.cluster.x-k8s.io"},
					}}},
				},
			},
			want: []string{`spec: Invalid value: "pool": the name stands for two pools, IPPool.ipam.metal3.io "pool" and ` +
				`InClusterIPPool.ipam.cluster.x-k8s.io "pool": give one of them another name`},
		},
		"a pool that an annotation names is not checked": {
			given: network(infrav1.NetworkDataLink{Ethernets: ethernets}, infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{{
				ID: "a", Link: "eth0", FromPoolAnnotation: &infrav1.FromPoolAnnotation{Object: "machine", Annotation: "pool"},
			}}}),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, problem := range Problems(tc.given, field.NewPath("spec")) {
				got = append(got, problem.Error())
			}
			expect.Equal(t, tc.want, got)
		})
	}
}

// An option of a bond is set in one place: it is refused as a parameter once it
// has a field.
func TestEveryFieldOfABondIsNoParameterToo(t *testing.T) {
	var want []string
	for field := range reflect.TypeFor[infrav1.NetworkDataLinkBond]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); strings.HasPrefix(name, "bond") {
			want = append(want, name)
		}
	}
	got := slices.Collect(maps.Values(bondFields()))
	slices.Sort(want)
	slices.Sort(got)
	expect.Equal(t, want, got)
}

func TestWarnings(t *testing.T) {
	bond := func(values ...string) infrav1.Metal3DataTemplateSpec {
		b := infrav1.NetworkDataLinkBond{ID: "bond0"}
		for _, v := range values {
			b.Parameters = append(b.Parameters, infrav1.BondParameter{Name: "p", Value: &apiextensionsv1.JSON{Raw: []byte(v)}})
		}
		return infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{
			Links: &infrav1.NetworkDataLink{Bonds: []infrav1.NetworkDataLinkBond{b}},
		}}
	}
	tests := map[string]struct {
		given infrav1.Metal3DataTemplateSpec
		want  []string
	}{
		"nothing is to be said of nothing": {},
		"the name of a cluster is out of use": {
			given: infrav1.Metal3DataTemplateSpec{ClusterName: ptr.To("blue")},
			want:  []string{"spec.clusterName is not used any more: leave it out"},
		},
		"an empty name of a cluster is none": {given: infrav1.Metal3DataTemplateSpec{ClusterName: ptr.To("")}},
		"a key of several lists counts once": {
			given: infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{
				Strings:             []infrav1.MetaDataString{{Key: "a", Value: "x"}, {Key: "b", Value: "x"}},
				Namespaces:          []infrav1.MetaDataNamespace{{Key: "a"}},
				FromHostInterfaces:  []infrav1.MetaDataHostInterface{{Key: "a"}, {Key: "c"}},
				IPAddressesFromPool: []infrav1.FromPool{{Key: "d"}},
				DNSServersFromPool:  []infrav1.FromPool{{Key: "d"}},
			}},
			want: []string{
				`spec.metaData: key "a" is in strings and namespaces and fromHostInterfaces: only strings counts`,
				`spec.metaData: key "d" is in dnsServersFromPool and ipAddressesFromPool: only dnsServersFromPool counts`,
			},
		},
		"the key of the provider ID is taken": {
			given: infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "providerid", Value: "x"}}}},
			want:  []string{`spec.metaData: key "providerid" always holds the provider ID: what strings says does not count`},
		},
		"options of a bond are single values": {given: bond("100", `"fast"`, "true", "0.5")},
		"options of a bond that are more cannot be rendered": {
			given: bond("1", `{"as": "CAPM3 wants it"}`, "[1]", "null"),
			want: []string{
				nested(1), nested(2), nested(3),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Warnings(tc.given, field.NewPath("spec"))) })
	}
}

func nested(i int) string {
	return fmt.Sprintf(`spec.networkData.links.bonds[0].parameters[%d].value: the value of option "p" is no number, string or boolean: `+
		"no network data is rendered until a new template gives it one", i)
}

// TestKeysWinAsTheyAreRendered holds the order in which warnings are given to what
// is rendered.
func TestKeysWinAsTheyAreRendered(t *testing.T) {
	f := metadata.Facts{
		Namespace: "from namespaces", Machine: metav1.ObjectMeta{
			Name: "from objectNames", Labels: map[string]string{"l": "from fromLabels"}, Annotations: map[string]string{"a": "from fromAnnotations"},
		},
		Metal3Machine: metav1.ObjectMeta{Name: "m"},
		Host:          hardware.Host{Name: "h", Namespace: "from namespaces", NICs: []hardware.NIC{{Name: "n", MAC: "from fromHostInterfaces"}}},
		Addresses: map[metadata.AddressRef]metadata.Address{{Pool: "p"}: {
			Address: "from ipAddressesFromPool", Prefix: 24, Gateway: "from gatewaysFromPool", DNSServers: []string{"from dnsServersFromPool"},
		}},
	}
	pool := []infrav1.FromPool{{Key: "k", Name: "p"}}
	spec := &infrav1.MetaData{
		Strings:             []infrav1.MetaDataString{{Key: "k", Value: "from strings"}},
		FromAnnotations:     []infrav1.MetaDataFromAnnotation{{Key: "k", Object: "machine", Annotation: "a"}},
		FromLabels:          []infrav1.MetaDataFromLabel{{Key: "k", Object: "machine", Label: "l"}},
		ObjectNames:         []infrav1.MetaDataObjectName{{Key: "k", Object: "machine"}},
		Namespaces:          []infrav1.MetaDataNamespace{{Key: "k"}},
		Indexes:             []infrav1.MetaDataIndex{{Key: "k", Prefix: "from indexes "}},
		DNSServersFromPool:  pool,
		GatewaysFromPool:    pool,
		PrefixesFromPool:    pool,
		IPAddressesFromPool: pool,
		FromHostInterfaces:  []infrav1.MetaDataHostInterface{{Key: "k", Interface: "n"}},
	}
	without := []func(){
		func() { spec.Strings = nil }, func() { spec.FromAnnotations = nil }, func() { spec.FromLabels = nil },
		func() { spec.ObjectNames = nil }, func() { spec.Namespaces = nil }, func() { spec.Indexes = nil },
		func() { spec.DNSServersFromPool = nil }, func() { spec.GatewaysFromPool = nil }, func() { spec.PrefixesFromPool = nil },
		func() { spec.IPAddressesFromPool = nil }, func() { spec.FromHostInterfaces = nil },
	}
	for i, list := range keysByRank(spec) {
		values, err := metadata.Values(spec, f)
		expect.NoError(t, err)
		want := "from " + list.name
		switch list.name {
		case "indexes":
			want += " 0"
		case "prefixesFromPool":
			want = "24"
		}
		expect.That(t, values["k"] == want, "the value is %q although %s is the first list", values["k"], list.name)
		without[i]()
	}
}
