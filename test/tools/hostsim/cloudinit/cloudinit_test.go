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

package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		given   string
		want    Config
		wantErr string
	}{
		"reads plain files and commands": {
			given: "#cloud-config\nwrite_files:\n- path: /a\n  permissions: '0640'\n  content: |\n    one\n    two\nruncmd:\n- echo 1\n- [echo, two]\n",
			want:  Config{Files: map[string][]byte{"/a": []byte("one\ntwo\n")}, Commands: []string{"echo 1", "echo two"}},
		},
		"decodes base64 over several lines": {
			given: "#cloud-config\nwrite_files:\n- {path: /a, encoding: base64, content: \"aGVs\\nbG8=\"}\n",
			want:  Config{Files: map[string][]byte{"/a": []byte("hello")}},
		},
		"unpacks gzip": {
			given: "#cloud-config\nwrite_files:\n- {path: /a, encoding: gzip+base64, content: " + packed("hello") + "}\n",
			want:  Config{Files: map[string][]byte{"/a": []byte("hello")}},
		},
		"appends, and lets a later file win otherwise": {
			given: "#cloud-config\nwrite_files:\n- {path: /a, content: one}\n- {path: /a, content: two, append: true}\n- {path: /b, content: one}\n- {path: /b, content: two}\n",
			want:  Config{Files: map[string][]byte{"/a": []byte("onetwo"), "/b": []byte("two")}},
		},
		"refuses another format":     {given: "{\"ignition\": {}}", wantErr: "not a cloud-config"},
		"refuses broken YAML":        {given: "#cloud-config\n- : [", wantErr: "cloud-config:"},
		"names a file in odd coding": {given: "#cloud-config\nwrite_files:\n- {path: /a, encoding: rot13}\n", wantErr: `write_files /a: encoding "rot13"`},
		"names a file in bad base64": {given: "#cloud-config\nwrite_files:\n- {path: /a, encoding: b64, content: '!'}\n", wantErr: "write_files /a: base64"},
		"names a file in bad gzip":   {given: "#cloud-config\nwrite_files:\n- {path: /a, encoding: gz+b64, content: aGVsbG8=}\n", wantErr: "write_files /a: gzip"},
		"names a command of no form": {given: "#cloud-config\nruncmd:\n- {a: b}\n", wantErr: "runcmd 0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tc.given))
			expect.Error(t, tc.wantErr, err)
			expect.Equal(t, tc.want, got)
		})
	}
}

func packed(text string) string {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, _ = writer.Write([]byte(text))
	_ = writer.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestRender(t *testing.T) {
	vars := InstanceData(map[string]any{
		"uuid": "0815", "name": "node-0", "local-hostname": "node-0.example.com", "index": float64(3),
		"big": float64(1000000), "on": true, "gone": nil, "nested": map[string]any{"key": "deep"},
	})
	const header = "## template: jinja\n"
	tests := map[string]struct {
		given, want, wantErr string
	}{
		"leaves user data without the header as it is":    {given: "#cloud-config\n{{ ds.meta_data.name }}", want: "#cloud-config\n{{ ds.meta_data.name }}"},
		"drops the header and replaces a metadata key":    {given: header + "name: '{{ ds.meta_data.name }}'", want: "name: 'node-0'"},
		"accepts a header with carriage return":           {given: "## template: jinja\r\nx", want: "x"},
		"needs no blanks inside the braces":               {given: header + "{{ds.meta_data.uuid}}", want: "0815"},
		"reads a hyphenated key by subscript":             {given: header + `{{ ds.meta_data['local-hostname'] }}`, want: "node-0.example.com"},
		"reads a hyphenated key by its underscore alias":  {given: header + "{{ ds.meta_data.local_hostname }}", want: "node-0.example.com"},
		"offers the short host name as v1.local_hostname": {given: header + "{{ v1.local_hostname }}/{{ local_hostname }}", want: "node-0/node-0"},
		"offers the uuid as instance id":                  {given: header + "{{ v1.instance_id }} {{ ds.meta_data.instance_id }}", want: "0815 0815"},
		"reads nested keys":                               {given: header + "{{ ds.meta_data.nested.key }}", want: "deep"},
		"prints numbers as JSON does":                     {given: header + "{{ ds.meta_data.index }} {{ ds.meta_data.big }}", want: "3 1000000"},
		"prints booleans and null as Python does":         {given: header + "{{ ds.meta_data.on }} {{ ds.meta_data.gone }}", want: "True None"},
		"keeps single braces":                             {given: header + "a: {b: c} {", want: "a: {b: c} {"},
		"fails on an unknown metadata key":                {given: header + "{{ ds.meta_data.providerid }}", wantErr: `"ds.meta_data.providerid" is undefined`},
		"fails on an attribute of a value":                {given: header + "{{ ds.meta_data.name.first }}", wantErr: "is undefined"},
		"fails on a whole map":                            {given: header + "{{ ds.meta_data }}", wantErr: "is not a single value"},
		"fails on a filter":                               {given: header + "{{ ds.meta_data.name | upper }}", wantErr: "is not supported"},
		"fails on a statement":                            {given: header + "{% if true %}", wantErr: "is not supported"},
		"fails on a comment":                              {given: header + "${#array}", wantErr: "is not supported"},
		"fails on an open expression":                     {given: header + "{{ ds.meta_data.name", wantErr: "is not closed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Render([]byte(tc.given), vars)
			expect.Error(t, tc.wantErr, err)
			expect.Equal(t, tc.want, string(got))
		})
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{"", "{", "{{", "}}", "{{}}", "{{ a['b'] }}", "{%", "{{ v1.local_hostname }}"} {
		f.Add(seed)
	}
	vars := InstanceData(map[string]any{"local-hostname": "n"})
	f.Fuzz(func(t *testing.T, body string) {
		out, err := Render([]byte("## template: jinja\n"+body), vars)
		if err == nil && strings.Contains(body, "{%") && !strings.Contains(body, "{{") {
			t.Errorf("%q rendered to %q although it has a statement", body, out)
		}
	})
}

func TestInstanceDataLetsHostnameWin(t *testing.T) {
	vars := InstanceData(map[string]any{"local-hostname": "a", "hostname": "b.c", "availability_zone": "z"})
	want := map[string]any{
		"local_hostname":    "b",
		"availability_zone": "z",
		"v1":                map[string]any{"local_hostname": "b", "availability_zone": "z"},
		"ds": map[string]any{"meta_data": map[string]any{
			"local-hostname": "b.c", "local_hostname": "b.c", "hostname": "b.c", "availability_zone": "z",
		}},
	}
	expect.Equal(t, want, vars)
}
