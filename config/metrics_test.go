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
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestMetrics shows that docs/reference/metrics.md, which is generated from the calls that make metrics, has a
// row for each metric of either manager and for no other one. The names stand in the code as whole strings.
func TestMetrics(t *testing.T) {
	name := regexp.MustCompile(`^(capm3|hostclaim)_[a-z_]+$`)
	var made []string
	for _, dir := range []string{"../baremetal", "../controllers", "../cmd"} {
		for _, file := range goFiles(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && name.MatchString(text) {
						made = append(made, text)
					}
				}
				return true
			})
		}
	}
	text, err := os.ReadFile("../docs/reference/metrics.md")
	expect.NoError(t, err)
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:capm3|hostclaim)_[a-z_]+)` \\|.*[a-z].*\\|$").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1])
	}
	slices.Sort(made)
	slices.Sort(documented)
	expect.Equal(t, made, documented) // in docs/reference/metrics.md
	expect.That(t, len(made) >= 14, "only %d metrics found in the code", len(made))
}
