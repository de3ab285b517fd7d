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

package metadata

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var update = flag.Bool("update", false, "write the golden files")

func known() Facts {
	return Facts{
		Namespace: "tenant",
		Index:     2,
		Machine:   metav1.ObjectMeta{Name: "machine"},
		Metal3Machine: metav1.ObjectMeta{
			Name: "m3m", Annotations: map[string]string{"asset": "0x2a"},
		},
		Host: hardware.Host{
			Name: "server", Namespace: "infra", BootMACAddress: "12:34:56:00:11:22",
			Labels: map[string]string{"rack": "a1"},
			NICs:   []hardware.NIC{{Name: "eth1", MAC: "52:54:00:00:00:01"}},
		},
		Addresses: map[AddressRef]Address{
			{Pool: "pool"}:  {Address: "192.0.2.10", Prefix: 24, Gateway: "192.0.2.1", DNSServers: []string{"192.0.2.53", "192.0.2.54"}},
			{Pool: "blunt"}: {Address: "192.0.2.11"},
			{Pool: "six"}:   {Address: "2001:db8::10", Prefix: 64},
		},
	}
}

// TestGolden renders each testdata/*.yaml and compares it with the golden file
// beside it; run with -update to accept what changed.
func TestGolden(t *testing.T) {
	expect.Rendered(t, *update, func(t *testing.T, input []byte) string {
		t.Helper()
		var spec infrav1.MetaData
		expect.NoError(t, yaml.UnmarshalStrict(input, &spec))
		got, err := Render(&spec, known())
		expect.NoError(t, err)
		var strict map[string]string
		expect.NoError(t, yaml.UnmarshalStrict(got, &strict))
		return string(got)
	})
}

func TestValues(t *testing.T) {
	tests := map[string]struct {
		spec   *infrav1.MetaData
		change func(*Facts)
		want   map[string]string
	}{
		"a host of the machine's own namespace keeps its name": {
			change: func(f *Facts) { f.Host.Namespace = "tenant" },
			want:   map[string]string{"providerid": "tenant/server/m3m"},
		},
		"a host of another cluster takes the name of its machine": {
			change: func(f *Facts) { f.Host.Namespace, f.RemoteHost = "tenant", true },
			want: map[string]string{
				"name": "m3m", "local-hostname": "m3m", "local_hostname": "m3m", "metal3-namespace": "tenant",
				"providerid": "tenant/server/m3m",
			},
		},
		"indexes do not overflow": {
			spec: &infrav1.MetaData{Indexes: []infrav1.MetaDataIndex{{Key: "i", Offset: ptr.To[int32](2147483647), Step: 2147483647}}},
			change: func(f *Facts) {
				f.Host.Namespace, f.Index = "tenant", 2147483647
			},
			want: map[string]string{"i": "4611686016279904256", "providerid": "tenant/server/m3m"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			given := known()
			tc.change(&given)
			got, err := Values(tc.spec, given)
			expect.NoError(t, err)
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	tests := map[string]struct {
		spec   infrav1.MetaData
		change func(*Facts)
		want   string
	}{
		"an interface that the host does not have": {
			spec: infrav1.MetaData{FromHostInterfaces: []infrav1.MetaDataHostInterface{{Key: "mac", Interface: "eth7"}}},
			want: `metaData.fromHostInterfaces[mac]: the host has no network interface "eth7" (it has: eth1): name one of those in a new Metal3DataTemplate, or select hosts that have it`,
		},
		"the boot MAC address of a host without": {
			spec:   infrav1.MetaData{FromHostInterfaces: []infrav1.MetaDataHostInterface{{Key: "mac", FromBootMAC: ptr.To(true)}}},
			change: func(f *Facts) { f.Host.BootMACAddress = "" },
			want:   `metaData.fromHostInterfaces[mac]: host "server" has no boot MAC address: set spec.bootMACAddress of the BareMetalHost`,
		},
		"a pool that has not answered": {
			spec: infrav1.MetaData{PrefixesFromPool: []infrav1.FromPool{{Key: "p", Name: "slow"}}},
			want: `metaData.prefixesFromPool[p]: pool "slow" has not given an address yet`,
		},
		"a host that is not known": {
			change: func(f *Facts) { f.Host = hardware.Host{} },
			want:   `provider ID "tenant//m3m" is incomplete: the host is not known yet`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			given := known()
			if tc.change != nil {
				tc.change(&given)
			}
			got, err := Render(&tc.spec, given)
			expect.Must(t, err != nil, "rendered:\n%s", got)
			expect.Equal(t, tc.want, err.Error())
		})
	}
}

// FuzzRender reads templates from YAML: rendering panics for none of them, and its result is keys
// and string values.
func FuzzRender(f *testing.F) {
	inputs, err := filepath.Glob("testdata/*.yaml")
	expect.NoError(f, err)
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		expect.NoError(f, err)
		f.Add(text, "server", "label")
	}
	f.Fuzz(func(t *testing.T, text []byte, host, label string) {
		var spec infrav1.MetaData
		if err := yaml.Unmarshal(text, &spec); err != nil {
			return
		}
		given := known()
		given.Host.Name, given.Host.Labels["rack"] = host, label
		rendered, err := Render(&spec, given)
		if err != nil {
			return
		}
		var values map[string]string
		if err := yaml.UnmarshalStrict(rendered, &values); err != nil {
			t.Errorf("%v:\n%s", err, rendered)
		}
	})
}

func TestWanted(t *testing.T) {
	tests := map[string]struct {
		spec infrav1.Metal3DataTemplateSpec
		want []Document
	}{
		"nothing": {},
		"an empty list is asked for, too": {
			spec: infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{}, NetworkData: &infrav1.NetworkData{}},
			want: []Document{{Key: "metaData", Secret: "m-metadata"}, {Key: "networkData", Secret: "m-networkdata"}},
		},
		"only what the template speaks of": {
			spec: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{}},
			want: []Document{{Key: "networkData", Secret: "m-networkdata"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Wanted(tc.spec, "m")) })
	}
}
