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

package policies

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func newPolicy(c *bmov1alpha1.HostClaimNamespaces) *bmov1alpha1.HostDeployPolicy {
	return &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "p"},
		Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: c},
	}
}

func reasons(warnings []warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.reason)
	}
	return out
}

func TestWarningsOf(t *testing.T) {
	tests := map[string]struct {
		given *bmov1alpha1.HostClaimNamespaces
		want  []string
	}{
		"a policy that admits no namespace":         {nil, []string{nobodyReason}},
		"nothing about names":                       {&bmov1alpha1.HostClaimNamespaces{Names: []string{"a"}}, nil},
		"an invalid expression":                     {&bmov1alpha1.HostClaimNamespaces{NameMatches: "("}, []string{invalidReason}},
		"a policy that admits everybody":            {&bmov1alpha1.HostClaimNamespaces{}, []string{everybodyReason}},
		"an empty list of names":                    {&bmov1alpha1.HostClaimNamespaces{Names: []string{}}, []string{emptyNamesReason}},
		"an expression that matches in part":        {&bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant"}, []string{partMatchesReason}},
		"nothing about an expression for the whole": {&bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant-."}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := reasons(warningsOf(newPolicy(tt.given), []string{"default", "tenant-a", "tenant-b"}))
			expect.Equal(t, tt.want, got)
		})
	}
}

func TestWarningsOfUnknownOptions(t *testing.T) {
	tests := map[string]struct {
		given *bmov1alpha1.HostClaimNamespaces
		want  []string
	}{
		"a valid policy":    {&bmov1alpha1.HostClaimNamespaces{Names: []string{"a"}}, []string{unknownOptionReason}},
		"an invalid policy": {&bmov1alpha1.HostClaimNamespaces{NameMatches: "("}, []string{invalidReason, unknownOptionReason}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPolicy(tt.given)
			p.Annotations = map[string]string{"hostclaim.metal3.io/publish-label": ".*"}
			got := warningsOf(p, nil)
			if diff := cmp.Diff(tt.want, reasons(got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			note := got[len(got)-1].note
			expect.That(t, strings.HasSuffix(note, "did you mean hostclaim.metal3.io/publish-labels?"), "the note %q does not name the option that was meant", note)
		})
	}
}

// The API server refuses an event whose note is too long.
func TestNotesStayShort(t *testing.T) {
	many := make([]string, 400)
	for i := range many {
		many[i] = fmt.Sprintf("tenant-%03d", i)
	}
	want := "nameMatches must match the whole name, so it does not admit " +
		strings.Join(many[:16], ", ") + ", … and 384 more; write .* around it if it should"
	warnings := warningsOf(newPolicy(&bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant"}), many)
	expect.Equal(t, []warning{{partMatchesReason, want}}, warnings, cmp.AllowUnexported(warning{}))
	expect.That(t, len(want) <= text.MaxNote, "the note has %d bytes", len(want))
}

// Of too many policies in a namespace the youngest are warned that they do not count, and are
// looked at again when they do.
func TestPoliciesThatDoNotCountAreTold(t *testing.T) {
	scheme := runtime.NewScheme()
	expect.NoError(t, errors.Join(bmov1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)))
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	for n := range policy.MaxPerNamespace + 2 {
		p := newPolicy(&bmov1alpha1.HostClaimNamespaces{})
		p.Name, p.CreationTimestamp = fmt.Sprint("p", n), metav1.NewTime(time.Unix(int64(1000+n), 0))
		expect.NoError(t, c.Create(t.Context(), p))
	}
	registry, recorder := prometheus.NewRegistry(), events.NewFakeRecorder(10)
	r := New(c, recorder, registry)
	warned := func(name string) (told []string) {
		t.Helper()
		key := types.NamespacedName{Namespace: "infra", Name: name}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		for len(recorder.Events) > 0 {
			told = append(told, strings.Fields(<-recorder.Events)[1])
		}
		return told
	}
	for name, want := range map[string]string{"p99": everybodyReason, "p100": tooManyReason, "p101": tooManyReason} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, []string{want}, warned(name)) })
	}
	gone := newPolicy(nil)
	gone.Name = "p50"
	expect.NoError(t, c.Delete(t.Context(), gone))
	var woken []string
	for _, request := range r.atTheBound(t.Context(), gone) {
		woken = append(woken, request.Name)
	}
	expect.Equal(t, []string{"p100", "p101"}, woken)
	expect.Equal(t, []string{everybodyReason}, warned("p100"))
	expect.Equal(t, []string(nil), warned("p50"))
	want := `
# HELP hostclaim_policy_warnings Faults of a HostDeployPolicy, by reason.
# TYPE hostclaim_policy_warnings gauge
hostclaim_policy_warnings{name="p100",namespace="infra",reason="AdmitsEverybody"} 1
hostclaim_policy_warnings{name="p101",namespace="infra",reason="TooManyPolicies"} 1
hostclaim_policy_warnings{name="p99",namespace="infra",reason="AdmitsEverybody"} 1
`
	expect.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want)))
}

func TestEachVersionIsCompiledOnce(t *testing.T) {
	at := func(uid types.UID, version, matches string) bmov1alpha1.HostDeployPolicy {
		return bmov1alpha1.HostDeployPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: string(uid), UID: uid, ResourceVersion: version},
			Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{NameMatches: matches}},
		}
	}
	a, b, tenant := at("a", "1", "tenant"), at("b", "1", "("), policy.Namespace{Name: "tenant"}
	evaluator := Evaluator{}
	first := evaluator.compileAll([]bmov1alpha1.HostDeployPolicy{a, b})
	again := evaluator.compileAll([]bmov1alpha1.HostDeployPolicy{a, b})
	expect.That(t, first[0] == again[0] && first[1] == again[1] && first[0] == evaluator.compile(&a), "a version was compiled twice")
	expect.That(t, first[0].Admits(tenant) && first[1].Err() != nil, "a valid policy does not admit, or an invalid one has no error")

	changed := at("a", "2", "other")
	expect.That(t, !evaluator.compile(&changed).Admits(tenant), "the new version of a policy admits what only the old one did")
	recreated := at("c", "1", "other")
	expect.That(t, !evaluator.compile(&recreated).Admits(tenant), "another policy with the same resourceVersion is taken for the first")

	evaluator.compileAll([]bmov1alpha1.HostDeployPolicy{changed})
	expect.Equal(t, 1, len(evaluator.compiled))
}
