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
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// nearClaim has an operator that does not exist.
func nearClaim(change ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{HostSelector: bmov1alpha1.HostSelector{
		MatchExpressions: []bmov1alpha1.HostSelectorRequirement{{Key: "rack", Operator: "near", Values: []string{"a1"}}},
	}}}
	for _, f := range change {
		f(c)
	}
	return c
}

func annotated(key, value string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: value}}}
}

func TestNewClaim(t *testing.T) {
	tests := map[string]struct {
		given *bmov1alpha1.HostClaim
		says  []string // none when it is accepted
	}{
		"accepts a claim that asks for nothing": {given: &bmov1alpha1.HostClaim{}},
		"accepts an operator in lower case": {given: nearClaim(func(c *bmov1alpha1.HostClaim) {
			c.Spec.HostSelector.MatchExpressions[0].Operator = "in"
		})},
		"refuses another spelling, as baremetal-operator does": {
			given: nearClaim(func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchExpressions[0].Operator = "In" }),
			says:  []string{"spec.hostSelector.matchExpressions[0] is invalid", `operator "In" is spelled "in" in a claim`},
		},
		"refuses to compare numbers, with the remedy": {
			given: nearClaim(func(c *bmov1alpha1.HostClaim) {
				c.Spec.HostSelector.MatchExpressions[0] = bmov1alpha1.HostSelectorRequirement{Key: "size", Operator: "gt", Values: []string{"8"}}
			}),
			says: []string{`operator "gt" is not one that a HostClaim may have`, "label the hosts by class"},
		},
		"refuses an image without a checksum": {
			given: &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "http://images/os"}}},
			says:  []string{"spec.image is not accepted", "set checksum"},
		},
		"refuses an operator that does not exist, with field, value and remedy": {
			given: nearClaim(),
			says:  []string{"spec.hostSelector.matchExpressions[0] is invalid", `"near"`, "correct it, or leave it out"},
		},
		"refuses a failure domain without end": {
			given: &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{FailureDomain: strings.Repeat("d", 1000)}},
			says:  []string{"spec.failureDomain is invalid: it has 1000 characters"},
		},
		"names all faults on one line": {
			given: nearClaim(func(c *bmov1alpha1.HostClaim) {
				c.Annotations = map[string]string{"reboot.metal3.io": "now"}
				c.Spec.HostSelector.InNamespace = "A/B"
			}),
			says: []string{`"near"`, `"A/B" is no name of a namespace`, `annotation reboot.metal3.io has the value now`},
		},
		"accepts a reboot without arguments":  {given: annotated("reboot.metal3.io", "")},
		"accepts a held reboot with a mode":   {given: annotated("reboot.metal3.io/me", `{"mode":"hard"}`)},
		"accepts a reboot by force":           {given: annotated("reboot.metal3.io/me", `{"mode": "soft", "force": true}`)},
		"accepts a reboot without preference": {given: annotated("reboot.metal3.io/me", `{}`)},
		"accepts what only looks like it":     {given: annotated("reboot.metal3.io.example.com/me", "now")},
		"refuses a reboot in a mode that does not exist": {
			given: annotated("reboot.metal3.io", `{"mode":"warm"}`),
			says:  []string{`annotation reboot.metal3.io has the value {"mode":"warm"}`, `write {"mode":"hard"}`},
		},
		"refuses a reboot that is no JSON": {
			given: annotated("reboot.metal3.io/me", "true"), says: []string{"annotation reboot.metal3.io/me has the value true"},
		},
		"refuses a force that is no yes or no": {
			given: annotated("reboot.metal3.io/me", `{"force":"yes"}`), says: []string{"leave it empty"},
		},
		"refuses an argument that does not exist": {
			given: annotated("reboot.metal3.io/me", `{"modus":"hard"}`), says: []string{"annotation reboot.metal3.io/me", "modus"},
		},
		"refuses two objects": {
			given: annotated("reboot.metal3.io/me", `{}{}`), says: []string{"annotation reboot.metal3.io/me"},
		},
		"refuses what follows an object": {
			given: annotated("reboot.metal3.io/me", `{}}`), says: []string{"annotation reboot.metal3.io/me"},
		},
		"accepts the request of a claim that is restored": {given: annotated("hostclaim.metal3.io/reboot-request", "forged")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Claim{}.ValidateCreate(t.Context(), tt.given)
			expect.Must(t, (err == nil) == (tt.says == nil), "answered with %v, want %q", err, tt.says)
			for _, part := range tt.says {
				text := err.Error()
				expect.That(t, strings.Contains(text, part) && !strings.Contains(text, "\n"), "answered with %q, want one line with %q", text, part)
			}
			if _, err := (Claim{}).ValidateDelete(t.Context(), tt.given); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
	}
}

