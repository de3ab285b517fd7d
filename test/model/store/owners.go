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

package store

import (
	"maps"
	"reflect"
	"slices"
)

// owners is who wrote which fields of the status last, by manager and path. It is what
// managedFields are made of, as far as the managers read them.
type owners map[string]map[string]bool

// after returns the owners after a manager has changed the status: fields that
// changed are its own from then on, fields that went have no owner.
func (o owners) after(manager string, before, now any) owners {
	old, current := map[string]any{}, map[string]any{}
	leaves("", before, old)
	leaves("", now, current)
	out := owners{}
	for name, paths := range o {
		kept := maps.Clone(paths)
		maps.DeleteFunc(kept, func(path string, _ bool) bool { return !reflect.DeepEqual(old[path], current[path]) })
		out[name] = kept
	}
	if out[manager] == nil {
		out[manager] = map[string]bool{}
	}
	for path, value := range current {
		if !reflect.DeepEqual(old[path], value) {
			out[manager][path] = true
		}
	}
	maps.DeleteFunc(out, func(_ string, paths map[string]bool) bool { return len(paths) == 0 })
	return out
}

// leaves collects what is no map by its path, and that there is a map by the path
// of it and a dot. Lists count as a whole.
func leaves(path string, value any, out map[string]any) {
	object, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			out[path] = value
		}
		return
	}
	out[path+".."] = true
	for key, inner := range object {
		leaves(path+"."+key, inner, out)
	}
}

// entries are the managedFields of the status subresource.
func (o owners) entries(kind Kind) []any {
	var out []any
	for _, manager := range slices.Sorted(maps.Keys(o)) {
		out = append(out, map[string]any{
			"manager": manager, "operation": "Update", "subresource": "status",
			"apiVersion": kind.gvk().GroupVersion().String(),
		})
	}
	return out
}
