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

package configdrive

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func host(spec bmov1alpha1.BareMetalHostSpec) *bmov1alpha1.BareMetalHost {
	return &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "host-0", UID: "uid-0"}, Spec: spec}
}

func ref(namespace, name string) *corev1.SecretReference {
	return &corev1.SecretReference{Namespace: namespace, Name: name}
}

func TestSourcesOf(t *testing.T) {
	none := Source{Key: "networkData", Optional: true}
	tests := map[string]struct {
		given bmov1alpha1.BareMetalHostSpec
		want  Sources
	}{
		"names a key for every part even without references": {
			want: Sources{UserData: Source{Key: "userData"}, MetaData: Source{Key: "metaData"}, NetworkData: none},
		},
		"takes secrets next to the host, named with or without namespace": {
			given: bmov1alpha1.BareMetalHostSpec{UserData: ref("", "u"), MetaData: ref("infra", "m"), NetworkData: ref("infra", "n")},
			want: Sources{
				UserData: Source{Secret: "u", Key: "userData"}, MetaData: Source{Secret: "m", Key: "metaData"},
				NetworkData: Source{Secret: "n", Key: "networkData", Optional: true},
			},
		},
		"falls back to the network data of the preprovisioning image": {
			given: bmov1alpha1.BareMetalHostSpec{PreprovisioningNetworkDataName: "p"},
			want: Sources{
				UserData: Source{Key: "userData"}, MetaData: Source{Key: "metaData"},
				NetworkData: Source{Secret: "p", Key: "networkData", Optional: true},
			},
		},
		"remembers a foreign namespace": {
			given: bmov1alpha1.BareMetalHostSpec{UserData: ref("tenant", "u")},
			want: Sources{
				UserData: Source{Secret: "u", Key: "userData", foreign: "tenant"},
				MetaData: Source{Key: "metaData"}, NetworkData: none,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, SourcesOf(host(tc.given)), cmp.AllowUnexported(Source{})) })
	}
}

func TestPick(t *testing.T) {
	required := Source{Secret: "s", Key: "metaData"}
	tests := map[string]struct {
		source  Source
		data    map[string][]byte
		want    string
		wantErr string
	}{
		"prefers its own key":                   {source: required, data: map[string][]byte{"metaData": []byte("a"), "value": []byte("b")}, want: "a"},
		"falls back to the key value":           {source: required, data: map[string][]byte{"value": []byte("b")}, want: "b"},
		"names secret and key that are missing": {source: required, wantErr: `secret "s", key "metaData": the secret has neither this key nor "value"`},
		"takes a missing optional key as empty": {source: Source{Secret: "s", Key: "networkData", Optional: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tc.source.Pick(tc.data)
			expect.Equal(t, []string{tc.want, tc.wantErr}, []string{string(got), message(err)})
		})
	}
}

func TestCheck(t *testing.T) {
	expect.NoError(t, (Source{Secret: "s", Key: "userData"}).Check())
	want := `secret "s", key "userData": the reference names namespace "tenant", but the secret must be next to the host`
	expect.Equal(t, want, message((Source{Secret: "s", Key: "userData", foreign: "tenant"}).Check()))
}

func TestMetaData(t *testing.T) {
	defaults := func(over map[string]any) map[string]any {
		all := map[string]any{
			"uuid": "uid-0", "name": "host-0", "local-hostname": "host-0", "local_hostname": "host-0",
			"metal3-namespace": "infra", "metal3-name": "host-0",
		}
		maps.Copy(all, over)
		return all
	}
	tests := map[string]struct {
		given   string
		want    map[string]any
		wantErr bool
	}{
		"describes the host without metadata of its own": {want: defaults(nil)},
		"puts YAML over the defaults key by key": {
			given: "name: node-0\nproviderid: a/b/c\nindex: 3\n",
			want:  defaults(map[string]any{"name": "node-0", "providerid": "a/b/c", "index": float64(3)}),
		},
		"reads JSON as well":          {given: `{"uuid":"other"}`, want: defaults(map[string]any{"uuid": "other"})},
		"refuses what is not a map":   {given: "- a", wantErr: true},
		"refuses what is not YAML":    {given: "a: [", wantErr: true},
		"takes an empty map as empty": {given: "{}", want: defaults(nil)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := MetaData(host(bmov1alpha1.BareMetalHostSpec{}), []byte(tc.given))
			if (err != nil) != tc.wantErr {
				t.Fatal(err)
			}
			expect.Equal(t, tc.want, got)
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFirstBoot(t *testing.T) {
	type boot struct {
		Hostname string
		Commands []string
		Failed   bool
	}
	tests := map[string]struct {
		drive Contents
		want  boot
	}{
		"of an image alone is named after the host": {Contents{}, boot{Hostname: "host-0"}},
		"takes its name from the metadata, and runs what the user data says": {
			Contents{MetaData: "local-hostname: node-0", UserData: "## template: jinja\n#cloud-config\nruncmd:\n- hostname {{ ds.meta_data.local_hostname }}\n"},
			boot{Hostname: "node-0", Commands: []string{"hostname host-0"}},
		},
		"is named by its user data before its metadata": {
			Contents{MetaData: "local-hostname: node-0", UserData: "#cloud-config\nhostname: build-1\n"}, boot{Hostname: "build-1"},
		},
		"runs what Ignition sets up": {
			Contents{MetaData: "local-hostname: node-0", UserData: `{"ignition": {"version": "2.3.0"}, "systemd": {"units": [{"enabled": true, "contents": "ExecStart=/bin/true"}]}}`},
			boot{Hostname: "node-0", Commands: []string{"/bin/true"}},
		},
		"gives up on user data that is no cloud-config": {
			Contents{UserData: "#!/bin/sh\n"}, boot{Hostname: "host-0", Failed: true},
		},
		"gives up on metadata that is no map": {Contents{MetaData: "- a"}, boot{Hostname: "host-0", Failed: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			config, hostname, err := FirstBoot(host(bmov1alpha1.BareMetalHostSpec{}), tc.drive)
			expect.Equal(t, tc.want, boot{Hostname: hostname, Commands: config.Commands, Failed: err != nil})
		})
	}
}
