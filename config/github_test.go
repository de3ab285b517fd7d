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

package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestWorkflow holds the workflow of GitHub to the make targets of .ci/run.
func TestWorkflow(t *testing.T) {
	script, err := os.ReadFile("../.ci/run")
	expect.NoError(t, err)
	var want []string
	for _, match := range regexp.MustCompile(`(?m)^make (\S+)$`).FindAllSubmatch(script, -1) {
		want = append(want, string(match[1]))
	}
	var workflow struct {
		Jobs struct {
			Make struct {
				Strategy struct{ Matrix struct{ Target []string } }
			}
		}
	}
	readYAML(t, "../.github/workflows/ci.yml", &workflow)
	if diff := cmp.Diff(want, workflow.Jobs.Make.Strategy.Matrix.Target); diff != "" || len(want) == 0 {
		t.Errorf("make targets (-.ci/run +workflow):\n%s", diff)
	}
}

// TestDependencyUpdates holds the folders of Go modules in dependabot.yml to those of the repository.
func TestDependencyUpdates(t *testing.T) {
	var want []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains([]string{"../.git", "../bin"}, path) {
			return fs.SkipDir
		}
		if err == nil && entry.Name() == "go.mod" {
			want = append(want, filepath.Join("/", filepath.Dir(path)[len(".."):]))
		}
		return err
	})
	expect.NoError(t, err)
	slices.Sort(want)
	var dependabot struct {
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directories []string
		}
	}
	readYAML(t, "../.github/dependabot.yml", &dependabot)
	var got []string
	for _, update := range dependabot.Updates {
		if update.Ecosystem == "gomod" {
			got = append(got, update.Directories...)
		}
	}
	expect.Equal(t, want, got) // folders with a go.mod
}
