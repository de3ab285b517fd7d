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

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/facts"
)

func TestPools(t *testing.T) {
	metal3 := func(name string) Pool { return Pool{Name: name, APIGroup: "ipam.metal3.io", Kind: "IPPool"} }
	other := func(name string) Pool {
		return Pool{Name: name, APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool"}
	}
	tests := map[string]struct {
		spec    string
		want    []Pool
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
			want: []Pool{metal3("p1"), other("p2"), metal3("p3"), metal3("p4")},
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
			want: []Pool{
				metal3("dhcp-gw"), metal3("dns"), metal3("from-annotation"), metal3("slaac-gw"), metal3("v4"),
				metal3("v4-dns"), metal3("v4-gw"), other("v6"), metal3("v6-dns"),
			},
		},
		"a pool that is named twice is asked once, an annotation wins over a name": {
			spec: `
metaData: {ipAddressesFromPool: [{key: a, name: from-annotation}]}
networkData:
  networks:
    ipv4: [{id: a, link: l, ipAddressFromIPPool: unused, fromPoolAnnotation: {object: machine, annotation: pool}}]
`,
			want: []Pool{metal3("from-annotation")},
		},
		"two kinds of pool of one name are refused": {
			spec: `
metaData: {ipAddressesFromPool: [{key: a, name: p}]}
networkData:
  networks:
    ipv4: [{id: a, link: l, fromPoolRef: {name: p, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}}]
`,
			want:    []Pool{metal3("p")},
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
			want:    []Pool{metal3("known")},
			wantErr: `metal3machine "m" has no annotation "pool": set it`,
		},
	}
	given := facts.Facts{
		Machine:       facts.Object{Name: "m", Annotations: map[string]string{"pool": "from-annotation"}},
		Metal3Machine: facts.Object{Name: "m"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var spec infrav1.Metal3DataTemplateSpec
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			got, err := Pools(spec, given)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
			if message := text(err); message != tc.wantErr {
				t.Errorf("error %q, want %q", message, tc.wantErr)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestConflictIsTyped(t *testing.T) {
	_, err := Pools(infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{
		IPAddressesFromPool: []infrav1.FromPool{{Key: "a", Name: "p"}, {Key: "b", Name: "p", Kind: "Other"}},
	}}, facts.Facts{})
	var conflict ConflictError
	if !errors.As(err, &conflict) || conflict.Other.Kind != "Other" {
		t.Errorf("error %v is no conflict", err)
	}
}
