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

package networkdata

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var update = flag.Bool("update", false, "write the golden files")

func known() metadata.Facts {
	return metadata.Facts{
		Namespace: "tenant",
		Machine: metav1.ObjectMeta{Name: "machine", Annotations: map[string]string{
			"pool": "four", "empty": "", "bond-mac": "52:54:00:00:00:01",
		}},
		Metal3Machine: metav1.ObjectMeta{
			Name: "m3m", Annotations: map[string]string{"mac": "52-54-00-00-00-0a", "bad": "52:54:00", "pool": "four", "pool6": "six"},
		},
		Host: hardware.Host{
			Name: "server", Annotations: map[string]string{"vlan-mac": "52:54:00:00:07:01", "pool6": "six"}, NICs: []hardware.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01"}, {Name: "eth1", MAC: "52:54:00:00:00:02"}},
		},
		Addresses: map[metadata.AddressRef]metadata.Address{
			{Pool: "four"}:                     {Address: "192.0.2.10", Prefix: 24, Gateway: "192.0.2.1", DNSServers: []string{"192.0.2.53"}},
			{Pool: "four", Network: "storage"}: {Address: "192.0.2.138", Prefix: 25, Gateway: "192.0.2.129", DNSServers: []string{"192.0.2.153"}},
			{Pool: "six"}:                      {Address: "2001:db8::10", Prefix: 64, Gateway: "2001:db8::1"},
			{Pool: "six", Network: "second6"}:  {Address: "2001:db8:0:1::10", Prefix: 64, Gateway: "2001:db8:0:1::1"},
			{Pool: "other4"}:                   {Address: "203.0.113.10", Prefix: 26, Gateway: "203.0.113.1"},
			{Pool: "blunt"}:                    {Address: "192.0.2.10"},
		},
	}
}

// TestGolden renders each testdata/*.yaml and compares it with the golden file
// beside it; run with -update to accept what changed.
func TestGolden(t *testing.T) {
	expect.Rendered(t, *update, func(t *testing.T, input []byte) string {
		t.Helper()
		var spec infrav1.NetworkData
		expect.NoError(t, yaml.UnmarshalStrict(input, &spec))
		got, err := Render(&spec, known())
		expect.NoError(t, err)
		again, err := Render(&spec, known())
		expect.That(t, err == nil && string(again) == string(got), "a second time it is different, or fails: %v", err)
		return string(got)
	})
}

func TestNothingIsAnEmptyDocument(t *testing.T) {
	got, err := Render(nil, metadata.Facts{})
	expect.That(t, err == nil && string(got) == "links: []\nnetworks: []\nservices: []\n", "rendered %q, %v", got, err)
}

func ethernet(id string) infrav1.NetworkDataLinkEthernet {
	return infrav1.NetworkDataLinkEthernet{ID: id, Type: "phy", MACAddress: &infrav1.NetworkLinkMAC{String: "52:54:00:00:00:01"}}
}

func links(change func(*infrav1.NetworkDataLink)) *infrav1.NetworkData {
	l := &infrav1.NetworkDataLink{Ethernets: []infrav1.NetworkDataLinkEthernet{ethernet("e")}}
	change(l)
	return &infrav1.NetworkData{Links: l}
}

func mac(source *infrav1.NetworkLinkMAC) *infrav1.NetworkData {
	return links(func(l *infrav1.NetworkDataLink) { l.Ethernets[0].MACAddress = source })
}

func bond(change func(*infrav1.NetworkDataLinkBond), others ...func(*infrav1.NetworkDataLink)) *infrav1.NetworkData {
	return links(func(l *infrav1.NetworkDataLink) {
		l.Bonds = []infrav1.NetworkDataLinkBond{{ID: "b", BondMode: "802.3ad", BondLinks: []string{"e"}}}
		change(&l.Bonds[0])
		for _, other := range others {
			other(l)
		}
	})
}

func parameter(name, value string) *infrav1.NetworkData {
	return bond(func(b *infrav1.NetworkDataLinkBond) {
		p := infrav1.BondParameter{Name: name}
		if value != "" {
			p.Value = &apiextensionsv1.JSON{Raw: []byte(value)}
		}
		b.Parameters = []infrav1.BondParameter{p}
	})
}

func v4(n infrav1.NetworkDataIPv4) *infrav1.NetworkData {
	spec := links(func(*infrav1.NetworkDataLink) {})
	n.ID, n.Link = "n", "e"
	spec.Networks = &infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{n}}
	return spec
}

func route4(r infrav1.NetworkDataRoutev4) *infrav1.NetworkData {
	return v4(infrav1.NetworkDataIPv4{IPAddressFromIPPool: "four", Routes: []infrav1.NetworkDataRoutev4{r}})
}

