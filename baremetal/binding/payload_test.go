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
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestCheckPayload(t *testing.T) {
	liveISO := "live-iso"
	tests := map[string]struct {
		spec bmov1alpha1.HostClaimSpec
		// refused is the field that is at fault; empty if nothing is.
		refused string
	}{
		"nothing":             {},
		"an image with a sum": {spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: imageURL, Checksum: "abc", ChecksumType: bmov1alpha1.SHA256}}},
		"an image of a registry, which has its own": {
			spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "oci://registry.example.com/os:1"}},
		},
		"a live image, which needs none": {
			spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: imageURL, DiskFormat: &liveISO}},
		},
		"a deploy method": {spec: bmov1alpha1.HostClaimSpec{CustomDeploy: &bmov1alpha1.CustomDeploy{Method: "install"}}},
		"an image without a sum": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: imageURL}}, "spec.image",
		},
		"an image without a sum beside a deploy method": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: imageURL}, CustomDeploy: &bmov1alpha1.CustomDeploy{Method: "m"}}, "spec.image",
		},
		"a sum of a kind that does not exist": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: imageURL, Checksum: "abc", ChecksumType: "crc"}}, "spec.image",
		},
		"an image without a URL": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{Checksum: "abc"}}, "spec.image.url",
		},
		"an image with a relative URL": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "os.raw", Checksum: "abc"}}, "spec.image.url",
		},
		"an image on the disk of whoever fetches it": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "file:///os.raw", Checksum: "abc"}}, "spec.image.url",
		},
		"a path in place of a URL": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "/os.raw", Checksum: "abc"}}, "spec.image.url",
		},
		"a scheme in capitals": {spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "HTTP://images/os.raw", Checksum: "abc"}}},
		"the URL of a sum":     {spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: imageURL, Checksum: "https://images/sums"}}},
		"a broken URL of a sum": {
			bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: imageURL, Checksum: "https://images/%zz"}}, "spec.image.checksum",
		},
		"a deploy method without a name": {
			bmov1alpha1.HostClaimSpec{CustomDeploy: &bmov1alpha1.CustomDeploy{}}, "spec.customDeploy.method",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := CheckPayload(newClaim(func(c *bmov1alpha1.HostClaim) { c.Spec = tt.spec }))
			expect.Must(t, (err != nil) == (tt.refused != ""), "CheckPayload() = %v, want the fault in %q", err, tt.refused)
			expect.That(t, err == nil || strings.HasPrefix(err.Error(), tt.refused+" "), "CheckPayload() = %q, want it to begin with %s", err, tt.refused)
		})
	}
}

func TestPowerLimited(t *testing.T) {
	now := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	host := &bmov1alpha1.BareMetalHost{}
	for i := range MaxPowerChanges + 2 {
		if until, limited := PowerLimited(host, now); limited != (i >= MaxPowerChanges) {
			t.Fatalf("after %d changes limited is %t, until %s", i, limited, until)
		}
		host = PowerChanged(host, now.Add(time.Duration(i-30)*time.Second))
	}
	expect.Equal(t, MaxPowerChanges, strings.Count(host.Annotations[infrav1.PowerChangesAnnotation], ",")+1)
	until, _ := PowerLimited(host, now)
	want := now.Add(PowerWindow - 28*time.Second)
	expect.That(t, until.Equal(want), "limited until %s, want %s", until, want)
	if _, limited := PowerLimited(host, until); limited {
		t.Error("limited when the time is over")
	}
	for what, note := range map[string]string{
		"no times":                  strings.Repeat("x,", 20),
		"times far in the future":   strings.Repeat("2226-01-01T00:00:00Z,", 20),
		"times of a long time back": strings.Repeat("2026-01-01T11:00:00Z,", 20),
	} {
		host.Annotations[infrav1.PowerChangesAnnotation] = note
		if _, limited := PowerLimited(host, now); limited {
			t.Errorf("%s limit", what)
		}
	}
	WithoutWork(host)
	_, found := host.Annotations[infrav1.PowerChangesAnnotation]
	expect.That(t, !found, "the note stays on a host that is released")
}
