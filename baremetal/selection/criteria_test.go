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

package selection

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	operators "k8s.io/apimachinery/pkg/selection"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// wantsLabels and wantsExpressions ask for n labels that no host has.
func wantsLabels(n int) claimEdit {
	return func(c *bmov1alpha1.HostClaim) {
		c.Spec.HostSelector.MatchLabels = map[string]string{}
		for i := range n {
			c.Spec.HostSelector.MatchLabels[fmt.Sprintf("label-%d", i)] = "x"
		}
	}
}

func wantsExpressions(n int) claimEdit {
	return func(c *bmov1alpha1.HostClaim) {
		for i := range n {
			wants(fmt.Sprintf("expression-%d", i), "!")(c)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct {
		claim []claimEdit
		want  []string
	}{
		"an unknown operator":         {[]claimEdit{wants("rack", "near", "a1")}, []string{"matchExpressions[0]", `"near"`}},
		"values with exists":          {[]claimEdit{wants("rack", "exists", "a1")}, []string{"matchExpressions[0]"}},
		"text for gt":                 {[]claimEdit{wants("ok", "exists"), wants("rack", "gt", "x")}, []string{"matchExpressions[1]"}},
		"a key that is no label":      {[]claimEdit{wantsLabel("a b", "c")}, []string{"matchLabels"}},
		"and names every fault there": {[]claimEdit{wants("a", "x"), wants("b", "y")}, []string{"[0]", "[1]"}},
		"labels and expressions of more than the limit together": {
			[]claimEdit{wantsLabels(16), wantsExpressions(17)},
			[]string{"spec.hostSelector is invalid", "33 requirements", "at most 32", "have in common"},
		},
		"labels and expressions of more values than the limit together": {
			[]claimEdit{wantsLabels(1), wants("rack", "in", make([]string, 64)...), wants("row", "notin", make([]string, 64)...)},
			[]string{"spec.hostSelector is invalid", "129 values in all", "at most 128", "have in common"},
		},
		"a key that is too long": {
			[]claimEdit{wants(strings.Repeat("k", 318), "exists")},
			[]string{"spec.hostSelector.matchExpressions[0]", "318 characters", "at most 317"},
		},
		"a value that is too long": {
			[]claimEdit{wants("rack", "notin", "a1", strings.Repeat("v", 64))},
			[]string{"spec.hostSelector.matchExpressions[0]", "values[1]", "no more than 63"},
		},
		"a label that is too long": {
			[]claimEdit{wantsLabel("rack", strings.Repeat("v", 64))},
			[]string{"spec.hostSelector.matchLabels", "rack", "no more than 63"},
		},
		"a label with a key that is too long": {
			[]claimEdit{wantsLabel(strings.Repeat("k", 318), "v")},
			[]string{"spec.hostSelector.matchLabels", "318 characters", "at most 317"},
		},
		"an operator that is too long": {
			[]claimEdit{wants("rack", operators.Operator(strings.Repeat("!", 100_000)))},
			[]string{"spec.hostSelector.matchExpressions[0]", "100000 characters"},
		},
		"what is no name of a namespace": {
			[]claimEdit{wantsNamespace("a/b")},
			[]string{"spec.hostSelector.inNamespace", "lower case alphanumeric"},
		},
		"a namespace that is too long": {
			[]claimEdit{wantsNamespace(strings.Repeat("n", 40_000))},
			[]string{"spec.hostSelector.inNamespace", "no more than 63"},
		},
		"a failure domain that is too long": {
			[]claimEdit{wantsDomain(strings.Repeat("d", 257))},
			[]string{"spec.failureDomain", "257 characters", "at most 256"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(newClaim(tt.claim...))
			var invalid *InvalidError
			expect.Must(t, errors.As(err, &invalid), "Parse() = %v, want an InvalidError", err)
			for _, part := range tt.want {
				expect.That(t, strings.Contains(err.Error(), part), "Parse() = %q, want it to say %q", err, part)
			}
			expect.That(t, len(err.Error()) <= 1000, "Parse() repeats %d bytes of what it was given", len(err.Error()))
		})
	}
}

func TestParseAcceptsWhatIsJustWithinTheLimits(t *testing.T) {
	prefix := strings.TrimSuffix(strings.Repeat(strings.Repeat("p", 49)+".", 5)+"pppp", ".")
	longest := prefix[:253] + "/" + strings.Repeat("k", 63)
	values := make([]string, 128)
	for i := range values {
		values[i] = fmt.Sprintf("%063d", i)
	}
	tests := map[string][]claimEdit{
		"requirements":     {wantsLabels(16), wantsExpressions(16)},
		"values":           {wants(longest, "in", values...)},
		"a namespace":      {wantsNamespace(strings.Repeat("n", 63))},
		"a failure domain": {wantsDomain(strings.Repeat("d", 256))},
	}
	for name, edits := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(newClaim(edits...))
			expect.That(t, err == nil, "Parse() = %v", err)
		})
	}
}

// A selector of any size costs its reader next to nothing: it is turned down
// before its parts are looked at.
func TestParseLooksAtTheSizeFirst(t *testing.T) {
	claim := newClaim(wantsExpressions(100_000))
	allocations := testing.AllocsPerRun(10, func() {
		_, err := Parse(claim)
		expect.That(t, err != nil, "accepted")
	})
	expect.That(t, allocations <= 100, "Parse() allocated %.0f times", allocations)
}

func TestNamespaces(t *testing.T) {
	admitted := []string{"a", "b"}
	tests := map[string]struct {
		claim []claimEdit
		want  []string
	}{
		"all that admit the claim":        {nil, admitted},
		"the one that the claim wants":    {[]claimEdit{wantsNamespace("b")}, []string{"b"}},
		"none if that one does not admit": {[]claimEdit{wantsNamespace("c")}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Parse(newClaim(tt.claim...))
			expect.NoError(t, err)
			expect.Equal(t, tt.want, c.Namespaces(admitted))
			if want := newClaim(tt.claim...).Spec.HostSelector.InNamespace; c.InNamespace != want {
				t.Errorf("InNamespace = %q, want %q", c.InNamespace, want)
			}
		})
	}
}
