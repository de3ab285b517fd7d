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

package webhooks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func TestDefaultCluster(t *testing.T) {
	tests := map[string]struct{ given, want infrav1.Metal3ClusterSpec }{
		"a host without a port gets the usual one": {
			given: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1"}},
			want: infrav1.Metal3ClusterSpec{
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}, CloudProviderEnabled: ptr.To(false),
			},
		},
		"what is given stays": {
			given: infrav1.Metal3ClusterSpec{
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 443}, CloudProviderEnabled: ptr.To(true),
			},
			want: infrav1.Metal3ClusterSpec{
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 443}, CloudProviderEnabled: ptr.To(true),
			},
		},
		"an endpoint that somebody else sets stays empty": {
			want: infrav1.Metal3ClusterSpec{CloudProviderEnabled: ptr.To(false)},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := &infrav1.Metal3Cluster{Spec: tc.given}
			if err := (Cluster{}).Default(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, cluster.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplateProblems(t *testing.T) {
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
		"a network needs a link that exists": {
			given: network(infrav1.NetworkDataLink{Ethernets: ethernets}, infrav1.NetworkDataNetwork{
				IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "a", Link: "eth9"}},
			}),
			want: []string{`spec.networkData.networks.ipv4DHCP[0].link: Not found: "eth9": no link has this id; there are: eth0, eth1`},
		},
		"a network needs a link even if there is none": {
			given: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{Networks: &infrav1.NetworkDataNetwork{
				IPv6: []infrav1.NetworkDataIPv6{{ID: "a", Link: "eth0"}},
			}}},
			want: []string{`spec.networkData.networks.ipv6[0].link: Not found: "eth0": no link has this id; there are: none`},
		},
		"bonds and VLANs need links that exist": {
			given: network(infrav1.NetworkDataLink{
				Ethernets: ethernets,
				Bonds:     []infrav1.NetworkDataLinkBond{{ID: "bond0", BondLinks: []string{"eth0", "eth7"}}},
				Vlans:     []infrav1.NetworkDataLinkVlan{{ID: "vlan1", VlanLink: "bond9"}},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.bonds[0].bondLinks[1]: Not found: "eth7": no link has this id; there are: eth0, eth1, bond0, vlan1`,
				`spec.networkData.links.vlans[0].vlanLink: Not found: "bond9": no link has this id; there are: eth0, eth1, bond0, vlan1`,
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
				`spec.networkData.links.vlans[0].id: Duplicate value: "eth1"`,
				`spec.networkData.networks.ipv6DHCP[0].id: Duplicate value: "n"`,
			},
		},
		"no link rests on itself": {
			given: network(infrav1.NetworkDataLink{
				Bonds: []infrav1.NetworkDataLinkBond{{ID: "bond0", BondLinks: []string{"vlan1"}}},
				Vlans: []infrav1.NetworkDataLinkVlan{{ID: "vlan1", VlanLink: "bond0"}},
			}, infrav1.NetworkDataNetwork{}),
			want: []string{
				`spec.networkData.links.bonds[0].bondLinks[0]: Invalid value: "vlan1": this link rests on itself`,
				`spec.networkData.links.vlans[0].vlanLink: Invalid value: "bond0": this link rests on itself`,
			},
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
		"a pool that an annotation names is nobody's problem yet": {
			given: network(infrav1.NetworkDataLink{Ethernets: ethernets}, infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{{
				ID: "a", Link: "eth0", FromPoolAnnotation: &infrav1.FromPoolAnnotation{Object: "machine", Annotation: "pool"},
			}}}),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, problem := range templateProblems(tc.given, field.NewPath("spec")) {
				got = append(got, problem.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDataTemplate(t *testing.T) {
	good := &infrav1.Metal3DataTemplate{Spec: infrav1.Metal3DataTemplateSpec{ClusterName: ptr.To("a")}}
	bad := &infrav1.Metal3DataTemplate{Spec: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{
		Networks: &infrav1.NetworkDataNetwork{IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "a", Link: "eth0"}}},
	}}}
	dying := bad.DeepCopy()
	dying.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	tests := map[string]struct {
		old, template *infrav1.Metal3DataTemplate
		warns         int
		refused       bool
	}{
		"creating a good one warns of what is out of use":               {template: good, warns: 1},
		"creating a bad one is refused":                                 {template: bad, refused: true},
		"making one bad is refused":                                     {old: good, template: bad, refused: true},
		"one that was bad before may get a label":                       {old: bad, template: bad},
		"one that is being deleted may lose its finalizer, however bad": {old: good, template: dying},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validate := func() (admission.Warnings, error) { return DataTemplate{}.ValidateCreate(t.Context(), tc.template) }
			if tc.old != nil {
				validate = func() (admission.Warnings, error) {
					return DataTemplate{}.ValidateUpdate(t.Context(), tc.old, tc.template)
				}
			}
			warnings, err := validate()
			if apierrors.IsInvalid(err) != tc.refused {
				t.Errorf("error is %v, refused should be %v", err, tc.refused)
			}
			if len(warnings) != tc.warns {
				t.Errorf("warnings are %v, want %d", warnings, tc.warns)
			}
		})
	}
	if _, err := (DataTemplate{}).ValidateDelete(t.Context(), bad); err != nil {
		t.Errorf("deletion is refused: %v", err)
	}
}
