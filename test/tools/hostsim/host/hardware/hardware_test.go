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
	"encoding/json"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func host(namespace, name, mac string) *bmov1alpha1.BareMetalHost {
	return &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       bmov1alpha1.BareMetalHostSpec{BootMACAddress: mac},
	}
}

func TestServersDifferInEveryAddressAndSerialNumber(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range []*bmov1alpha1.BareMetalHost{host("a", "host-0", ""), host("a", "host-1", ""), host("b", "host-0", "02:00:00:00:00:AA")} {
		details := Of(h)
		ids := []string{details.SystemVendor.SerialNumber}
		for _, nic := range details.NIC {
			ids = append(ids, nic.MAC)
		}
		for _, disk := range details.Storage {
			ids = append(ids, disk.SerialNumber, disk.WWN)
		}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%s is there twice", id)
			}
			seen[id] = true
		}
	}
}

func TestServerStaysTheSame(t *testing.T) {
	expect.Equal(t, Of(host("a", "host-0", "02:00:00:00:00:AA")), Of(host("a", "host-0", "02:00:00:00:00:AA")))
}

func TestServerBootsFromTheCardOfItsHost(t *testing.T) {
	if nic := Of(host("a", "host-0", "02:00:00:00:00:AA")).NIC[0]; nic.MAC != "02:00:00:00:00:aa" || !nic.PXE {
		t.Errorf("the first card is %+v", nic)
	}
}

func TestFactsAreAsLargeAsInLife(t *testing.T) {
	text, err := json.Marshal(Of(host("infra", "host-0", "")))
	if err != nil || len(text) < 6500 || len(text) > 8192 {
		t.Errorf("%d bytes, %v, want a little less than 8 KiB", len(text), err)
	}
}
