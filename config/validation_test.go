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

package config

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// rule is a row of docs/reference/validation.md: where something is checked, and by
// what.
type rule struct {
	kind, path, by string
}

// TestValidation holds the tables of docs/reference/validation.md to the CRDs and
// to the webhooks: each rule of CEL has a row and each row has a rule, and so has
// each kind with a webhook.
func TestValidation(t *testing.T) {
	documented := documentedRules(t)
	checked := celRules(t)
	if len(documented) < 30 || len(checked) < 30 {
		t.Fatalf("%d rules documented, %d found: has the form of the tables changed?", len(documented), len(checked))
	}
	for _, r := range checked {
		if !slices.ContainsFunc(documented, func(d rule) bool { return d.covers(r) }) {
			t.Errorf("validation.md lacks the rule on %s of %s", r.path, r.kind)
		}
	}
	for _, d := range documented {
		if d.by == "CEL" && !slices.ContainsFunc(checked, d.covers) {
			t.Errorf("validation.md has a rule on %s of %s, the CRD has none", d.path, d.kind)
		}
	}
	kinds := map[string]bool{}
	for _, d := range documented {
		if d.by == "webhook" {
			kinds[strings.ToLower(d.kind)+"s"] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(kinds)), validated(t); !slices.Equal(got, want) {
		t.Errorf("validation.md has rules of webhooks on %q, config/webhook has webhooks on %q", got, want)
	}
}

// covers says whether a row speaks of a rule. An asterisk stands for any name.
func (r rule) covers(other rule) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(r.path), `\*`, `[^.\[]+`)
	return r.kind == other.kind && r.by == other.by && regexp.MustCompile("^"+pattern+"$").MatchString(other.path)
}

// documentedRules reads the tables.
func documentedRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("../docs/reference/validation.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	var kind string
	for line := range strings.Lines(string(text)) {
		if heading, isHeading := strings.CutPrefix(line, "## "); isHeading {
			kind = strings.TrimSpace(heading)
		}
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || cells[0] == "| Field" {
			continue
		}
		for field := range strings.SplitSeq(strings.TrimPrefix(cells[0], "| "), ", ") {
			path := strings.Trim(field, "`")
			if path == "the object" {
				path = ""
			}
			rules = append(rules, rule{kind: kind, path: path, by: strings.TrimSuffix(cells[2], " |")})
		}
	}
	return rules
}

// celRules lists where the CRDs have rules. A template has those of what is made
// from it.
func celRules(t *testing.T) []rule {
	t.Helper()
	files, err := CRDs.ReadDir("crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, file := range files {
		text, err := CRDs.ReadFile("crd/bases/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			for _, path := range rulesBelow(*version.Schema.OpenAPIV3Schema, "") {
				kind := crd.Spec.Names.Kind
				if inner, isTemplate := strings.CutPrefix(path, "spec.template."); isTemplate {
					kind, path = strings.TrimSuffix(kind, "Template"), inner
				}
				rules = append(rules, rule{kind: kind, path: path, by: "CEL"})
			}
		}
	}
	return rules
}

// rulesBelow lists the paths in a schema that have rules.
func rulesBelow(schema apiextensionsv1.JSONSchemaProps, path string) []string {
	var paths []string
	if len(schema.XValidations) > 0 {
		paths = append(paths, path)
	}
	for name, field := range schema.Properties {
		paths = append(paths, rulesBelow(field, strings.TrimPrefix(path+"."+name, "."))...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		paths = append(paths, rulesBelow(*schema.Items.Schema, path+"[]")...)
	}
	return paths
}

// validated lists the resources that webhooks validate.
func validated(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, path := range regexp.MustCompile(`/validate-[a-z0-9-]+-([a-z0-9]+)\n`).FindAllStringSubmatch(string(text), -1) {
		resources = append(resources, path[1]+"s")
	}
	slices.Sort(resources)
	return slices.Compact(resources) // one has a webhook for its size, too
}

// TestWebhooksAreAskedAboutSpecs shows that all validating webhooks are asked under the same condition, but
// that of Metal3Clusters, whose rule is about an annotation. What the condition does, test/api shows.
func TestWebhooksAreAskedAboutSpecs(t *testing.T) {
	text, err := os.ReadFile("webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const condition = "  - name: spec-is-written\n    expression: request.operation == 'CREATE' || object.?spec != oldObject.?spec\n"
	if got, want := strings.Count(string(text), condition), len(validated(t))-1; got != want {
		t.Errorf("%d webhooks have the condition, want %d", got, want)
	}
}
