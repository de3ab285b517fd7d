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
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	ownTypes   = "api/v1beta2"
	classTypes = "api/hostclaim/v1alpha1"
	hostTypes  = "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// constant is a constant whose value is written as a string.
type constant struct {
	name, value, comment string
}

// group is a block of constants with its comment.
type group struct {
	comment   string
	constants []constant
}

// goFiles parses the files below a folder, but tests.
func goFiles(folder string) ([]*ast.File, error) {
	var files []*ast.File
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error { //nolint:gosec // The caller names the folder.
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	return files, err
}

// groups returns the blocks of string constants below a folder, in the order of the files.
func groups(folder string) ([]group, error) {
	files, err := goFiles(folder)
	var found []group
	for _, file := range files {
		for _, decl := range file.Decls {
			if block, ok := decl.(*ast.GenDecl); ok && block.Tok == token.CONST {
				found = append(found, group{comment: sentence(block.Doc.Text()), constants: constants(block)})
			}
		}
	}
	return found, err
}

func constants(block *ast.GenDecl) []constant {
	var found []constant
	for _, spec := range block.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
			continue
		}
		if value, ok := literal(spec.Values[0]); ok {
			found = append(found, constant{spec.Names[0].Name, value, sentence(spec.Doc.Text())})
		}
	}
	return found
}

// literal returns the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(basic.Value)
	return value, err == nil
}

// sentence joins the lines of a comment.
func sentence(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// meaning returns the comment of a constant without its name and the verb that follows it.
func meaning(c constant) string {
	text := regexp.MustCompile(`^(`+c.name+`|\w+Condition) ((surfaces|is (used|(a|the) reason used)|the reason used)( (by|for) the [\w ]+)? (when|while) |is )?`).
		ReplaceAllString(c.comment, "")
	first, _, _ := strings.Cut(text, " ")
	if text == "" || regexp.MustCompile(`[.-]|^[a-z]+[A-Z]`).MatchString(first) {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// code quotes the words of a text that are keys, fields or placeholders, and puts values for names of
// constants.
func code(text string, values map[string]string) string {
	words := strings.Fields(text)
	for i, word := range words {
		bare := strings.Trim(word, `.,:;"`)
		switch value, known := values[bare]; {
		case bare == "true" && strings.Contains(word, `"true"`):
			words[i] = strings.Replace(word, `"true"`, "`\"true\"`", 1)
		case known:
			words[i] = strings.Replace(word, bare, "`"+value+"`", 1)
		case strings.ContainsAny(bare, "<_=") || regexp.MustCompile(`^((spec|status)\.|[a-z.0-9-]+\.io(/|$))`).MatchString(bare):
			words[i] = strings.Replace(word, bare, "`"+bare+"`", 1)
		}
	}
	return strings.Join(words, " ")
}

// section renders the rows of a block below a heading, which is the first sentence of its comment.
func section(block group, values map[string]string, rows [][]string) string {
	heading, note, _ := strings.Cut(block.comment, ". ")
	return table(strings.TrimSuffix(heading, "."), code(note, values), rows)
}

// keys returns the blocks of keys.go, and the keys by the names of their constants.
func keys(root string) ([]group, map[string]string, error) {
	blocks, err := groups(filepath.Join(root, ownTypes, "keys.go"))
	values := map[string]string{}
	for _, block := range blocks {
		for _, c := range block.constants {
			values[c.name] = c.value
		}
	}
	return blocks, values, err
}

// keysPage renders the constants of keys.go.
func keysPage(root string) (string, error) {
	blocks, values, err := keys(root)
	if err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString("# Keys\n\n" + generated + "\nThe labels, annotations, finalizers and field owners that the managers write or read. " +
		"An administrator is one of the infrastructure team.\n")
	for _, block := range blocks {
		rows := [][]string{{"Key", "Type", "Meaning"}}
		for _, c := range block.constants {
			rows = append(rows, []string{"`" + c.value + "`", keyType(c.name), code(meaning(c), values)})
		}
		page.WriteString(section(block, values, rows))
	}
	return page.String(), nil
}

func keyType(name string) string {
	for _, t := range [][2]string{
		{"Annotation", "annotation"},
		{"Label", "label"},
		{"Finalizer", "finalizer"},
		{"FieldOwner", "field owner"},
		{"OriginKey", "annotation, label"},
		{"Prefix", "annotation, prefix"},
		{"Value", "value"},
		{"Pause", "value"},
		{"Suffix", "suffix of a name"},
		{"Type", "type of a Secret"},
	} {
		if strings.HasSuffix(name, t[0]) {
			return t[1]
		}
	}
	return ""
}

// conditionsPage renders the types and reasons of conditions and the reasons of events that have a constant.
func conditionsPage(root string) (string, error) {
	_, values, err := keys(root)
	if err != nil {
		return "", err
	}
	all, err := upstreamReasons(root)
	if err != nil {
		return "", err
	}
	for _, folder := range []string{ownTypes, classTypes, "baremetal", "controllers"} {
		blocks, err := groups(filepath.Join(root, folder))
		if err != nil {
			return "", err
		}
		all = append(all, blocks...)
	}
	var page strings.Builder
	page.WriteString("# Conditions and reasons\n\n" + generated +
		"\nThe message of a condition names the cause and the remedy. Names in bold are types of conditions, the others are reasons.\n")
	for _, block := range all {
		rows := [][]string{{"Name", "When"}}
		for _, c := range block.constants {
			if name := conditionName(c); name != "" {
				rows = append(rows, []string{name, code(meaning(c), values)})
			}
		}
		if len(rows) > 1 {
			page.WriteString(section(block, values, rows))
		}
	}
	return page.String(), nil
}

// conditionName returns how the page shows a constant; nothing for one that is neither type nor reason.
func conditionName(c constant) string {
	switch {
	case strings.Contains(c.name, "V1Beta1"):
		return ""
	case strings.HasSuffix(c.name, "Condition"):
		return "**`" + c.value + "`**"
	case strings.HasSuffix(c.name, "Reason") && regexp.MustCompile(`^[A-Z]`).MatchString(c.value):
		return "`" + c.value + "`"
	}
	return ""
}

// upstreamReasons returns the types and reasons of baremetal-operator's API that the controllers use.
func upstreamReasons(root string) ([]group, error) {
	list := exec.CommandContext(context.Background(), "go", "list", "-f", "{{.Dir}}", hostTypes)
	list.Dir = root
	folder, err := list.Output()
	if err != nil {
		return nil, err
	}
	blocks, err := groups(strings.TrimSpace(string(folder)))
	if err != nil {
		return nil, err
	}
	used, err := selected(root, "bmov1alpha1")
	if err != nil {
		return nil, err
	}
	found := group{comment: "Conditions and reasons of HostClaim that baremetal-operator defines."}
	for _, block := range blocks {
		for _, c := range block.constants {
			if c.name == "BadNetworkDataSecretReason" { // its comment is that of the metadata
				c.comment = "BadNetworkDataSecretReason is used when the secret for network data cannot be synchronized."
			}
			if used[c.name] {
				found.constants = append(found.constants, c)
			}
		}
	}
	return []group{found}, nil
}

// selected returns the names that the code takes from an import.
func selected(root, alias string) (map[string]bool, error) {
	used := map[string]bool{}
	for _, below := range []string{"baremetal", "controllers"} {
		files, err := goFiles(filepath.Join(root, below))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == alias {
						used[s.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	return used, nil
}
