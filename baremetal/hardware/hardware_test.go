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

package hardware

import (
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestFromHardwareData(t *testing.T) {
	tests := map[string]struct {
		given *bmov1alpha1.HardwareData
		want  Host
	}{
		"nothing published is a host without facts": {},
		"facts come from annotations and hardware details, keys of the boundary are hidden": {
			given: &bmov1alpha1.HardwareData{
				ObjectMeta: metav1.ObjectMeta{
					Name: "m-0-hostclaim", Namespace: "tenant",
					Labels: map[string]string{"rack": "a1", "hostclaim.metal3.io/claim-uid": "u"},
					Annotations: map[string]string{
						infrav1.HostNameAnnotation:          "server-1",
						infrav1.HostNamespaceAnnotation:     "infra",
						infrav1.HostUIDAnnotation:           "1234",
						infrav1.BootMACAddressAnnotation:    "52:54:00:00:00:01",
						infrav1.HostFailureDomainAnnotation: "row-1",
						"example.com/asset":                 "42",
					},
				},
				Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
					Hostname: "server-1.example.com", RAMMebibytes: 65536, CPU: bmov1alpha1.CPU{Count: 32, Arch: "x86_64"},
					NIC: []bmov1alpha1.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01", IP: "192.0.2.10"}},
				}},
			},
			want: Host{
				Name: "server-1", Namespace: "infra", UID: "1234",
				BootMACAddress: "52:54:00:00:00:01", FailureDomain: "row-1", Hostname: "server-1.example.com",
				Labels:      map[string]string{"rack": "a1"},
				Annotations: map[string]string{"example.com/asset": "42"},
				NICs:        []NIC{{Name: "eth0", MAC: "52:54:00:00:00:01", IP: "192.0.2.10"}},
				CPUs:        32, MemoryMebibytes: 65536, Architecture: "x86_64",
			},
		},
		"what cannot become a label of a Node or a failure domain is not known": {
			given: &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				infrav1.HostUIDAnnotation: "not a label", infrav1.HostFailureDomainAnnotation: strings.Repeat("x", 257),
			}}},
		},
		"a host without inspection results still has its name": {
			given: &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
				Annotations: map[string]string{infrav1.HostNameAnnotation: "server-1"},
			}},
			want: Host{Name: "server-1"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tc.want, FromHardwareData(tc.given))
			if tc.given == nil {
				return
			}
			Strip(tc.given)
			expect.Equal(t, tc.want, FromHardwareData(tc.given))
		})
	}
}

func TestStripDropsWhatIsNotRead(t *testing.T) {
	data := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
		SystemVendor: bmov1alpha1.HardwareSystemVendor{Manufacturer: "m"},
		Firmware:     bmov1alpha1.Firmware{BIOS: bmov1alpha1.BIOS{Version: "1"}},
		CPU:          bmov1alpha1.CPU{Count: 2, Model: "m", Flags: []string{"fpu"}},
		Storage:      []bmov1alpha1.Storage{{Name: "/dev/sda"}},
		NIC:          []bmov1alpha1.NIC{{Name: "eth0", Model: "m", VLANs: []bmov1alpha1.VLAN{{ID: 1}}}},
	}}}
	Strip(data)
	want := bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
		CPU: bmov1alpha1.CPU{Count: 2}, NIC: []bmov1alpha1.NIC{{Name: "eth0"}},
	}}
	expect.Equal(t, want, data.Spec)
}

func TestInterfaces(t *testing.T) {
	host := Host{NICs: []NIC{
		{Name: "eth1", MAC: "52:54:00:00:00:02"},
		{Name: "eth0", MAC: "52:54:00:00:00:01", IP: "192.0.2.1"},
		{Name: "eth0", MAC: "52:54:00:00:00:01", IP: "2001:db8::1"},
		{Name: "ib0"},
		{MAC: "52:54:00:00:00:09"},
	}}
	expect.Equal(t, []string{"eth0", "eth1", "ib0"}, host.Interfaces())
	if mac, ok := host.MAC("eth1"); !ok || mac != "52:54:00:00:00:02" {
		t.Errorf("eth1 has MAC %q, %v", mac, ok)
	}
	if _, ok := host.MAC("eth9"); ok {
		t.Error("an interface that is not there has a MAC address")
	}
	if _, ok := host.MAC("ib0"); ok {
		t.Error("an interface without a MAC address has one")
	}
}

func TestAddresses(t *testing.T) {
	ip := func(address string) clusterv1.MachineAddress {
		return clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address}
	}
	var many []NIC
	var manyIPs []clusterv1.MachineAddress
	for i := range 40 {
		many = append(many, NIC{IP: fmt.Sprintf("192.0.2.%d", i)})
		if i < 30 {
			manyIPs = append(manyIPs, ip(fmt.Sprintf("192.0.2.%d", i)))
		}
	}
	names := []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: "server-1"},
		{Type: clusterv1.MachineInternalDNS, Address: "server-1"},
	}
	tests := map[string]struct {
		given Host
		node  string
		want  []clusterv1.MachineAddress
	}{
		"the Node's name is the Hostname, where the host has another one": {
			given: Host{Hostname: "server-1"}, node: "a-cp-1",
			want: []clusterv1.MachineAddress{
				{Type: clusterv1.MachineHostName, Address: "a-cp-1"}, {Type: clusterv1.MachineInternalDNS, Address: "server-1"},
			},
		},
		"the Node's name is the Hostname, where the host has none": {
			node: "a-cp-1", want: []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: "a-cp-1"}},
		},
		"nothing is known of a host without facts": {},
		"each address once, in the order of the inspection, then the names": {
			given: Host{Hostname: "server-1", NICs: []NIC{
				{IP: "192.0.2.2"}, {IP: "2001:db8::1"}, {IP: "192.0.2.2"}, {IP: ""},
			}},
			want: append([]clusterv1.MachineAddress{ip("192.0.2.2"), ip("2001:db8::1")}, names...),
		},
		"surplus addresses make room for the names": {
			given: Host{Hostname: "server-1", NICs: many},
			want:  append(manyIPs, names...),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Addresses(tc.given, tc.node)) })
	}
}

// TestAddressesThatFit shows that what a Metal3Machine cannot hold is left out.
func TestAddressesThatFit(t *testing.T) {
	long := strings.Repeat("x", 257)
	host := Host{Hostname: long, NICs: []NIC{{IP: long}, {IP: "192.0.2.1"}}}
	want := []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "192.0.2.1"}}
	expect.Equal(t, want, Addresses(host, ""))
}
