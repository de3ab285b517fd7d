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

package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// An empty list must differ from a missing one as it comes out of a request.
func TestEmptyNamesOfARequest(t *testing.T) {
	tests := map[string]string{
		"an empty list":         `{"spec":{"hostClaimNamespaces":{"names":[]}}}`,
		"one beside expression": `{"spec":{"hostClaimNamespaces":{"names":[],"nameMatches":"a"}}}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			p := &bmov1alpha1.HostDeployPolicy{}
			expect.NoError(t, json.Unmarshal([]byte(text), p))
			_, err := Policy{}.ValidateCreate(t.Context(), p)
			expect.Error(t, "leave hostClaimNamespaces out to admit nobody", err)
		})
	}
}

func TestRefusalOfAHugePolicyIsBrief(t *testing.T) {
	p := &bmov1alpha1.HostDeployPolicy{Spec: bmov1alpha1.HostDeployPolicySpec{
		HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{NameMatches: strings.Repeat("(", 10_000)},
	}}
	_, err := Policy{}.ValidateCreate(t.Context(), p)
	expect.That(t, err != nil && len(err.Error()) <= maxText, "answered with %v, want a text that was cut", err)
}

// The API server cuts a warning after 256 characters, and all of them after 4096.
func TestWarningsFitIntoAnAnswer(t *testing.T) {
	p := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	for i := range 100 {
		p.Annotations[fmt.Sprintf("hostclaim.metal3.io/%s%02d", strings.Repeat("share-network-data-", 3), i)] = "true"
	}
	warnings, err := Policy{}.ValidateCreate(t.Context(), p)
	expect.That(t, err == nil && len(warnings) == text.MaxFindings+1, "%d warnings, %v, want the first ones and a word on the rest", len(warnings), err)
	for _, w := range warnings {
		expect.That(t, len(w) <= 256, "a warning of %d bytes: %s", len(w), w)
	}
}

func TestPolicy(t *testing.T) {
	going := metav1.Now()
	tests := map[string]struct {
		given   bmov1alpha1.HostDeployPolicy
		refused bool // when it is created
		kept    bool // refused when it is changed
		warned  bool
	}{
		"accepts a valid policy": {
			given: bmov1alpha1.HostDeployPolicy{Spec: bmov1alpha1.HostDeployPolicySpec{
				HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant-.*"},
			}},
		},
		"refuses an invalid expression": {
			given: bmov1alpha1.HostDeployPolicy{Spec: bmov1alpha1.HostDeployPolicySpec{
				HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{NameMatches: "("},
			}},
			refused: true, kept: true,
		},
		"lets an invalid policy go": {
			given: bmov1alpha1.HostDeployPolicy{
				ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &going},
				Spec: bmov1alpha1.HostDeployPolicySpec{
					HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{NameMatches: "("},
				},
			},
			refused: true,
		},
		"refuses an empty list of names, which no typed client would write back": {
			given: bmov1alpha1.HostDeployPolicy{Spec: bmov1alpha1.HostDeployPolicySpec{
				HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: []string{}},
			}},
			refused: true, kept: true,
		},
		"refuses an empty list of names beside something else": {
			given: bmov1alpha1.HostDeployPolicy{Spec: bmov1alpha1.HostDeployPolicySpec{
				HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: []string{}, NameMatches: "tenant-.*"},
			}},
			refused: true, kept: true,
		},
		"lets a policy with an empty list of names go": {
			given: bmov1alpha1.HostDeployPolicy{
				ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &going},
				Spec: bmov1alpha1.HostDeployPolicySpec{
					HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: []string{}},
				},
			},
			refused: true,
		},
		"warns of a policy for nobody": {warned: true},
		"warns of a policy for everybody": {
			given: bmov1alpha1.HostDeployPolicy{Spec: bmov1alpha1.HostDeployPolicySpec{
				HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{},
			}},
			warned: true,
		},
		"warns of an option that does not exist": {
			given: bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{
				Annotations: map[string]string{"hostclaim.metal3.io/publish-label": ".*"},
			}},
			warned: true,
		},
		"refuses an option with a value that cannot be understood": {
			given: bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{
				Annotations: map[string]string{"hostclaim.metal3.io/publish-labels": "("},
			}},
			refused: true, kept: true, warned: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			warnings, err := Policy{}.ValidateCreate(t.Context(), &tt.given)
			expect.That(t, (err != nil) == tt.refused && (len(warnings) > 0) == tt.warned, "create: %v, %v, want refused %t, warned %t", warnings, err, tt.refused, tt.warned)
			warnings, err = Policy{}.ValidateUpdate(t.Context(), nil, &tt.given)
			expect.That(t, (err != nil) == tt.kept && (len(warnings) > 0) == tt.warned, "update: %v, %v, want refused %t, warned %t", warnings, err, tt.kept, tt.warned)
			if _, err := (Policy{}).ValidateDelete(t.Context(), &tt.given); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
	}
}
