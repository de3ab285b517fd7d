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

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var update = flag.Bool("update", false, "write the golden files")

// files are the arguments that name the files of testdata.
func files(more ...string) []string {
	return append([]string{
		"--template=testdata/template.yaml", "--hardware=testdata/hardware.yaml", "--machine=testdata/machine.yaml",
	}, more...)
}

// TestGolden compares what is printed with testdata/<name>.golden; run with
// -update to accept what changed.
func TestGolden(t *testing.T) {
	tests := map[string][]string{
		"placeholders":     files(),
		"pools":            files("--pools=testdata/pools.yaml", "--index=3"),
		"lists":            files("--pools=testdata/lists.yaml", "--index=3"),
		"by-host-name":     files("--pools=testdata/pools.yaml", "--enable-bmh-name-based-preallocation"),
		"inspected-host":   files("--hardware=testdata/inspected.yaml", "--machine="+machine(t, "hosts", "")),
		"warnings":         files("--machine=" + machine(t, "hidden", "")),
		"nothing-asked":    files("--machine=" + machine(t, "empty", "")),
		"machine-of-owner": files("--machine="+machine(t, "owner", ownerOf), "--template=testdata/owner.yaml"),
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			expect.NoError(t, run(args, &out))
			file := filepath.Join("testdata", name+".golden")
			expect.Golden(t, file, out.String(), *update)
		})
	}
}

const ownerOf = `---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: worker, namespace: tenant, annotations: {zone: b}}
`

// machine is a file with a Metal3Machine that names a template.
func machine(t *testing.T, template, more string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/machine.yaml")
	expect.NoError(t, err)
	path := filepath.Join(t.TempDir(), "machine.yaml")
	changed := strings.Replace(string(text), "{name: nodes}", "{name: "+template+"}", 1) + more
	expect.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
	return path
}

// TestErrors checks that errors name what is wrong and what to do.
func TestErrors(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"a file is missing on the command line": {
			args: []string{"--template=x", "--machine=y"}, want: []string{"--hardware is missing: name a file"},
		},
		"a file without its flag": {
			args: files("testdata/pools.yaml"), want: []string{`"testdata/pools.yaml" belongs to no flag: name each file by its flag`},
		},
		"a flag without a file": {args: files("--machine="), want: []string{"--machine is missing: name a file"}},
		"an empty file":         {args: files("--hardware=" + os.DevNull), want: []string{"there is no manifest in it, and HardwareData is wanted"}},
		"a machine without a namespace": {
			args: files("--machine=testdata/no-namespace.yaml"), want: []string{"needs metadata.name and metadata.namespace: set both"},
		},
		"an index below zero": {args: files("--index=-1"), want: []string{"indexes start at 0"}},
		"a file is not there": {args: files("--pools=testdata/none.yaml"), want: []string{"testdata/none.yaml"}},
		"a template that cannot be rendered": {
			args: files("--machine=" + machine(t, "wrong", "")),
			want: []string{
				`Metal3DataTemplate "wrong" cannot be rendered`, `metaData.fromHostInterfaces[mac]: the host has no network interface "eth7"`,
				`networkData.links.ethernets[nic0]: the host has no network interface "eth8"`,
			},
		},
		"an annotation that names no pool": {
			args: files("--machine=" + machine(t, "no-annotation", "")),
			want: []string{`networkData.networks.ipv4[nodes]: metal3machine "worker-0" has no annotation "pool": set it`},
		},
		"every file with a fault is named": {
			args: []string{"--machine=testdata/no-namespace.yaml", "--hardware=testdata/pools.yaml", "--template=testdata/boolean.yaml", "--pools=testdata/hardware.yaml"},
			want: []string{
				"needs metadata.name and metadata.namespace", "there is no HardwareData in it", "is not read: write it as IPPool",
				`spec.metaData.strings[0].value: Invalid value: "boolean"`, "put the word in quotes",
			},
		},
		"every flag without a file is named": {
			args: []string{"--index=-1"}, want: []string{"--template is missing", "--hardware is missing", "--machine is missing", "indexes start at 0"},
		},
		"a word that YAML reads as a boolean": {
			args: files("--hardware=testdata/boolean-label.yaml"), want: []string{"labels", "put the word in quotes"},
		},
		"a field that does not exist": {
			args: files("--machine=" + machine(t, "misspelled", "")), want: []string{`unknown field "spec.metaData.string": correct the field`},
		},
		"a template that the API server would not take": {
			args: files("--machine=" + machine(t, "invalid", "")),
			want: []string{
				`the API server would not take Metal3DataTemplate "invalid"`, "spec.metaData.strings[0].value: Required value",
				`spec.networkData.links.ethernets[0].type: Unsupported value: "card"`,
			},
		},
		"a template that breaks a rule": {
			args: files("--machine=" + machine(t, "no-pool", "")),
			want: []string{"no address pool is named: set fromPoolRef, ipAddressFromIPPool or fromPoolAnnotation"},
		},
		"a template that the webhook would not let pass": {
			args: files("--machine=" + machine(t, "no-link", "")),
			want: []string{
				`the API server would not take Metal3DataTemplate "no-link"`,
				`spec.networkData.networks.ipv4DHCP[0].link: Not found: "nic0": no link has this id: add it`,
			},
		},
		"a template of an older version": {
			args: files("--machine=" + machine(t, "old", "")), want: []string{"v1beta1 is not read: write it as Metal3DataTemplate of", "v1beta2"},
		},
		"a template that the file does not hold": {
			args: files("--machine=" + machine(t, "missing", "")), want: []string{"there is no Metal3DataTemplate missing in it", "name another file"},
		},
		"a machine that names no template, of several": {
			args: files("--machine=testdata/no-template.yaml"), want: []string{"of Metal3DataTemplate in it", "name one in spec.dataTemplate"},
		},
		"the wrong file": {
			args: files("--hardware=testdata/pools.yaml"), want: []string{`there is no HardwareData in it, only IPPool "nodes": name another file`},
		},
		"pools of another kind": {
			args: files("--pools=testdata/hardware.yaml"), want: []string{"HardwareData of metal3.io/v1alpha1 is not read: write it as IPPool"},
		},
		"a pool without a free address": {
			args: files("--pools=testdata/full.yaml"), want: []string{`"nodes" has no free address for claim "nodes-0-nodes-storage": extend spec.pools`},
		},
		"an address that is held outside the pool": {
			args: files("--pools=testdata/full.yaml", "--enable-bmh-name-based-preallocation"),
			want: []string{`holds 203.0.113.99 for claim "server-7-nodes", which is in none of its spec.pools`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(tc.args, &out)
			expect.Must(t, err != nil, "printed:\n%s", out.String())
			for _, want := range tc.want {
				expect.That(t, strings.Contains(err.Error(), want), "%q is not in: %v", want, err)
			}
			expect.That(t, out.Len() == 0, "printed besides the error:\n%s", out.String())
		})
	}
}
