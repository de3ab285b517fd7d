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
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestHostClaimClass sends new classes, and changes of one.
func TestHostClaimClass(t *testing.T) {
	const valid = "controllerName: compute.example.com/machines\nnamespaceSelector: {}\n"
	tests := map[string]struct {
		name, spec string
		after      string // the changed spec; empty for a new class
		refused    []string
	}{
		"a class":                              {spec: valid},
		"a class with parameters of any shape": {spec: valid + "parameters: {size: {cores: 8}, networks: [a, b]}"},
		"a class without a controller":         {spec: "namespaceSelector: {}", refused: []string{"spec.controllerName: Required value"}},
		"a controller without a domain": {
			spec: "controllerName: machines\nnamespaceSelector: {}", refused: []string{"controllerName is not a domain, a slash and a name"},
		},
		"a class for nobody":            {spec: "controllerName: a.example/b", refused: []string{"spec.namespaceSelector: Required value"}},
		"parameters that are no object": {spec: valid + "parameters: [large]", refused: []string{"spec.parameters", "must be of type object"}},
		"a name that cannot be a label": {
			name: "a123456789012345678901234567890123456789012345678901234567890123", spec: valid, refused: []string{"the name has more than 63 characters"},
		},
		"other parameters": {spec: valid, after: valid + "parameters: {size: large}"},
		"other namespaces": {spec: valid, after: "controllerName: compute.example.com/machines\nnamespaceSelector: {matchLabels: {a: b}}"},
		"another controller": {
			spec: valid, after: "controllerName: compute.example.com/others\nnamespaceSelector: {}",
			refused: []string{"controllerName cannot be changed, since claims may have been answered: create another class"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			class := &hostclaimv1.HostClaimClass{ObjectMeta: metav1.ObjectMeta{Name: test.name}}
			if test.name == "" {
				class.GenerateName = "class-"
			}
			expect.NoError(t, yaml.UnmarshalStrict([]byte(test.spec), &class.Spec))
			err := server.Client.Create(t.Context(), class)
			if test.after != "" {
				expect.NoError(t, err)
				before := class.DeepCopy()
				class.Spec = hostclaimv1.HostClaimClassSpec{}
				expect.NoError(t, yaml.UnmarshalStrict([]byte(test.after), &class.Spec))
				err = server.Client.Patch(t.Context(), class, client.MergeFrom(before))
			}
			checkAnswer(t, err, test.refused)
			if err == nil {
				expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(class), class))
				expect.Equal(t, parametersOf(t, test.spec, test.after), class.Spec.Parameters)
			}
		})
	}
}

// parametersOf are those of the last spec, as the API server stores them.
func parametersOf(t *testing.T, specs ...string) *runtime.RawExtension {
	t.Helper()
	last := specs[0]
	if specs[1] != "" {
		last = specs[1]
	}
	var spec struct {
		Parameters map[string]any `json:"parameters"`
	}
	expect.NoError(t, yaml.Unmarshal([]byte(last), &spec))
	if spec.Parameters == nil {
		return nil
	}
	text, err := json.Marshal(spec.Parameters)
	expect.NoError(t, err)
	return &runtime.RawExtension{Raw: text}
}
