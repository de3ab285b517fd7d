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

package netdata_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/networkdata"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/netdata"
)

// The provider promises documents that a server comes up with. These tests hold
// it to that by a reader which knows the format and not the renderer.

// TestGoldenDocumentsAreAccepted reads what the tests of the renderer hold fast;
// the cards are those of its facts.
func TestGoldenDocumentsAreAccepted(t *testing.T) {
	nics := []netdata.NIC{
		{MAC: "52:54:00:00:00:01"}, {MAC: "52:54:00:00:00:02"}, {MAC: "12:34:56:00:11:22"}, {MAC: "52:54:00:00:00:0a"},
	}
	goldens, err := filepath.Glob("../../../../baremetal/networkdata/testdata/*.golden")
	if err != nil || len(goldens) < 3 {
		t.Fatalf("%d documents: %v", len(goldens), err)
	}
	for _, golden := range goldens {
		t.Run(filepath.Base(golden), func(t *testing.T) {
			raw, err := os.ReadFile(golden)
			expect.NoError(t, err)
			if err := netdata.Accept(raw, nics); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWhateverIsRenderedIsAccepted renders random templates, some of them wrong:
// what the renderer does not refuse, a server comes up with.
func TestWhateverIsRenderedIsAccepted(t *testing.T) {
	const rounds = 1500
	rendered := 0
	for seed := range uint64(rounds) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 4))}
		spec, given := g.template()
		raw, err := networkdata.Render(spec, given)
		if err != nil {
			var pool networkdata.PoolError
			var template networkdata.TemplateError
			var ofLinks utilerrors.Aggregate
			if !errors.As(err, &pool) && !errors.As(err, &template) && !errors.As(err, &ofLinks) && !metadata.IsInterfaceNotFound(err) {
				t.Fatalf("seed %d: an error without a remedy: %v", seed, err)
			}
			continue
		}
		rendered++
		if err := netdata.Accept(raw, g.nics); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, raw)
		}
		again, err := networkdata.Render(spec, given)
		if err != nil || string(again) != string(raw) {
			t.Fatalf("seed %d: a second time it is different: %v", seed, err)
		}
	}
	if rendered < rounds/3 || rendered > rounds*9/10 {
		t.Errorf("%d of %d templates were rendered: the test shows little", rendered, rounds)
	}
}

// generator makes templates, and the facts of a machine that fit most of them.
type generator struct {
	*rand.Rand
	nics  []netdata.NIC
	ids   []string
	spec  infrav1.NetworkData
	given metadata.Facts
}

func (g *generator) template() (*infrav1.NetworkData, metadata.Facts) {
	g.given = metadata.Facts{
		Machine: metav1.ObjectMeta{Name: "machine", Annotations: map[string]string{"pool": "four-1", "mac": "52-54-00-00-01-01"}},
		Host:    hardware.Host{Name: "server"},
	}
	for i := range 1 + g.IntN(4) {
		nic := netdata.NIC{MAC: fmt.Sprintf("52:54:00:00:00:%02x", i)}
		g.nics = append(g.nics, nic)
		g.given.Host.NICs = append(g.given.Host.NICs, hardware.NIC{Name: fmt.Sprintf("eth%d", i), MAC: strings.ToUpper(nic.MAC)})
	}
	g.spec.Links = &infrav1.NetworkDataLink{}
	g.ethernets()
	g.bonds()
	g.vlans()
	g.spec.Networks = &infrav1.NetworkDataNetwork{}
	for i := range g.IntN(5) {
		g.network(i)
	}
	if g.IntN(2) == 0 {
		g.spec.Services = &infrav1.NetworkDataService{DNS: []infrav1.IPAddress{"192.0.2.8", "2001:db8::8"}, DNSFromIPPool: g.pool("four")}
	}
	g.answer()
	return &g.spec, g.given
}

// slip reports whether something is to be wrong now.
func (g *generator) slip() bool { return g.IntN(40) == 0 }

// pick is one of the ids so far, or none of them by a slip.
func (g *generator) pick() string {
	if g.slip() {
		return "missing"
	}
	return g.ids[g.IntN(len(g.ids))]
}

func (g *generator) id(prefix string, i int) string {
	id := fmt.Sprintf("%s%d", prefix, i)
	if g.slip() && len(g.ids) > 0 {
		id = g.ids[0]
	}
	g.ids = append(g.ids, id)
	return id
}

func (g *generator) ethernets() {
	for i := range g.nics {
		source := infrav1.NetworkLinkMAC{FromHostInterface: fmt.Sprintf("eth%d", i)}
		if g.slip() {
			source.FromHostInterface = fmt.Sprintf("eth%d", g.IntN(6))
		}
		link := infrav1.NetworkDataLinkEthernet{ID: g.id("e", i), Type: infrav1.EthernetTypePhy, MACAddress: &source}
		if g.IntN(2) == 0 {
			link.Name, link.MTU = fmt.Sprintf("en%d", i), 9000
		}
		g.spec.Links.Ethernets = append(g.spec.Links.Ethernets, link)
	}
}