func route6(r infrav1.NetworkDataRoutev6) *infrav1.NetworkData {
	spec := links(func(*infrav1.NetworkDataLink) {})
	spec.Networks = &infrav1.NetworkDataNetwork{
		IPv6SLAAC: []infrav1.NetworkDataIPv6DHCP{{ID: "n", Link: "e", Routes: []infrav1.NetworkDataRoutev6{r}}},
	}
	return spec
}

func TestRenderRefuses(t *testing.T) {
	tests := map[string]struct {
		given *infrav1.NetworkData
		want  string
	}{
		"an interface that the host does not have": {
			given: mac(&infrav1.NetworkLinkMAC{FromHostInterface: "eth9"}),
			want:  `networkData.links.ethernets[e]: the host has no network interface "eth9" (it has: eth0, eth1): name one of those in a new Metal3DataTemplate, or select hosts that have it`,
		},
		"an annotation that is missing": {
			given: mac(&infrav1.NetworkLinkMAC{FromAnnotation: &infrav1.NetworkLinkMACFromAnnotation{Object: "machine", Annotation: "mac"}}),
			want:  `networkData.links.ethernets[e]: machine "machine" has no annotation "mac": set it`,
		},
		"an annotation that is no MAC address": {
			given: mac(&infrav1.NetworkLinkMAC{FromAnnotation: &infrav1.NetworkLinkMACFromAnnotation{Object: "metal3machine", Annotation: "bad"}}),
			want:  `networkData.links.ethernets[e]: "52:54:00" is not a MAC address: write six pairs of hex digits, such as 52:54:00:12:34:56`,
		},
		"a MAC address without a source": {
			given: mac(&infrav1.NetworkLinkMAC{}),
			want:  "networkData.links.ethernets[e]: macAddress names no source: set string, fromHostInterface or fromAnnotation",
		},
		"a bond parameter that is a list": {
			given: parameter("miimon", "[1]"),
			want:  `networkData.links.bonds[b]: parameter "miimon" is not a single value: give it a number, a string or a boolean`,
		},
		"a bond parameter without a value": {
			given: parameter("miimon", ""),
			want:  `networkData.links.bonds[b]: parameter "miimon" is not a single value: give it a number, a string or a boolean`,
		},
		"two interfaces of one MAC address": {
			given: links(func(l *infrav1.NetworkDataLink) {
				l.Ethernets = append(l.Ethernets, infrav1.NetworkDataLinkEthernet{ID: "f", MACAddress: &infrav1.NetworkLinkMAC{FromHostInterface: "eth0"}})
			}),
			want: `networkData.links.ethernets[f]: the link has the MAC address of link "e", "52:54:00:00:00:01": give each one of its own`,
		},
		"links that the webhook would refuse": {
			given: links(func(l *infrav1.NetworkDataLink) {
				l.Vlans = []infrav1.NetworkDataLinkVlan{
					{ID: "v", VlanID: ptr.To[int32](1), VlanLink: "w"}, {ID: "w", VlanID: ptr.To[int32](2), VlanLink: "v"},
				}
			}),
			want: `spec.networkData.links.vlans[1].vlanLink: Invalid value: "v": this link rests on itself: put it on another link`,
		},
		"a network on a link that is not there": {
			given: &infrav1.NetworkData{Networks: &infrav1.NetworkDataNetwork{IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "n", Link: "e"}}}},
			want:  `spec.networkData.networks.ipv4DHCP[0].link: Not found: "e": no link has this id: add it, or use one of those that are there: none`,
		},
		"a network without a pool": {
			given: v4(infrav1.NetworkDataIPv4{}),
			want:  "networkData.networks.ipv4[n]: the network names no pool: set fromPoolRef, fromPoolAnnotation or ipAddressFromIPPool",
		},
		"a pool that has not answered": {
			given: v4(infrav1.NetworkDataIPv4{IPAddressFromIPPool: "slow"}),
			want:  `networkData.networks.ipv4[n]: pool "slow" has not given an address yet`,
		},
		"a pool whose annotation is missing": {
			given: v4(infrav1.NetworkDataIPv4{FromPoolAnnotation: &infrav1.FromPoolAnnotation{Object: "machine", Annotation: "empty"}}),
			want:  `networkData.networks.ipv4[n]: machine "machine" has no annotation "empty": set it`,
		},
		"an address of the other family": {
			given: v4(infrav1.NetworkDataIPv4{IPAddressFromIPPool: "six"}),
			want:  `networkData.networks.ipv4[n]: pool "six" gave "2001:db8::10", which is not an ipv4 address: name a pool of that family`,
		},
		"an address without a prefix length": {
			given: v4(infrav1.NetworkDataIPv4{IPAddressFromIPPool: "blunt"}),
			want:  `networkData.networks.ipv4[n]: pool "blunt" gave prefix length 0, which is none of ipv4: set the prefix in the pool`,
		},
		"a route to something else than a network": {
			given: route4(infrav1.NetworkDataRoutev4{Network: "here", Gateway: infrav1.NetworkGatewayv4{String: "192.0.2.1"}}),
			want:  "networkData.networks.ipv4[n].routes[0]: here/0 is not an ipv4 network: correct network and prefix",
		},
		"a route with a prefix length of the other family": {
			given: route4(infrav1.NetworkDataRoutev4{Network: "192.0.2.0", Prefix: ptr.To[int32](64), Gateway: infrav1.NetworkGatewayv4{String: "192.0.2.1"}}),
			want:  "networkData.networks.ipv4[n].routes[0]: 192.0.2.0/64 is not an ipv4 network: correct network and prefix",
		},
		"a route without a gateway": {
			given: route4(infrav1.NetworkDataRoutev4{Network: "0.0.0.0"}),
			want:  "networkData.networks.ipv4[n].routes[0].gateway: the route has no gateway: set string, fromPoolRef, fromPoolAnnotation or fromIPPool",
		},
		"a gateway of the other family": {
			given: route6(infrav1.NetworkDataRoutev6{Network: "::", Gateway: infrav1.NetworkGatewayv6{String: "192.0.2.1"}}),
			want:  `networkData.networks.ipv6SLAAC[n].routes[0].gateway: "192.0.2.1" is not an ipv6 address: correct it`,
		},
		"a gateway whose annotation is missing": {
			given: route6(infrav1.NetworkDataRoutev6{Network: "::", Gateway: infrav1.NetworkGatewayv6{
				FromPoolAnnotation: &infrav1.FromPoolAnnotation{Object: "baremetalhost", Annotation: "pool"},
			}}),
			want: `networkData.networks.ipv6SLAAC[n].routes[0].gateway: baremetalhost "server" has no annotation "pool": let the owner of the host set it and publish it by the HostDeployPolicy`,
		},
		"a gateway of a pool that has not answered": {
			given: route6(infrav1.NetworkDataRoutev6{Network: "::", Gateway: infrav1.NetworkGatewayv6{FromIPPool: "slow"}}),
			want:  `networkData.networks.ipv6SLAAC[n].routes[0].gateway: pool "slow" has not given an address yet`,
		},
		"a gateway of a pool that has none": {
			given: route4(infrav1.NetworkDataRoutev4{Network: "0.0.0.0", Gateway: infrav1.NetworkGatewayv4{FromIPPool: "blunt"}}),
			want:  `networkData.networks.ipv4[n].routes[0].gateway: pool "blunt" has the gateway "", which is not an ipv4 address: set spec.gateway of the pool`,
		},
		"name servers of a pool that has not answered": {
			given: &infrav1.NetworkData{Services: &infrav1.NetworkDataService{DNSFromIPPool: "slow"}},
			want:  `networkData.services: pool "slow" has not given an address yet`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Render(tc.given, known())
			expect.Must(t, err != nil, "rendered:\n%s", got)
			expect.Equal(t, tc.want, err.Error())
		})
	}
}

