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

package nodes

import (
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		given string
		want  ProviderID
		ok    bool
	}{
		"reads namespace, host and machine": {
			given: "metal3://tenant-a/host-3/a-cp-x7k2p",
			want:  ProviderID{Namespace: "tenant-a", Host: "host-3", Machine: "a-cp-x7k2p"},
			ok:    true,
		},
		"refuses the older format with the UID of the host": {given: "metal3://3f0cbb2e-7c2f-4e5d-9e0a-0a3c4a1f8a11"},
		"refuses an empty part":                             {given: "metal3://tenant-a//a-cp"},
		"refuses a fourth part":                             {given: "metal3://a/b/c/d"},
		"refuses another provider":                          {given: "aws:///eu-west-1a/i-0123"},
		"refuses nothing at all":                            {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseProviderID(tc.given)
			expect.Equal(t, tc.ok, ok)
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestString(t *testing.T) {
	id := ProviderID{Namespace: "tenant-a", Host: "host-3", Machine: "a-cp"}
	if got, want := id.String(), "metal3://tenant-a/host-3/a-cp"; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
	if got, want := id.Path(), "tenant-a/host-3/a-cp"; got != want {
		t.Errorf("Path is %q, want %q", got, want)
	}
}

// FuzzParse proves that what ParseProviderID accepts String gives back, and the other way
// round for every valid ID.
func FuzzParse(f *testing.F) {
	f.Add("tenant-a", "host-3", "a-cp")
	f.Add("", "/", "metal3://a/b/c")
	f.Fuzz(func(t *testing.T, namespace, host, machine string) {
		id := ProviderID{Namespace: namespace, Host: host, Machine: machine}
		got, ok := ParseProviderID(id.String())
		expect.Must(t, ok == id.Valid(), "Parse(%q) accepts: %v, but Valid is %v", id.String(), ok, id.Valid())
		expect.Must(t, !ok || got == id, "Parse(%q) is %+v, want %+v", id.String(), got, id)
		if parsed, ok := ParseProviderID(machine); ok && parsed.String() != machine {
			t.Fatalf("String of ParseProviderID(%q) is %q", machine, parsed.String())
		}
	})
}