// bonds takes the cards two by two.
func (g *generator) bonds() {
	cards := len(g.ids)
	for i := 0; i+1 < cards && g.IntN(2) == 0; i += 2 {
		bond := infrav1.NetworkDataLinkBond{BondMode: infrav1.BondMode8023AD, BondLinks: []string{g.ids[i], g.ids[i+1]}}
		bond.ID = g.id("b", i)
		if g.IntN(2) == 0 {
			bond.BondXmitHashPolicy = infrav1.BondXmitHashPolicyLayer34
			values := []string{"100", `"200"`, "true", "1.5", `"a: b # c"`, `[1]`}
			bond.Parameters = []infrav1.BondParameter{
				{Name: "miimon", Value: &apiextensionsv1.JSON{Raw: []byte(values[g.IntN(len(values))])}},
			}
		}
		if g.slip() {
			bond.BondLinks = append(bond.BondLinks, g.pick())
		}
		g.spec.Links.Bonds = append(g.spec.Links.Bonds, bond)
	}
}

func (g *generator) vlans() {
	for i := range g.IntN(4) {
		vlan := infrav1.NetworkDataLinkVlan{VlanLink: g.pick(), VlanID: ptr.To(int32(100 + g.IntN(20)))}
		if g.slip() {
			*vlan.VlanID = 4095
		}
		vlan.ID = g.id("v", i)
		if g.IntN(3) == 0 {
			vlan.MACAddress = &infrav1.NetworkLinkMAC{FromAnnotation: &infrav1.NetworkLinkMACFromAnnotation{Object: "machine", Annotation: "mac"}}
		}
		g.spec.Links.Vlans = append(g.spec.Links.Vlans, vlan)
	}
}

// pool is a pool of the family, or of the other by a slip.
func (g *generator) pool(family string) string {
	if g.slip() {
		family = map[string]string{"four": "six", "six": "four"}[family]
	}
	return fmt.Sprintf("%s-%d", family, g.IntN(2))
}

func (g *generator) network(i int) {
	id, link, n := fmt.Sprintf("n%d", i), g.pick(), g.spec.Networks
	switch g.IntN(5) {
	case 0:
		n.IPv4 = append(n.IPv4, infrav1.NetworkDataIPv4{ID: id, Link: link, IPAddressFromIPPool: g.pool("four"), Routes: g.routesV4()})
	case 1:
		n.IPv6 = append(n.IPv6, infrav1.NetworkDataIPv6{
			ID: id, Link: link, FromPoolRef: &infrav1.IPPoolReference{Name: g.pool("six")}, Routes: g.routesV6(),
		})
	case 2:
		n.IPv4DHCP = append(n.IPv4DHCP, infrav1.NetworkDataIPv4DHCP{ID: id, Link: link, Routes: g.routesV4()})
	case 3:
		n.IPv6DHCP = append(n.IPv6DHCP, infrav1.NetworkDataIPv6DHCP{ID: id, Link: link, Routes: g.routesV6()})
	default:
		n.IPv4 = append(n.IPv4, infrav1.NetworkDataIPv4{
			ID: id, Link: link, FromPoolAnnotation: &infrav1.FromPoolAnnotation{Object: "machine", Annotation: "pool"},
		})
	}
}

func (g *generator) routesV4() []infrav1.NetworkDataRoutev4 {
	return []infrav1.NetworkDataRoutev4{
		{Network: "0.0.0.0", Gateway: infrav1.NetworkGatewayv4{FromIPPool: g.pool("four")}},
		{
			Network: "198.51.100.0", Prefix: ptr.To(int32(24)), Gateway: infrav1.NetworkGatewayv4{String: "192.0.2.9"},
			Services: &infrav1.NetworkDataServicev4{DNS: []infrav1.IPv4Address{"192.0.2.8"}, DNSFromIPPool: g.pool("four")},
		},
	}[:g.IntN(3)]
}

func (g *generator) routesV6() []infrav1.NetworkDataRoutev6 {
	return []infrav1.NetworkDataRoutev6{
		{Network: "::", Gateway: infrav1.NetworkGatewayv6{FromPoolRef: &infrav1.IPPoolReference{Name: g.pool("six")}}},
		{Network: "2001:db8:1::", Prefix: ptr.To(int32(48)), Gateway: infrav1.NetworkGatewayv6{String: "2001:db8::9"}},
	}[:g.IntN(3)]
}

// answer gives every address that the template asks for.
func (g *generator) answer() {
	asks, _ := ippool.Asks(infrav1.Metal3DataTemplateSpec{NetworkData: &g.spec}, g.given)
	g.given.Addresses = map[metadata.AddressRef]metadata.Address{}
	for i, ask := range asks {
		address := metadata.Address{Address: fmt.Sprintf("192.0.2.%d", 10+i), Prefix: 24, Gateway: "192.0.2.1", DNSServers: []string{"192.0.2.53"}}
		if strings.HasPrefix(ask.Name, "six") {
			address = metadata.Address{Address: fmt.Sprintf("2001:db8::%d", 10+i), Prefix: 64, Gateway: "2001:db8::1"}
		}
		if g.slip() {
			address.Prefix = int32(g.IntN(200))
		}
		g.given.Addresses[ask.Ref()] = address
	}
}