func TestAllErrorsAreToldTogether(t *testing.T) {
	spec := mac(&infrav1.NetworkLinkMAC{FromHostInterface: "eth9"})
	spec.Services = &infrav1.NetworkDataService{DNSFromIPPool: "slow"}
	_, err := Render(spec, known())
	expect.That(t, metadata.IsInterfaceNotFound(err) && errors.As(err, &metadata.AddressNotFoundError{}), "error %v, want both", err)
}

// FuzzRender reads templates from YAML: rendering panics for none of them, and its result is a
// document that can be read again.
func FuzzRender(f *testing.F) {
	inputs, err := filepath.Glob("testdata/*.yaml")
	expect.NoError(f, err)
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		expect.NoError(f, err)
		f.Add(text, "192.0.2.1", int32(24))
	}
	f.Fuzz(func(t *testing.T, text []byte, address string, prefix int32) {
		var spec infrav1.NetworkData
		if err := yaml.Unmarshal(text, &spec); err != nil {
			return
		}
		given := known()
		given.Addresses[metadata.AddressRef{Pool: "four"}] = metadata.Address{Address: address, Prefix: prefix, Gateway: address, DNSServers: []string{address}}
		rendered, err := Render(&spec, given)
		if err != nil {
			return
		}
		var doc document
		if err := yaml.UnmarshalStrict(rendered, &doc); err != nil {
			t.Errorf("%v:\n%s", err, rendered)
		}
	})
}
