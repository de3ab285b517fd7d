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

package networkdata_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/networkdata"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// whole reads the largest templates of the renderers as one.
func whole(tb testing.TB) (spec infrav1.Metal3DataTemplateSpec, metaData, networkData []byte) {
	tb.Helper()
	metaData, networkData = read(tb, "../metadata/testdata/full.yaml"), read(tb, "testdata/full.yaml")
	spec.MetaData, spec.NetworkData = &infrav1.MetaData{}, &infrav1.NetworkData{}
	expect.NoError(tb, yaml.UnmarshalStrict(metaData, spec.MetaData))
	expect.NoError(tb, yaml.UnmarshalStrict(networkData, spec.NetworkData))
	return spec, metaData, networkData
}

func paths(tb testing.TB, pattern string) []string {
	tb.Helper()
	found, err := filepath.Glob(pattern)
	expect.Must(tb, err == nil && len(found) != 0, "no %s: %v", pattern, err)
	return found
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(tb, err)
	return text
}

// machine is one that the templates of the renderers fit.
func machine() metadata.Facts {
	return metadata.Facts{
		Namespace: "tenant",
		Machine:   metav1.ObjectMeta{Name: "machine", Annotations: map[string]string{"pool": "four", "bond-mac": "52:54:00:00:00:01"}},
		Metal3Machine: metav1.ObjectMeta{Name: "m3m", Annotations: map[string]string{
			"mac": "52:54:00:00:00:0a", "asset": "7", "pool": "four", "pool6": "six",
		}},
		Host: hardware.Host{
			Name: "server", Namespace: "tenant", BootMACAddress: "52:54:00:00:00:01",
			Annotations: map[string]string{"vlan-mac": "52:54:00:00:07:01", "pool6": "six"},
			NICs:        []hardware.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01"}, {Name: "eth1", MAC: "52:54:00:00:00:02"}},
		},
	}
}

// answer gives every address that is asked for, of the family that is needed.
func answer(asks []ippool.Ask) map[metadata.AddressRef]metadata.Address {
	given := map[metadata.AddressRef]metadata.Address{}
	for i, ask := range asks {
		given[ask.Ref()] = metadata.Address{Address: fmt.Sprintf("192.0.2.%d", 10+i%200), Prefix: 24, Gateway: "192.0.2.1"}
		if ask.Family == ippool.IPv6 {
			given[ask.Ref()] = metadata.Address{Address: fmt.Sprintf("2001:db8::%x", 10+i), Prefix: 64, Gateway: "2001:db8::1"}
		}
	}
	return given
}

// FuzzRender takes any template: nothing panics, what is rendered is YAML without
// repeats, the same each time, and no address is missed that was not asked for.
func FuzzRender(f *testing.F) {
	_, metaData, networkData := whole(f)
	for _, path := range paths(f, "testdata/*.yaml") {
		f.Add(metaData, read(f, path))
	}
	for _, path := range paths(f, "../metadata/testdata/*.yaml") {
		f.Add(read(f, path), networkData)
	}
	f.Add([]byte(`strings: [{key: "a: b", value: "- *x\n# y"}, {key: "yes", value: "0x1"}]`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, metaData, networkData []byte) {
		spec := infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{}, NetworkData: &infrav1.NetworkData{}}
		if yaml.Unmarshal(metaData, spec.MetaData) != nil || yaml.Unmarshal(networkData, spec.NetworkData) != nil {
			return
		}
		given := machine()
		asks, err := ippool.Asks(spec, given)
		if err != nil {
			return
		}
		given.Addresses = answer(asks)
		for _, doc := range metadata.Wanted(spec, "m") {
			content, err := networkdata.Document(doc.Key, spec, given)
			expect.Must(t, !errors.As(err, &metadata.AddressNotFoundError{}), "an address is needed that was not asked for: %v", err)
			if err != nil {
				continue
			}
			var read map[string]any
			if err := yaml.UnmarshalStrict(content, &read); err != nil {
				t.Fatalf("%s: %v\n%s", doc.Key, err, content)
			}
			if again, err := networkdata.Document(doc.Key, spec, given); err != nil || !bytes.Equal(content, again) {
				t.Fatalf("%s: a second time it is different: %v", doc.Key, err)
			}
		}
	})
}

// BenchmarkRender renders both documents of one machine from templates that use
// everything there is; the aim is less than a millisecond.
func BenchmarkRender(b *testing.B) {
	spec, _, _ := whole(b)
	spec.MetaData.IPAddressesFromPool, spec.MetaData.GatewaysFromPool = spec.MetaData.IPAddressesFromPool[:1], spec.MetaData.GatewaysFromPool[:1]
	spec.MetaData.DNSServersFromPool, spec.MetaData.PrefixesFromPool = spec.MetaData.DNSServersFromPool[:1], spec.MetaData.PrefixesFromPool[:1]
	for b.Loop() {
		given := machine()
		asks, err := ippool.Asks(spec, given)
		expect.NoError(b, err)
		given.Addresses = answer(asks)
		for _, doc := range metadata.Wanted(spec, "m") {
			if _, err := networkdata.Document(doc.Key, spec, given); err != nil {
				b.Fatal(err)
			}
		}
	}
}
