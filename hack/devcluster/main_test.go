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
	"os/exec"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// A dev cluster may have clusters of its user on it.
func TestARunningDevClusterIsNotReplaced(t *testing.T) {
	for _, args := range [][]string{{"demo"}, {"demo", "--remote"}, {"up"}} {
		dir := t.TempDir()
		group, err := process.NewGroup(dir)
		if err != nil {
			t.Fatal(err)
		}
		path, err := exec.LookPath("sleep")
		if err != nil {
			t.Fatal(err)
		}
		p, err := group.Start(process.Spec{Name: "sleep", Path: path, Args: []string{"1000"}})
		if err != nil {
			t.Fatal(err)
		}
		cmd := root()
		cmd.SetArgs(append(args, "--dir", dir))
		err = cmd.ExecuteContext(t.Context())
		if want := "down --dir " + dir; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", args, err, want)
		}
		if !p.Alive() {
			t.Errorf("%v ended what ran", args)
		}
		if err := group.Stop(); err != nil {
			t.Error(err)
		}
	}
}
