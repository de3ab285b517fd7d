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
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// api is one package of API types.
type api struct {
	files *token.FileSet
	// types are the type declarations of the package by name.
	types map[string]declaration
}

// declaration is a type with the markers above it.
type declaration struct {
	expr    ast.Expr
	markers markers
}

// markers are the lines of a comment that begin with a plus sign, without it.
type markers []string

// has says whether there is a marker of that name, with or without a value.
func (m markers) has(name string) bool {
	for _, line := range m {
		if line == name || strings.HasPrefix(line, name+"=") {
			return true
		}
	}
	return false
}

// field is a field of a struct, as its declaration and its tag describe it.
type field struct {
	name    string
	json    string
	options []string
	comment string
	markers markers
	expr    ast.Expr
}

// load parses the Go files of a folder, tests and generated files left out.
func load(folder string) (*api, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no Go files", folder)
	}
	a := &api{files: token.NewFileSet(), types: map[string]declaration{}}
	for _, path := range paths {
		base := filepath.Base(path)
		if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "zz_generated.") {
			continue
		}
		file, err := parser.ParseFile(a.files, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		a.add(file)
	}
	return a, nil
}

func (a *api) add(file *ast.File) {
	for _, d := range file.Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, s := range general.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			doc := spec.Doc
			if doc == nil {
				doc = general.Doc
			}
			_, found := split(doc)
			a.types[spec.Name.Name] = declaration{expr: spec.Type, markers: found}
		}
	}
}

// fields lists the fields of a struct that the JSON form shows under a name.
func fields(structure *ast.StructType) []field {
	var listed []field
	for _, f := range structure.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		parts := strings.Split(reflect.StructTag(tag).Get("json"), ",")
		if parts[0] == "" || parts[0] == "-" {
			continue
		}
		comment, found := split(f.Doc)
		listed = append(listed, field{
			name: fieldName(f), json: parts[0], options: parts[1:],
			comment: comment, markers: found, expr: f.Type,
		})
	}
	return listed
}

func fieldName(f *ast.Field) string {
	if len(f.Names) > 0 {
		return f.Names[0].Name
	}
	if selector, ok := f.Type.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return ""
}

// split takes the markers out of a comment.
func split(doc *ast.CommentGroup) (string, markers) {
	if doc == nil {
		return "", nil
	}
	var found markers
	var prose []string
	for _, c := range doc.List {
		line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		if marker, ok := strings.CutPrefix(line, "+"); ok {
			found = append(found, marker)
		} else if line != "" {
			prose = append(prose, line)
		}
	}
	return strings.Join(prose, " "), found
}
