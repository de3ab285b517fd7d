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

package templatecheck_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/networkdata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/templatecheck"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestWhatIsTakenIsRendered draws templates whose fields are well formed: what has no
// problem is rendered for a machine that lacks nothing, and what has one is not. So
// a mistake is reported before a server waits for its data.
func TestWhatIsTakenIsRendered(t *testing.T) {
	taken, refused := 0, 0
	for seed := range uint64(4000) {
		spec := draw{rand.New(rand.NewPCG(seed, 1))}.networkData()
		problems := templatecheck.Problems(infrav1.Metal3DataTemplateSpec{NetworkData: spec}, field.NewPath("spec"))
		_, err := networkdata.Render(spec, complete())
		if len(problems) == 0 {
			taken++
		} else {
			refused++
		}
		if (len(problems) == 0) != (err == nil) {
			text, _ := yaml.Marshal(spec)
			t.Fatalf("seed %d: problems: %v\nrendering: %v\n%s", seed, problems, err, text)
		}
	}
	expect.That(t, taken >= 500 && refused >= 500, "%d templates were taken and %d refused: draw others", taken, refused)
}

// An option of a bond that is rendered from a field is refused as a parameter, which would replace it unnoticed.
func TestNoParameterReplacesWhatABondIsRenderedWith(t *testing.T) {
	spec := &infrav1.NetworkData{Links: &infrav1.NetworkDataLink{
		Ethernets: []infrav1.NetworkDataLinkEthernet{{Type: "phy", ID: "e0"}},
		Bonds: []infrav1.NetworkDataLinkBond{{
			ID: "b0", BondMode: infrav1.BondMode8023AD, BondXmitHashPolicy: "layer3+4", BondLinks: []string{"e0"},
		}},
	}}
	if found := templatecheck.Problems(infrav1.Metal3DataTemplateSpec{NetworkData: spec}, field.NewPath("spec")); len(found) > 0 {
		t.Fatal(found)
	}
	text, err := networkdata.Render(spec, complete())
	expect.NoError(t, err)
	var document struct {
		Links []map[string]any `json:"links"`
	}
	expect.NoError(t, yaml.Unmarshal(text, &document))
	options := 0
	for key := range document.Links[0] {
		option, found := strings.CutPrefix(key, "bond_")
		if !found {
			continue
		}
		options++
		spec.Links.Bonds[0].Parameters = []infrav1.BondParameter{{Name: option, Value: &apiextensionsv1.JSON{Raw: []byte("1")}}}
		if len(templatecheck.Problems(infrav1.Metal3DataTemplateSpec{NetworkData: spec}, field.NewPath("spec"))) == 0 {
			t.Errorf("parameter %q replaces what is rendered", option)
		}
	}
	if options == 0 {
		t.Errorf("no option of a bond in\n%s", text)
	}
}

// complete are the facts of a machine that lacks nothing that draw may ask for.
func complete() metadata.Facts {
	f := metadata.Facts{
		Machine: metav1.ObjectMeta{Annotations: map[string]string{
			"m0": "52:54:00:00:01:00", "m1": "52:54:00:00:01:01", "m2": "52:54:00:00:01:02",
		}},
		Host: hardware.Host{NICs: []hardware.NIC{
			{Name: "n0", MAC: "52:54:00:00:02:00"}, {Name: "n1", MAC: "52:54:00:00:02:01"}, {Name: "n2", MAC: "52:54:00:00:02:02"},
		}},
		Addresses: map[metadata.AddressRef]metadata.Address{
			{Pool: "four"}: {Address: "192.0.2.10", Prefix: 24}, {Pool: "six"}: {Address: "2001:db8::10", Prefix: 64},
		},
	}
	for _, id := range []string{"net0", "net1", "net2"} {
		f.Addresses[metadata.AddressRef{Pool: "four", Network: id}] = metadata.Address{Address: "192.0.2.11", Prefix: 24}
		f.Addresses[metadata.AddressRef{Pool: "six", Network: id}] = metadata.Address{Address: "2001:db8::11", Prefix: 64}
	}
	return f
}

