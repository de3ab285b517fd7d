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
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurity holds docs/security.md to the tests: each test that it names exists, and
// what it calls held or bounded names one.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9/]+) ((?:Test|Fuzz)[A-Za-z0-9]+)`")
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !regexp.MustCompile("^ (held|bounded)").MatchString(cells[2]) {
			continue
		}
		rows++
		if !named.MatchString(cells[3]) {
			t.Errorf("no test shows that this is so: %s", line)
		}
	}
	if rows < 20 {
		t.Fatalf("%d attacks are held or bounded: has the form of the tables changed?", rows)
	}
	for _, found := range named.FindAllStringSubmatch(string(text), -1) {
		if !hasTest(t, filepath.Join("..", found[1]), found[2]) {
			t.Errorf("%s has no %s", found[1], found[2])
		}
	}
}

// hasTest says whether a folder has a test of a name.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
