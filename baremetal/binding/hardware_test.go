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

package binding

import (
	"encoding/json"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func hardware(changes ...func(*bmov1alpha1.HardwareDetails)) *bmov1alpha1.HardwareDetails {
	h := &bmov1alpha1.HardwareDetails{
		Hostname: "host-0", RAMMebibytes: 1024, NIC: []bmov1alpha1.NIC{{Name: "eth0", MAC: "02:00:00:00:00:01"}},
	}
	for _, change := range changes {
		change(h)
	}
	return h
}

func reported(details *bmov1alpha1.HardwareDetails) *bmov1alpha1.BareMetalHost {
	return newHost(func(h *bmov1alpha1.BareMetalHost) { h.Status.HardwareDetails = details })
}

func TestHashStandsForTheHardware(t *testing.T) {
	host := reported(hardware())
	want, found := HardwareHash(host)
	expect.Must(t, found, "no hash of reported hardware")
	for range 2 { // the transforms of a cache may be applied twice
		StripHost(host)
		if got, found := HardwareHash(host); got != want || !found || host.Status.HardwareDetails != nil {
			t.Errorf("stripped: hash %q, %t, want %q", got, found, want)
		}
	}
	facts := HardwareData(newClaim(), reported(hardware()), nil, nil)
	expect.Equal(t, want, FactsHash(facts))
	for range 2 {
		StripFacts(facts)
		if got := FactsHash(facts); got != want || facts.Spec.HardwareDetails.RAMMebibytes != 0 {
			t.Errorf("stripped facts: hash %q, want %q", got, want)
		}
	}
	host.Status.HardwareDetails = hardware(func(h *bmov1alpha1.HardwareDetails) { h.RAMMebibytes = 2048 })
	if got, _ := HardwareHash(host); got == want {
		t.Error("the hash does not change with the hardware")
	}
}

func TestHashIsTheSameAfterATripThroughTheAPI(t *testing.T) {
	given := reported(hardware(func(h *bmov1alpha1.HardwareDetails) {
		h.Storage, h.CPU = []bmov1alpha1.Storage{}, bmov1alpha1.CPU{ClockMegahertz: 2100.5, Flags: []string{}}
	}))
	text, err := json.Marshal(HardwareData(newClaim(), given, nil, nil))
	expect.NoError(t, err)
	back := &bmov1alpha1.HardwareData{}
	expect.NoError(t, json.Unmarshal(text, back))
	want, _ := HardwareHash(given)
	expect.Equal(t, want, FactsHash(back))
}

func TestWhatIsNoHash(t *testing.T) {
	for name, host := range map[string]*bmov1alpha1.BareMetalHost{
		"a host without hardware": reported(nil),
		"a hardware profile": newHost(func(h *bmov1alpha1.BareMetalHost) {
			h.Status.HardwareProfile = "unknown"
		}),
	} {
		if hash, found := HardwareHash(host); found {
			t.Errorf("%s has the hash %q", name, hash)
		}
		StripHost(host)
		if hash, found := HardwareHash(host); found {
			t.Errorf("%s has the hash %q once it is stripped", name, hash)
		}
	}
	// A name that looks like a hash beside other hardware is a name.
	named := &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{
		HardwareDetails: hardware(func(h *bmov1alpha1.HardwareDetails) { h.Hostname = hashPrefix + "x" }),
	}}
	expect.That(t, FactsHash(named) != hashPrefix+"x", "takes the name of a server for a hash")
	expect.That(t, FactsHash(&bmov1alpha1.HardwareData{}) != FactsHash(named), "facts without hardware equal others")
}
