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

// Package controllers tests what holds for the controllers of all managers.
package controllers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/classes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	kubevirt "github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/data"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/machine"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/machinetemplate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remediation"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const module = "github.com/metal3-io/cluster-api-provider-metal3/controllers/"

// reconcilers are those of all managers.
func reconcilers() []any {
	return []any{
		claim.Reconciler{},
		classes.Reconciler{},
		orphan.Reconciler{},
		orphan.CopyReconciler{},
		policies.Reconciler{},
		setup.DefinitionReconciler{},
		cluster.Reconciler{},
		data.Reconciler{},
		datatemplate.Reconciler{},
		machine.Reconciler{},
		machinetemplate.Reconciler{},
		remediation.Reconciler{},
		kubevirt.Reconciler{},
	}
}

// exceptions are the fields that may change, and why.
func exceptions() map[string]string {
	return map[string]string{
		"hostclaim/claim.Reconciler.Pool":         "dispatches free hosts to waiting claims",
		"hostclaim/claim.Reconciler.Policies":     "policies by their version, compiled",
		"hostclaim/claim.Reconciler.Budget":       "bounds what is copied next to hosts, in each namespace",
		"hostclaim/claim.Reconciler.DeniedImages": "an option",
		"kubevirt/claim.Reconciler.Secrets":       "watches secrets",
		"provider/data.Reconciler.Secrets":        "watches secrets",
		"provider/machine.Reconciler.Secrets":     "watches secrets",
	}
}

// TestReconcilersKeepNothingBetweenTwoPasses fails for a reconciler with a field that may change after set-up: what
// was written is read again by a client that knows of it, and rate and fairness are the queue's.
func TestReconcilersKeepNothingBetweenTwoPasses(t *testing.T) {
	left := exceptions()
	for _, r := range reconcilers() {
		for _, field := range changing(reflect.TypeOf(r), exceptions()) {
			t.Errorf("%s may change between two passes; let the API objects, the client or the queue keep it", field)
		}
		for path := range exceptions() {
			if found(reflect.TypeOf(r), path) {
				delete(left, path)
			}
		}
	}
	for path := range left {
		t.Errorf("exception %s is no field any more", path)
	}
}

// TestAllReconcilersAreLookedAt finds the methods Reconcile in the sources.
func TestAllReconcilersAreLookedAt(t *testing.T) {
	var declared, looked []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Reconcile" {
				declared = append(declared, filepath.ToSlash(filepath.Dir(path)))
			}
		}
		return nil
	})
	expect.NoError(t, err)
	for _, r := range reconcilers() {
		looked = append(looked, strings.TrimPrefix(reflect.TypeOf(r).PkgPath(), module))
	}
	slices.Sort(declared)
	slices.Sort(looked)
	if diff := cmp.Diff(declared, looked); diff != "" {
		t.Errorf("reconcilers (-declared +looked at):\n%s", diff)
	}
}

func TestChanging(t *testing.T) {
	type inner struct{ Seen map[string]bool }
	for name, tt := range map[string]struct {
		of   any
		want []string
	}{
		"clients and options do not": {struct {
			Client client.Client
			Grace  time.Duration
			Wake   func()
		}{}, nil},
		"a map does":             {struct{ told map[string]bool }{told: nil}, []string{".told"}},
		"a lock does":            {struct{ Lock sync.Mutex }{}, []string{".Lock"}},
		"an atomic does":         {struct{ Count atomic.Int64 }{}, []string{".Count"}},
		"a channel does":         {struct{ Wake chan string }{}, []string{".Wake"}},
		"a list does":            {struct{ Last []string }{}, []string{".Last"}},
		"what is no option does": {struct{ passes int }{passes: 1}, []string{".passes"}},
		"a part of ours does":    {struct{ Cache *inner }{}, []string{".Cache.Seen"}},
	} {
		if diff := cmp.Diff(tt.want, changing(reflect.TypeOf(tt.of), nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// changing returns the fields of a struct, and of its parts of ours, that may change.
func changing(of reflect.Type, exceptions map[string]string) (out []string) {
	fields(of, nameOf(of), func(path string, field reflect.StructField) bool {
		_, excepted := exceptions[path]
		if !excepted && mayChange(field) {
			out = append(out, path)
		}
		return !excepted
	})
	return out
}

// found reports whether a struct or a part of it has a field.
func found(of reflect.Type, path string) (found bool) {
	fields(of, nameOf(of), func(at string, _ reflect.StructField) bool {
		found = found || at == path
		return true
	})
	return found
}

func nameOf(of reflect.Type) string {
	if of.Name() == "" {
		return ""
	}
	return strings.TrimPrefix(of.PkgPath(), module) + "." + of.Name()
}

// fields visits the fields of a struct, and those of its parts of ours where the visit of the part agrees.
func fields(of reflect.Type, path string, visit func(path string, field reflect.StructField) bool) {
	const deepest = 10 // a part may lead back to the whole
	for _, field := range reflect.VisibleFields(of) {
		at, part := path+"."+field.Name, field.Type
		if len(field.Index) > 1 || strings.Count(at, ".") > deepest || !visit(at, field) {
			continue
		}
		if part.Kind() == reflect.Pointer {
			part = part.Elem()
		}
		if part.Kind() == reflect.Struct && strings.HasPrefix(part.PkgPath(), strings.TrimSuffix(module, "/")) {
			fields(part, at, visit)
		}
	}
}

// mayChange reports whether a field itself may change after set-up. Options are exported.
func mayChange(field reflect.StructField) bool {
	of := field.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Chan:
		return true
	case reflect.Struct:
		return of.PkgPath() == "sync" || of.PkgPath() == "sync/atomic"
	case reflect.Interface, reflect.Func:
		return false
	default:
		return !field.IsExported()
	}
}
