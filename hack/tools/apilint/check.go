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
	"maps"
	"slices"
	"strings"
)

const validation = "kubebuilder:validation:"

// rule looks at one field and returns what is wrong with it, or "".
type rule func(a *api, f field) string

// check applies every rule to every field of every struct, in the order of names.
func (a *api) check() []string {
	rules := []rule{comment, presence, omission, number, boolean, bounds, list, indirection}
	var findings []string
	for _, name := range slices.Sorted(maps.Keys(a.types)) {
		structure, ok := a.types[name].expr.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range fields(structure) {
			if f.name == "ListMeta" || f.name == "ObjectMeta" && f.json == "metadata" {
				continue
			}
			for _, r := range rules {
				if problem := r(a, f); problem != "" {
					findings = append(findings, fmt.Sprintf("%s: %s.%s: %s", a.files.Position(f.expr.Pos()), name, f.name, problem))
				}
			}
		}
	}
	return findings
}

// comment: readers of the YAML know a field by its JSON name.
func comment(_ *api, f field) string {
	if strings.HasPrefix(f.comment, f.json+" ") {
		return ""
	}
	return fmt.Sprintf("the comment does not begin with the JSON name %q", f.json)
}

// presence: it must be said, not guessed, whether a field may be left out.
func presence(_ *api, f field) string {
	if f.name == "Items" || f.markers.has("optional") != f.markers.has("required") {
		return ""
	}
	return "needs exactly one of the markers +optional and +required"
}

// omission: an optional field without a value must not be written.
func omission(_ *api, f field) string {
	if !f.markers.has("optional") || slices.Contains(f.options, "omitempty") || slices.Contains(f.options, "omitzero") {
		return ""
	}
	return "is optional: add omitempty or omitzero to its JSON tag"
}

// number: other languages must be able to hold each number exactly.
func number(_ *api, f field) string {
	switch t := ident(deref(f.expr)); t {
	case "int", "int8", "int16", "uint", "uint8", "uint16", "uint32", "uint64", "float32", "float64":
		return fmt.Sprintf("is of type %s: use int32 or int64", t)
	}
	return ""
}

// boolean: unset must differ from false, or a default can never be added.
func boolean(_ *api, f field) string {
	if ident(f.expr) == "bool" {
		return "is a plain bool: use *bool, or an enumeration"
	}
	return ""
}

// bounds: rules in CEL are only cheap where sizes are bounded.
func bounds(a *api, f field) string {
	wanted := map[string][]string{
		"string": {"MaxLength", "Enum", "Format"},
		"int32":  {"Minimum"},
		"int64":  {"Minimum"},
		"[]":     {"MaxItems"},
	}
	kind, found := a.basis(deref(f.expr), f.markers)
	for _, name := range wanted[kind] {
		if found.has(validation + name) {
			return a.element(f)
		}
	}
	if len(wanted[kind]) == 0 || f.name == "Items" {
		return ""
	}
	return "has no bounds: add +" + validation + strings.Join(wanted[kind], " or ")
}

// element checks the bounds of the strings in a list.
func (a *api) element(f field) string {
	array, ok := f.expr.(*ast.ArrayType)
	if !ok {
		return ""
	}
	kind, found := a.basis(array.Elt, nil)
	if kind != "string" || f.markers.has(validation+"items:MaxLength") ||
		found.has(validation+"MaxLength") || found.has(validation+"Enum") {
		return ""
	}
	return "has elements without bounds: add +" + validation + "items:MaxLength"
}

// list: server-side apply must know how to merge a list.
func list(_ *api, f field) string {
	if _, ok := f.expr.(*ast.ArrayType); !ok || f.name == "Items" || f.markers.has("listType") {
		return ""
	}
	return "is a list: add +listType=atomic, set or map"
}

// indirection: lists and maps have a nil of their own.
func indirection(_ *api, f field) string {
	pointer, ok := f.expr.(*ast.StarExpr)
	if !ok {
		return ""
	}
	switch pointer.X.(type) {
	case *ast.ArrayType, *ast.MapType:
		return "is a pointer to a list or map: leave the pointer out"
	}
	return ""
}

// basis follows named types of the package down to a basic type or a list, and
// gathers the markers on the way.
func (a *api) basis(expr ast.Expr, found markers) (string, markers) {
	if _, ok := expr.(*ast.ArrayType); ok {
		return "[]", found
	}
	name := ident(expr)
	if d, ok := a.types[name]; ok {
		return a.basis(d.expr, append(slices.Clone(found), d.markers...))
	}
	return name, found
}

func deref(expr ast.Expr) ast.Expr {
	if pointer, ok := expr.(*ast.StarExpr); ok {
		return pointer.X
	}
	return expr
}

// ident is the name of a type of this package or of the language, "" for others.
func ident(expr ast.Expr) string {
	if name, ok := expr.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
