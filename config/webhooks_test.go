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
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// validated lists the resources that webhooks validate.
func validated(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("webhook/manifests.yaml")
	expect.NoError(t, err)
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
	expect.NoError(t, err)
	const condition = "  - name: spec-is-written\n    expression: request.operation == 'CREATE' || object.?spec != oldObject.?spec\n"
	got, want := strings.Count(string(text), condition), len(validated(t))-1
	expect.That(t, got == want, "%d webhooks have the condition, want %d", got, want)
}
