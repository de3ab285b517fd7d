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
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestSecurity binds docs/security.md to the tests: each attack that is held or bounded names a test, each
// test that the page names exists, and the page names each test of an attack.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	expect.NoError(t, err)
	name := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !regexp.MustCompile("^ (held|bounded)").MatchString(cells[2]) {
			continue
		}
		rows++
		expect.That(t, name.MatchString(cells[3]), "no test shows that this is so: %s", line)
	}
	expect.Must(t, rows >= 60, "%d attacks are held or bounded: has the form of the tables changed?", rows)
	tests := testNames(t)
	named := map[string]bool{}
	for _, found := range name.FindAllStringSubmatch(string(text), -1) {
		named[found[1]] = true
		expect.That(t, tests[found[1]], "docs/security.md names %s, which does not exist", found[1])
	}
	for _, test := range slices.Sorted(maps.Keys(tests)) {
		expect.That(t, !strings.HasPrefix(test, "TestAttack") || named[test], "docs/security.md has no row for %s", test)
	}
}

// testNames returns the names of all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	expect.NoError(t, err)
	return names
}
