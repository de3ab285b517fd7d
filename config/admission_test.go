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
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// The rule against references that hold up owners looks at what a tenant may write.
func TestRuleOnOwnersCoversTheTenantsKinds(t *testing.T) {
	var rule admissionv1.ValidatingAdmissionPolicy
	var tenant rbacv1.ClusterRole
	for path, object := range map[string]any{"admission/free_owners.yaml": &rule, "rbac/tenant_role.yaml": &tenant} {
		text, err := os.ReadFile("hostclaim/" + path)
		expect.NoError(t, err)
		expect.NoError(t, yaml.UnmarshalStrict(text, object))
	}
	var covered, written []string
	for _, r := range rule.Spec.MatchConstraints.ResourceRules {
		for _, resource := range r.Resources {
			covered = append(covered, resource+"."+r.APIGroups[0])
		}
	}
	for _, r := range tenant.Rules {
		for _, resource := range r.Resources {
			if slices.Contains(r.Verbs, "create") {
				written = append(written, resource+"."+r.APIGroups[0])
			}
		}
	}
	slices.Sort(covered)
	slices.Sort(written)
	expect.Equal(t, written, covered) // kinds that a tenant creates
}
