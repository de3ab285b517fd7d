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

package ippool

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestAsks(t *testing.T) {
	metal3 := func(name, family string) Ask {
		return Ask{Pool: Pool{Name: name, APIGroup: "ipam.metal3.io", Kind: "IPPool"}, Family: family}
	}
	other := func(name, family string) Ask {
		return Ask{Pool: Pool{Name: name, APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool"}, Family: family}
	}
	own := func(ask Ask, network string) Ask {
		ask.Network = network
		return ask
	}
	tests := map[string]struct {
		spec    string
		want    []Ask
		wantErr string
	}{
		"a template without pools asks none": {spec: "metaData: {strings: [{key: a, value: b}]}\nnetworkData: {}"},
		"every list of the metadata names pools, with kind and group": {
			spec: `
metaData:
  ipAddressesFromPool: [{key: a, name: p1}]
  prefixesFromPool: [{key: b, name: p2, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}]
  gatewaysFromPool: [{key: c, name: p3}]
  dnsServersFromPool: [{key: d, name: p4}]
`,
			want: []Ask{metal3("p1", ""), other("p2", ""), metal3("p3", ""), metal3("p4", "")},
		},
		"every kind of network names pools, by name, by reference and by annotation": {
			spec: `
networkData:
  services: {dnsFromIPPool: dns}
  networks:
    ipv4:
    - {id: a, link: l, ipAddressFromIPPool: v4, routes: [{network: 0.0.0.0, gateway: {fromIPPool: v4-gw}, services: {dnsFromIPPool: v4-dns}}]}
    ipv6:
    - {id: b, link: l, fromPoolRef: {name: v6, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}, routes: [{network: "::", gateway: {string: "::1", fromIPPool: unused}, services: {dnsFromIPPool: v6-dns}}]}
    ipv4DHCP:
    - {id: c, link: l, routes: [{network: 0.0.0.0, gateway: {fromPoolAnnotation: {object: machine, annotation: pool}}}]}
    ipv6DHCP:
    - {id: d, link: l, routes: [{network: "::", gateway: {fromIPPool: dhcp-gw}}]}
    ipv6SLAAC:
    - {id: e, link: l, routes: [{network: "::", gateway: {fromPoolRef: {name: slaac-gw}}}]}
`,
			want: []Ask{
				metal3("dhcp-gw", "ipv6"), metal3("dns", ""), metal3("from-annotation", "ipv4"), metal3("slaac-gw", "ipv6"),
				metal3("v4", "ipv4"), metal3("v4-dns", ""), metal3("v4-gw", "ipv4"), other("v6", "ipv6"), metal3("v6-dns", ""),
			},
		},
		"a pool that is named twice is asked once, an annotation wins over a name": {
			spec: `
metaData: {ipAddressesFromPool: [{key: a, name: from-annotation}]}
networkData:
  networks:
    ipv4: [{id: a, link: l, ipAddressFromIPPool: unused, fromPoolAnnotation: {object: machine, annotation: pool}}]
`,
			want: []Ask{metal3("from-annotation", "ipv4")},
		},
		"two kinds of pool of one name are refused": {
			spec: `
metaData: {ipAddressesFromPool: [{key: a, name: p}]}
networkData:
  networks:
    ipv4: [{id: a, link: l, fromPoolRef: {name: p, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}}]
`,
			want:    []Ask{metal3("p", "")},
			wantErr: `two pools of one name, IPPool.ipam.metal3.io "p" and InClusterIPPool.ipam.cluster.x-k8s.io "p": give one of them another name, and name it in a new Metal3DataTemplate`,
		},
		"an annotation that is missing is told, the other pools are known": {
			spec: `
networkData:
  networks:
    ipv4:
    - {id: a, link: l, fromPoolAnnotation: {object: metal3machine, annotation: pool}}
    - {id: b, link: l, ipAddressFromIPPool: known}
`,
			want:    []Ask{metal3("known", "ipv4")},
			wantErr: `networkData.networks.ipv4[a]: metal3machine "m" has no annotation "pool": set it`,
		},
		"a gateway whose annotation is missing is told with its route": {
			spec: `
networkData:
  networks:
    ipv6DHCP: [{id: a, link: l, routes: [{network: "::", gateway: {fromPoolAnnotation: {object: metal3machine, annotation: pool}}}]}]
`,
			wantErr: `networkData.networks.ipv6DHCP[a].routes[0].gateway: metal3machine "m" has no annotation "pool": set it`,
		},
		"each network on a pool asks for an address of its own, and the metadata speaks of the first": {
			spec: `
metaData: {ipAddressesFromPool: [{key: a, name: p}]}
networkData:
  networks:
    ipv4:
    - {id: first, link: l, ipAddressFromIPPool: p, routes: [{network: 0.0.0.0, gateway: {fromIPPool: p}}]}
    - {id: second, link: m, fromPoolRef: {name: p}, routes: [{network: 192.0.2.0, gateway: {fromIPPool: p}}]}
    - {id: annotated, link: l, fromPoolAnnotation: {object: machine, annotation: pool}}
    - {id: third, link: m, ipAddressFromIPPool: from-annotation}
`,
			want: []Ask{
				metal3("from-annotation", "ipv4"), own(metal3("from-annotation", "ipv4"), "third"),
				metal3("p", "ipv4"), own(metal3("p", "ipv4"), "second"),
			},
		},
		"two claims of one name are refused": {
			spec: `
networkData:
  networks:
    ipv4:
    - {id: a, link: l, ipAddressFromIPPool: p}
    - {id: x, link: l, ipAddressFromIPPool: p}
    - {id: b, link: l, ipAddressFromIPPool: p-x}
`,
			want: []Ask{metal3("p", "ipv4"), own(metal3("p", "ipv4"), "x"), metal3("p-x", "ipv4")},
			wantErr: `IPPool.ipam.metal3.io "p" for network "x" and IPPool.ipam.metal3.io "p-x" would be asked by claims of one name: ` +
				`give the network another id in a new Metal3DataTemplate`,
		},
	}
	given := metadata.Facts{
		Machine:       metav1.ObjectMeta{Name: "m", Annotations: map[string]string{"pool": "from-annotation"}},
		Metal3Machine: metav1.ObjectMeta{Name: "m"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var spec infrav1.Metal3DataTemplateSpec
			expect.NoError(t, yaml.UnmarshalStrict([]byte(tc.spec), &spec))
			got, err := Asks(spec, given)
			expect.Equal(t, tc.want, got)
			expect.Equal(t, tc.wantErr, textOf(err))
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestContradictions(t *testing.T) {
	missing := infrav1.NetworkDataIPv4{ID: "n", FromPoolAnnotation: &infrav1.FromPoolAnnotation{Object: "machine", Annotation: "pool"}}
	spec := infrav1.Metal3DataTemplateSpec{
		MetaData: &infrav1.MetaData{
			IPAddressesFromPool: []infrav1.FromPool{{Key: "a", Name: "p"}, {Key: "b", Name: "p", Kind: "Other"}, {Key: "c", Name: "p", Kind: "Other"}},
		},
		NetworkData: &infrav1.NetworkData{Networks: &infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{missing}}},
	}
	if got := Contradictions(spec); len(got) != 1 || !errors.As(got[0], &ConflictError{}) {
		t.Errorf("%v, want the conflict once and nothing that a machine could mend", got)
	}
	spec.MetaData = nil
	if got := Contradictions(spec); len(got) > 0 {
		t.Error(got)
	}
}