// draw makes up network data: mostly what goes together, and now and then a name
// that is there already or is not there. Ids of networks are distinct, since nothing
// that is rendered refers to them.
type draw struct{ *rand.Rand }

// mostly draws the first choice, or now and then one of the others.
func (d draw) mostly(usual string, others ...string) string {
	if d.IntN(6) > 0 {
		return usual
	}
	return others[d.IntN(len(others))]
}

func (d draw) networkData() *infrav1.NetworkData {
	links, networks := &infrav1.NetworkDataLink{}, &infrav1.NetworkDataNetwork{}
	for i := range 1 + d.IntN(3) {
		links.Ethernets = append(links.Ethernets, infrav1.NetworkDataLinkEthernet{
			Type: "phy", ID: d.mostly(fmt.Sprintf("e%d", i), "e0", "b0"), Name: d.name(), MACAddress: d.mac(i),
		})
	}
	for i := range d.IntN(3) {
		links.Bonds = append(links.Bonds, d.bond(i))
	}
	for i := range d.IntN(3) {
		links.Vlans = append(links.Vlans, infrav1.NetworkDataLinkVlan{
			ID: d.mostly(fmt.Sprintf("v%d", i), "v0", "e0"), Name: d.name(), VlanLink: d.mostly("e0", "v0", "v1", "b0"),
			VlanID: ptr.To([]int32{7, 8, 9, 4094, 4094, 4095}[d.IntN(6)]),
		})
	}
	for i := range d.IntN(3) {
		id, link := fmt.Sprintf("net%d", i), d.mostly("e0", "v0", "b0", "none")
		switch d.IntN(4) {
		case 0:
			networks.IPv4 = append(networks.IPv4, infrav1.NetworkDataIPv4{ID: id, Link: link, IPAddressFromIPPool: "four"})
		case 1:
			networks.IPv6 = append(networks.IPv6, infrav1.NetworkDataIPv6{ID: id, Link: link, FromPoolRef: &infrav1.IPPoolReference{Name: "six"}})
		case 2:
			networks.IPv4DHCP = append(networks.IPv4DHCP, infrav1.NetworkDataIPv4DHCP{ID: id, Link: link})
		default:
			networks.IPv6SLAAC = append(networks.IPv6SLAAC, infrav1.NetworkDataIPv6DHCP{ID: id, Link: link})
		}
	}
	return &infrav1.NetworkData{Links: links, Networks: networks}
}

func (d draw) name() string { return d.mostly("", "lan", "wan") }

func (d draw) mac(i int) *infrav1.NetworkLinkMAC {
	switch d.IntN(3) {
	case 0:
		return &infrav1.NetworkLinkMAC{String: d.mostly(fmt.Sprintf("52:54:00:00:00:a%d", i), "52-54-00-00-00-A0")}
	case 1:
		return &infrav1.NetworkLinkMAC{FromHostInterface: d.mostly(fmt.Sprintf("n%d", i), "n0")}
	default:
		annotation := d.mostly(fmt.Sprintf("m%d", i), "m0")
		return &infrav1.NetworkLinkMAC{FromAnnotation: &infrav1.NetworkLinkMACFromAnnotation{Object: "machine", Annotation: annotation}}
	}
}

func (d draw) bond(i int) infrav1.NetworkDataLinkBond {
	b := infrav1.NetworkDataLinkBond{ID: d.mostly(fmt.Sprintf("b%d", i), "b0", "e0"), Name: d.name(), BondMode: infrav1.BondMode8023AD}
	if d.IntN(6) > 0 {
		b.BondLinks = []string{d.mostly(fmt.Sprintf("e%d", i), "e0", "v0", "b0")}
	}
	b.Parameters = []infrav1.BondParameter{{
		Name: d.mostly("miimon", "mode", "links", "xmit_hash_policy"), Value: &apiextensionsv1.JSON{Raw: []byte("100")},
	}}
	return b
}
