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

package api_test

import (
	"fmt"
	"reflect"
	"testing"
)

// Manifests and stored objects of CAPM3 are taken unchanged, by the schema and by
// the webhooks; the server may add defaults and loses nothing.
func TestObjectsOfCAPM3(t *testing.T) {
	namespace := server.Namespace(t, "capm3", nil)
	for _, object := range readObjects(t, "capm3-v1beta2.yaml", namespace) {
		t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) {
			stored, err := store(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range lost(object.Object, stored.Object, "") {
				t.Errorf("not stored as it was sent: %s", path)
			}
		})
	}
}

// lost lists the paths at which stored lacks what was sent, or has another value.
func lost(sent, stored any, path string) []string {
	switch sent := sent.(type) {
	case map[string]any:
		object, _ := stored.(map[string]any)
		var paths []string
		for name, value := range sent {
			if _, found := object[name]; !found {
				paths = append(paths, path+"."+name+" is missing")
				continue
			}
			paths = append(paths, lost(value, object[name], path+"."+name)...)
		}
		return paths
	case []any:
		list, _ := stored.([]any)
		if len(list) != len(sent) {
			return []string{fmt.Sprintf("%s has %d items instead of %d", path, len(list), len(sent))}
		}
		var paths []string
		for i, value := range sent {
			paths = append(paths, lost(value, list[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return paths
	}
	if !reflect.DeepEqual(sent, stored) {
		return []string{fmt.Sprintf("%s is %v instead of %v", path, stored, sent)}
	}
	return nil
}
