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

package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/workload"
)

func TestNewMachineFacts(t *testing.T) {
	network := `{"links":[{"id":"eth0","type":"phy","ethernet_mac_address":"00:00:00:00:00:01"}],
"networks":[{"id":"net","type":"ipv4","link":"eth0","ip_address":"10.0.0.7","netmask":"255.255.255.0"}]}`
	tests := map[string]struct {
		change func(*bmov1alpha1.BareMetalHost, *configdrive.Contents)
		want   workload.NodeFacts
	}{
		"takes name from metadata, version from the image, size from inspection, address from DHCP": {
			change: func(*bmov1alpha1.BareMetalHost, *configdrive.Contents) {},
			want: workload.NodeFacts{
				Name: "node-0", KubeletVersion: "v1.36.1", SystemUUID: "uid-of-host", Architecture: "amd64",
				Addresses: []string{"192.168.1.1"}, Capacity: workload.Capacity(4, 8192),
			},
		},
		"prefers static addresses": {
			change: func(host *bmov1alpha1.BareMetalHost, drive *configdrive.Contents) {
				host.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
				drive.NetworkData = network
			},
			want: workload.NodeFacts{
				Name: "node-0", KubeletVersion: "v1.36.1", SystemUUID: "uid-of-host", Architecture: "amd64",
				Addresses: []string{"10.0.0.7"}, Capacity: workload.Capacity(4, 8192),
			},
		},
		"does without inspection": {
			change: func(host *bmov1alpha1.BareMetalHost, drive *configdrive.Contents) {
				host.Status.HardwareDetails = nil
				host.Spec.BootMACAddress = "00:00:00:00:00:01"
				host.Status.Provisioning.Image.URL = "http://images/22.04.1.qcow2"
				drive.NetworkData = network
			},
			want: workload.NodeFacts{
				Name: "node-0", KubeletVersion: "v1.36.1", SystemUUID: "uid-of-host", Architecture: "amd64",
				Addresses: []string{"10.0.0.7"}, Capacity: workload.Capacity(1, 1024),
			},
		},
		"knows ARM": {
			change: func(host *bmov1alpha1.BareMetalHost, _ *configdrive.Contents) {
				host.Status.HardwareDetails.CPU.Arch = "aarch64"
			},
			want: workload.NodeFacts{
				Name: "node-0", KubeletVersion: "v1.36.1", SystemUUID: "uid-of-host", Architecture: "arm64",
				Addresses: []string{"192.168.1.1"}, Capacity: workload.Capacity(4, 8192),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			host := r.host("host-0", "init")
			drive := configdrive.Contents{UserData: string(r.secrets["init"]["value"]), MetaData: "{name: Node-0, providerid: x}"}
			tc.change(host, &drive)
			got, err := newMachine(host, drive)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Node); diff != "" {
				t.Error(diff)
			}
		})
	}
}
