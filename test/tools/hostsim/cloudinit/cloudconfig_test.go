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

	"github.com/google/go-cmp/cmp"
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
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
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