func TestRefusalOfAHugeClaimIsBrief(t *testing.T) {
	claim := nearClaim(func(c *bmov1alpha1.HostClaim) {
		for range 31 {
			c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
				bmov1alpha1.HostSelectorRequirement{Key: strings.Repeat("é", 150), Operator: "!"})
		}
	})
	_, err := Claim{}.ValidateCreate(t.Context(), claim)
	expect.That(t, err != nil && len(err.Error()) <= maxText && strings.HasSuffix(err.Error(), "…"), "answered with %v, want a text that was cut", err)
}

func TestRefusalOfManyRebootsIsBrief(t *testing.T) {
	claim := annotated("reboot.metal3.io", "now")
	for i := range 5000 {
		claim.Annotations[fmt.Sprint("reboot.metal3.io/", i)] = "now"
	}
	_, err := Claim{}.ValidateCreate(t.Context(), claim)
	expect.That(t, err != nil && len(err.Error()) <= maxText && strings.HasSuffix(err.Error(), "…"), "answered with %v, want a text that was cut", err)
}

func TestChangedClaim(t *testing.T) {
	going := metav1.Now()
	mark := func(key, value string) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) { c.Annotations = map[string]string{key: value} }
	}
	tests := map[string]struct {
		before, after *bmov1alpha1.HostClaim
		refused       bool
	}{
		"accepts another change of a claim with an old fault": {before: nearClaim(), after: nearClaim(mark("a", "b"))},
		"accepts another change beside an old reboot": {
			before: annotated("reboot.metal3.io", "now"),
			after: &bmov1alpha1.HostClaim{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"reboot.metal3.io": "now", "a": "b"}},
			},
		},
		"refuses a new fault": {before: &bmov1alpha1.HostClaim{}, after: nearClaim(), refused: true},
		"refuses a new image without a checksum": {
			before:  &bmov1alpha1.HostClaim{},
			after:   &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "http://images/os"}}},
			refused: true,
		},
		"accepts another change beside an old image without a checksum": {
			before: &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "http://images/os"}}},
			after: &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{
				Image: &bmov1alpha1.Image{URL: "http://images/os"}, PoweredOn: true,
			}},
		},
		"refuses a new fault in the failure domain": {
			before:  &bmov1alpha1.HostClaim{},
			after:   &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{FailureDomain: strings.Repeat("d", 1000)}},
			refused: true,
		},
		"refuses a reboot that changed to what cannot be understood": {
			before: annotated("reboot.metal3.io", ""), after: annotated("reboot.metal3.io", "now"), refused: true,
		},
		"accepts that a reboot is taken back": {before: annotated("reboot.metal3.io", "now"), after: &bmov1alpha1.HostClaim{}},
		"accepts anything on a claim that goes": {
			before: &bmov1alpha1.HostClaim{},
			after:  nearClaim(func(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = &going }),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := (Claim{}).ValidateUpdate(t.Context(), tt.before, tt.after)
			expect.That(t, (err != nil) == tt.refused, "answered with %v, want refused %t", err, tt.refused)
		})
	}
}
