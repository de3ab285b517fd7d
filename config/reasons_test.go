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
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	ownTypes  = "../api/v1beta2"
	hostTypes = "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// TestReasons shows that docs/operations.md tells what to do only about reasons that a controller gives, each
// the value of a constant that its code uses, and that docs/reference/conditions.md has all of them.
func TestReasons(t *testing.T) {
	used := map[string]bool{}
	constants := map[string]string{}
	for alias, dir := range map[string]string{"infrav1": ownTypes, "bmov1alpha1": folderOf(t, hostTypes)} {
		for name, value := range stringConstants(t, dir) {
			constants[alias+"."+name] = value
		}
	}
	for _, dir := range []string{"../baremetal", "../controllers"} {
		for _, value := range stringConstants(t, dir) {
			used[value] = true
		}
		for _, file := range goFiles(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok {
						used[constants[x.Name+"."+s.Sel.Name]] = true
					}
				}
				return true
			})
		}
	}
	text, err := os.ReadFile("../docs/operations.md")
	expect.NoError(t, err)
	reference, err := os.ReadFile("../docs/reference/conditions.md")
	expect.NoError(t, err)
	reasons := explained(string(text))
	expect.Must(t, len(reasons) >= 25, "only %d reasons found in operations.md: has the form of its tables changed?", len(reasons))
	for _, reason := range reasons {
		expect.That(t, used[reason], "operations.md explains %s, which no controller gives", reason)
	}
	for name, reason := range constants {
		isReason := strings.HasSuffix(name, "Reason") && !strings.HasSuffix(name, "V1Beta1Reason")
		if strings.HasPrefix(name, "infrav1.") && isReason && used[reason] && !strings.Contains(string(reference), "\n| `"+reason+"` | ") {
			t.Errorf("docs/reference/conditions.md has no row for %s: run make generate", reason)
		}
	}
}

// explained are the names in the first column of all tables of reasons. A name
// that a colon follows is the type of a condition.
func explained(text string) []string {
	name := regexp.MustCompile("`([A-Z][A-Za-z]+)`(:?)")
	var reasons []string
	inTable := false
	for line := range strings.Lines(text) {
		first, _, isRow := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|") || !isRow:
			inTable = false
		case strings.Contains(first, "reason") && !strings.Contains(first, "`"), strings.TrimSpace(first) == "Reason":
			inTable = true
		case inTable:
			for _, match := range name.FindAllStringSubmatch(first, -1) {
				if match[2] == "" {
					reasons = append(reasons, match[1])
				}
			}
		}
	}
	return reasons
}

func folderOf(t *testing.T, pkg string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", pkg).Output()
	expect.Must(t, err == nil, "where is %s: %v", pkg, err)
	return strings.TrimSpace(string(out))
}

// goFiles parses all files below a folder but tests.
func goFiles(t *testing.T, root string) []*ast.File {
	t.Helper()
	var files []*ast.File
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	expect.NoError(t, err)
	return files
}

// stringConstants are the constants below a folder that are written as strings.
func stringConstants(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, file := range goFiles(t, root) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, name := range spec.Names {
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if value, err := strconv.Unquote(literal.Value); err == nil {
						found[name.Name] = value
					}
				}
			}
			return true
		})
	}
	return found
}
