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
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestStatus writes statuses as our managers do: what they may come to report
// must fit.
func TestStatus(t *testing.T) {
	items := func(count int, item string) string {
		var list strings.Builder
		for i := range count {
			fmt.Fprintf(&list, "\n- "+item, i)
		}
		return list.String()
	}
	const (
		address   = "{type: InternalIP, address: 192.0.2.%d}"
		index     = "{index: %[1]d, name: m%[1]d}"
		condition = "{type: C%d, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}"
	)
	tests := map[string]struct {
		kind, status string
		refused      []string
	}{
		"a machine may have 32 addresses": {kind: "Metal3Machine", status: "addresses:" + items(32, address)},
		"a machine has at most 32 addresses": {
			kind: "Metal3Machine", status: "addresses:" + items(33, address),
			refused: []string{"status.addresses: Too many", "must have at most 32 items"},
		},
		"an address has a type that Cluster API knows": {
			kind: "Metal3Machine", status: "addresses: [{type: MAC, address: x}]",
			refused: []string{"status.addresses[0].type: Unsupported value", `"Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"`},
		},
		"an initialization that says nothing is refused": {
			kind: "Metal3Machine", status: "initialization: {}", refused: []string{"status.initialization", "should have at least 1 properties"},
		},
		"there are at most 32 conditions": {
			kind: "Metal3Machine", status: "conditions:" + items(33, condition),
			refused: []string{"status.conditions: Too many", "must have at most 32 items"},
		},
		"a condition needs a reason": {
			kind: "Metal3Cluster", status: "conditions: [{type: Ready, status: 'True', message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}]",
			refused: []string{"status.conditions[0].reason: Required value"},
		},
		"a template may serve many more than 512 machines": {kind: "Metal3DataTemplate", status: "indexes:" + items(2000, index)},
		"an index is held by one claim": {
			kind: "Metal3DataTemplate", status: "indexes: [{index: 1, name: a}, {index: 1, name: b}]",
			refused: []string{"status.indexes[1]: Duplicate value"},
		},
		"an error may be told at length":            {kind: "Metal3Data", status: "errorMessage: " + strings.Repeat("long ", 1000)},
		"an error of a claim may be told at length": {kind: "Metal3DataClaim", status: "errorMessage: " + strings.Repeat("long ", 1000)},
		"a machine may be on its way out":           {kind: "Metal3Remediation", status: "phase: Deleting machine"},
		"an unknown phase is refused with the known ones": {
			kind: "Metal3Remediation", status: "phase: Done",
			refused: []string{"status.phase: Unsupported value: \"Done\"", `"Running", "Waiting", "Deleting machine", "Failed"`},
		},
	}
	namespace := server.Namespace(t, "status", nil)
	for kind := range crds {
		object := everyField(t, kind, namespace)
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := everyField(t, test.kind, namespace)
			patch, err := yaml.YAMLToJSON([]byte("status:\n" + indented(2, test.status)))
			if err != nil {
				t.Fatal(err)
			}
			err = server.Client.Status().Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", patch),
				client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			checkAnswer(t, err, test.refused)
		})
	}
}
