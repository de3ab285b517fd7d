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

package ignition

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/cloudinit"
)

// packed is a data URL of a text, compressed.
func packed(text string) string {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, _ = writer.Write([]byte(text))
	_ = writer.Close()
	return "data:;base64," + base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestParse(t *testing.T) {
	const version = `"ignition": {"version": "2.3.0"}`
	with := func(file string) string { return `{` + version + `, "storage": {"files": [` + file + `]}}` }
	filled := func(line, conf string) string {
		return `{` + version + `, "storage": {"files": [
			{"path": "/s.sh", "contents": {"source": "data:,` + url.PathEscape(line) + `"}}, {"path": "/fill", "contents": {"source": "data:,"}},
			{"path": "/conf", "contents": {"source": "data:,` + url.PathEscape(conf) + `"}}
		]}, "systemd": {"units": [{"name": "u.service", "enabled": true, "contents": "ExecStart=/bin/bash /s.sh"}]}}`
	}
	const fill = "/fill /run/drive/openstack/latest/meta_data.json /conf"
	tests := map[string]struct {
		given   string
		want    cloudinit.Config
		wantErr string
	}{
		"reads files in each coding": {
			given: with(`{"path": "/a", "contents": {"source": "data:,one%0Atwo"}}, {"path": "/b", "contents": {"source": "data:text/plain;charset=utf-8;base64,aGVsbG8="}},
				{"path": "/c", "append": false, "contents": {"compression": "gzip", "source": "` + packed("large") + `"}}, {"path": "/d", "contents": {}}`),
			want: cloudinit.Config{Files: map[string][]byte{"/a": []byte("one\ntwo"), "/b": []byte("hello"), "/c": []byte("large"), "/d": nil}},
		},
		"reads what enabled units start, and the lines of scripts": {
			given: `{` + version + `, "storage": {"files": [{"path": "/s.sh", "contents": {"source": "data:,%23!/bin/bash%0Aone%0A%0A%20two%20%0A"}}]}, "systemd": {"units": [
				{"name": "a.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/bash /s.sh\nExecStart=/usr/bin/three 3\n"},
				{"name": "b.service", "contents": "[Service]\nExecStart=/usr/bin/four\n"}]}}`,
			want: cloudinit.Config{Files: map[string][]byte{"/s.sh": []byte("#!/bin/bash\none\n\n two \n")}, Commands: []string{"one", "two", "/usr/bin/three 3"}},
		},
		"fills in metadata": {
			given: filled(fill, "a {{ ds.meta_data.name }} {{ds.meta_data.index}}"),
			want: cloudinit.Config{
				Files:    map[string][]byte{"/s.sh": []byte(fill), "/fill": {}, "/conf": []byte("a node-0 3")},
				Commands: []string{fill},
			},
		},
		"names a file that the script wants":  {given: filled("/fill /d/openstack/latest/meta_data.json /other", ""), wantErr: "no file /other"},
		"names metadata that is missing":      {given: filled(fill, "{{ ds.meta_data.rack }}"), wantErr: "the metadata has no rack"},
		"refuses what is no JSON":             {given: "{", wantErr: "ignition:"},
		"refuses another format":              {given: "{}", wantErr: "ignition.version is missing"},
		"refuses other configurations":        {given: `{"ignition": {"version": "3.4.0", "config": {"merge": [{"source": "https://a"}]}}}`, wantErr: "ignition.config"},
		"names a file that lies elsewhere":    {given: with(`{"path": "/a", "contents": {"source": "https://a.example/b"}}`), wantErr: "file /a: source"},
		"names a file of the image":           {given: with(`{"path": "/a", "append": true}`), wantErr: "file /a: append"},
		"names a file in bad base64":          {given: with(`{"path": "/a", "contents": {"source": "data:;base64,!"}}`), wantErr: "file /a: illegal base64"},
		"names a file in a bad escape":        {given: with(`{"path": "/a", "contents": {"source": "data:,%zz"}}`), wantErr: "file /a: invalid URL escape"},
		"names a file in bad gzip":            {given: with(`{"path": "/a", "contents": {"compression": "gzip", "source": "data:,a"}}`), wantErr: "file /a: gzip"},
		"names a file in another compression": {given: with(`{"path": "/a", "contents": {"compression": "xz", "source": "data:,a"}}`), wantErr: `compression "xz"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tc.given), map[string]any{"name": "node-0", "index": float64(3)})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			expect.NoError(t, err)
			if tc.want.Files == nil {
				tc.want.Files = map[string][]byte{}
			}
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestIs(t *testing.T) {
	for given, want := range map[string]bool{" {\"ignition\": {}}": true, "#cloud-config\n{}": false, "## template: jinja\n": false, "": false} {
		expect.Equal(t, want, Is([]byte(given)))
	}
}

// TestFlavor holds what is played here to the script of flavor ignition, which runs here.
func TestFlavor(t *testing.T) {
	template, err := os.ReadFile("../../../../templates/cluster-template-ignition.yaml")
	expect.NoError(t, err)
	text := regexp.MustCompile(`(?m)\$\{\w+:=(.*)\}$`).ReplaceAllString(string(template), "$1")
	var scripts []string
	for part := range strings.SplitSeq(text, "\n---\n") {
		var object struct {
			Spec struct {
				KubeadmConfigSpec kubeadmConfig
				Template          struct{ Spec kubeadmConfig }
			}
		}
		expect.NoError(t, yaml.Unmarshal([]byte(part), &object))
		for _, config := range []kubeadmConfig{object.Spec.KubeadmConfigSpec, object.Spec.Template.Spec} {
			if config.Format == "ignition" {
				scripts = append(scripts, config.Files[0].Content)
			}
		}
	}
	if len(scripts) != 2 || scripts[0] != scripts[1] {
		t.Fatalf("control plane and workers have the scripts %q", scripts)
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	script := write("fill-in.sh", scripts[0], 0o700)
	values := write("meta_data.json", `{"uuid": "0815", "local-hostname": "node-0", "odd": "a&b|c\\d/e", "index": 3, "gone": null, "more": {"a": 1}}`, 0o600)
	const before = "name: '{{ ds.meta_data.local-hostname }}'\nlabels: uuid={{ds.meta_data.uuid}},index={{ ds.meta_data.index }}\nodd: {{ ds.meta_data.odd }}\n"
	conf := write("kubeadm.yml", before, 0o600)
	said, err := exec.CommandContext(t.Context(), script, values, conf).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	after, err := os.ReadFile(conf)
	expect.NoError(t, err)
	files := map[string][]byte{"/fill": nil, "/conf": []byte(before)}
	expect.NoError(t, fillIn("/fill /d/openstack/latest/meta_data.json /conf", files,
		map[string]any{"uuid": "0815", "local-hostname": "node-0", "odd": `a&b|c\d/e`, "index": float64(3)}))
	expect.Equal(t, string(files["/conf"]), string(after))

	said, err = exec.CommandContext(t.Context(), script, values, write("kubeadm.yml", "{{ ds.meta_data.more }}", 0o600)).CombinedOutput()
	if want := values + " has no such metadata"; err == nil || !strings.Contains(string(said), want) {
		t.Errorf("metadata that is missing: %v, %s", err, said)
	}
}

type kubeadmConfig struct {
	Format string
	Files  []struct{ Content string }
}
