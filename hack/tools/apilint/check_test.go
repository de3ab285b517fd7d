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
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		fields string
		want   []string
	}{
		"accepts a field that says what it is and how long it may be": {
			fields: "// name is a name.\n// +required\n// +kubebuilder:validation:MaxLength=9\nName string `json:\"name,omitempty\"`",
		},
		"accepts bounds on a named type": {
			fields: "// kind is a kind.\n// +optional\nKind Mode `json:\"kind,omitempty\"`",
		},
		"accepts bounds on the elements of a list by their type": {
			fields: "// modes are modes.\n// +optional\n// +listType=set\n// +kubebuilder:validation:MaxItems=3\nModes []Mode `json:\"modes,omitempty\"`",
		},
		"wants the JSON name at the start of the comment": {
			fields: "// Name is a name.\n// +required\n// +kubebuilder:validation:MaxLength=9\nName string `json:\"name,omitempty\"`",
			want:   []string{`the comment does not begin with the JSON name "name"`},
		},
		"wants to know whether a field may be left out": {
			fields: "// name is a name.\n// +kubebuilder:validation:MaxLength=9\nName string `json:\"name,omitempty\"`",
			want:   []string{"needs exactly one of the markers"},
		},
		"refuses to write optional fields without a value": {
			fields: "// name is a name.\n// +optional\n// +kubebuilder:validation:MaxLength=9\nName string `json:\"name\"`",
			want:   []string{"add omitempty or omitzero"},
		},
		"wants bounds on strings": {
			fields: "// name is a name.\n// +required\nName string `json:\"name,omitempty\"`",
			want:   []string{"has no bounds"},
		},
		"wants bounds, a merge rule and bounded elements for lists": {
			fields: "// names are names.\n// +required\nNames []string `json:\"names,omitempty\"`",
			want:   []string{"has no bounds", "add +listType"},
		},
		"wants bounds on the strings of a list": {
			fields: "// names are names.\n// +required\n// +listType=set\n// +kubebuilder:validation:MaxItems=3\nNames []string `json:\"names,omitempty\"`",
			want:   []string{"elements without bounds"},
		},
		"refuses numbers of unclear size and plain booleans": {
			fields: "// n is a number.\n// +required\nN int `json:\"n,omitempty\"`\n// b is a truth.\n// +required\nB bool `json:\"b,omitempty\"`",
			want:   []string{"use int32 or int64", "use *bool"},
		},
		"refuses pointers to lists": {
			fields: "// l is a list.\n// +required\nL *[]string `json:\"l,omitempty\"`",
			want:   []string{"has no bounds", "leave the pointer out"},
		},
		"passes over fields without a JSON name": {
			fields: "TypeMeta `json:\",inline\"`\nhidden string",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			source := "package x\n\n// Mode is a mode.\n// +kubebuilder:validation:Enum=a;b\ntype Mode string\n\ntype S struct {\n" + test.fields + "\n}\n"
			if err := os.WriteFile(filepath.Join(folder, "types.go"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, err := load(folder)
			if err != nil {
				t.Fatal(err)
			}
			got := loaded.check()
			if len(got) != len(test.want) {
				t.Fatalf("got %d findings, want %d: %q", len(got), len(test.want), got)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("finding %d is %q, want %q in it", i, got[i], want)
				}
			}
		})
	}
}

func TestLoadOfAFolderWithoutGoFilesIsAnError(t *testing.T) {
	if _, err := load(t.TempDir()); err == nil {
		t.Error("got no error")
	}
}
