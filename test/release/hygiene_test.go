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

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

// TestVerifyAPI compares the CRDs with releases that had the same ones, less, and more than we have now.
func TestVerifyAPI(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	const machines = "infrastructure.cluster.x-k8s.io_metal3machines.yaml"
	tests := map[string]struct {
		old, now string // what the release has where the CRD has the other now
		want     []string
	}{
		"the same":    {},
		"other words": {old: "automatedCleaningMode says", now: "automatedCleaningMode said"},
		"a field is gone": {
			old: " automatedCleaningMode:\n", now: " cleaning:\n",
			want: []string{machines + ": breaks", "existingFieldRemoval", "spec.cleaning"},
		},
		"a kind is gone": {old: "plural: metal3machines", now: "plural: metal3servers", want: []string{"metal3servers.yaml: the release has this CRD"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			crds, err := filepath.Glob(repo.Path("config", "crd", "bases", "*.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var released strings.Builder
			changed := tt.old == ""
			for _, path := range crds {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				crd := string(text)
				if tt.old != "" && filepath.Base(path) == machines {
					crd = strings.Replace(crd, tt.old, tt.now, 1)
					changed = crd != string(text)
				}
				released.WriteString(strings.TrimPrefix(crd, "---\n") + "---\n")
			}
			if !changed {
				t.Fatalf("%q is not in %s", tt.old, machines)
			}
			folder := t.TempDir()
			file := filepath.Join(folder, "infrastructure-metal3", version, "infrastructure-components.yaml")
			if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(released.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			said, err := exec.CommandContext(t.Context(), "make", "-C", repo.Root, "verify-api", "PREVIOUS="+folder).CombinedOutput()
			if (err != nil) != (len(tt.want) > 0) {
				t.Errorf("make verify-api: %v\n%s", err, said)
			}
			for _, part := range tt.want {
				if !strings.Contains(string(said), part) {
					t.Errorf("%q is not in:\n%s", part, said)
				}
			}
		})
	}
}

func TestReleaseNotes(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(program string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, said)
		}
		return string(said)
	}
	run("git", "init", "-q")
	run("git", "commit", "-q", "--allow-empty", "-m", "machine: Change before the release")
	run("git", "tag", "v1.14.0")
	for _, message := range []string{
		"test/machine: Add a story", "remote: Read less",
		"hostclaim: Drop a flag\n\nNobody sets it.\n\nBreaking: --old is unknown now:\nremove it.\n\nThe end.", "data: Render bonds",
	} {
		run("git", "commit", "-q", "--allow-empty", "-m", message)
	}
	want := `## Before you upgrade

- --old is unknown now: remove it.

## Changes

- data: Render bonds
- hostclaim: Drop a flag
- remote: Read less

## Tests, tools and docs

- test/machine: Add a story

`
	if diff := cmp.Diff(want, run(repo.Path("hack", "release-notes.sh"), "v1.14.0", "HEAD")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
