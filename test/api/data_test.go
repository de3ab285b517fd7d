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

import "testing"

func TestDataClaim(t *testing.T) {
	const empty = "template.name is empty: set it to the name of a Metal3DataTemplate of the same namespace"
	checkExamples(t, map[string]example{
		"a claim names a template":         {kind: "Metal3DataClaim", spec: "template: {name: nodes}"},
		"a claim may repeat its namespace": {kind: "Metal3DataClaim", spec: "template: {name: nodes, namespace: '${NAMESPACE}'}"},
		"a claim on a template of another namespace is refused": {
			kind: "Metal3DataClaim", spec: "template: {name: nodes, namespace: elsewhere}",
			refused: []string{
				`spec.template.namespace: Invalid value: "elsewhere": only templates of the same namespace`,
				"remove the field, and name one that is there",
			},
		},
		"a claim without a spec is refused":           {kind: "Metal3DataClaim", refused: []string{"spec: Required value"}},
		"a claim without a template is refused":       {kind: "Metal3DataClaim", spec: "{}", refused: []string{empty}},
		"a claim with a nameless template is refused": {kind: "Metal3DataClaim", spec: "template: {namespace: default}", refused: []string{empty}},
		"a claim with an empty template is refused":   {kind: "Metal3DataClaim", spec: "template: {}", refused: []string{empty}},
		"the kind of a template as in v1beta1 is unknown": {
			kind: "Metal3DataClaim", spec: "template: {name: nodes, kind: Metal3DataTemplate}",
			refused: []string{"unknown field", "spec.template.kind"},
		},
	})
}

func TestData(t *testing.T) {
	const (
		misnamed = "metadata.name does not match the spec: name the object <spec.template.name>-<spec.index>"
		empty    = "spec.template.name is empty: set it to the name of the Metal3DataTemplate"
	)
	checkExamples(t, map[string]example{
		"data is named after template and index": {
			kind: "Metal3Data", name: "nodes-12",
			spec: "index: 12\ntemplate: {name: nodes}\nclaim: {name: m}",
		},
		"an index that is left out is 0": {kind: "Metal3Data", name: "nodes-0", spec: "template: {name: nodes}"},
		"a template may itself end in a number": {
			kind: "Metal3Data", name: "nodes-1-2", spec: "index: 2\ntemplate: {name: nodes-1}",
		},
		"the name of another template is refused": {
			kind: "Metal3Data", name: "other-0", spec: "index: 0\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"the name of another index is refused": {
			kind: "Metal3Data", name: "nodes-1", spec: "index: 0\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"an index with leading zeros in the name is refused": {
			kind: "Metal3Data", name: "nodes-01", spec: "index: 1\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"the name of the template alone is refused": {
			kind: "Metal3Data", name: "nodes", spec: "index: 0\ntemplate: {name: nodes}", refused: []string{misnamed},
		},
		"data without a spec is refused":     {kind: "Metal3Data", name: "nodes-0", refused: []string{empty}},
		"data without a template is refused": {kind: "Metal3Data", name: "nodes-0", spec: "index: 0", refused: []string{empty}},
		"a nameless template is refused": {
			kind: "Metal3Data", name: "nodes-0", spec: "template: {namespace: default}", refused: []string{empty},
		},
		"an index is not negative": {
			kind: "Metal3Data", name: "nodes--1", spec: "index: -1\ntemplate: {name: nodes}",
			refused: []string{"spec.index", "should be greater than or equal to 0"},
		},
	})
}
