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
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestPrinterColumns holds the conditions that printer columns select to the constants of the
// API: a column that selects another type stays empty.
func TestPrinterColumns(t *testing.T) {
	var types []string
	for _, dir := range []string{ownTypes, folderOf(t, hostTypes)} {
		for name, value := range stringConstants(t, dir) {
			if strings.Contains(name, "Condition") {
				types = append(types, value)
			}
		}
	}
	selected := map[string]string{}
	for _, pattern := range []string{"crd/bases/*.yaml", "../controllers/hostclaim/setup/columns.yaml"} {
		files, err := filepath.Glob(pattern)
		expect.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			expect.NoError(t, err)
			for _, match := range regexp.MustCompile(`jsonPath: .*@\.type=="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
				selected[match[1]] = file
			}
		}
	}
	expect.Must(t, len(selected) >= 4, "columns select only the conditions %v: has the form of the CRDs changed?", slices.Collect(maps.Keys(selected)))
	for condition, file := range selected {
		expect.That(t, slices.Contains(types, condition), "a column in %s selects condition %s, which the API does not define", file, condition)
	}
}
