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

package identity

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var (
	owner  = claims.Owner{Namespace: "tenant-a", Name: "m-1", UID: "uid-1"}
	ref    = Ref{Namespace: "tenant-a", Secret: "hosts", Context: "x"}
	target = Target{Server: "https://hosts.example:6443", CAHash: "ca", Namespace: "a"}
)

const origin = "0f0e8d5a-0000-4000-8000-000000000001"

func recorded(change ...func(*Record)) Record {
	r := NewRecord(owner, ref, target, origin)
	for _, f := range change {
		f(&r)
	}
	return r
}

// without is the record as its annotation would be without a field.
func without(t *testing.T, field string) map[string]string {
	t.Helper()
	annotations := recorded().Annotations()
	var fields map[string]any
	expect.NoError(t, json.Unmarshal([]byte(annotations[infrav1.EffectiveIdentityAnnotation]), &fields))
	_, found := fields[field]
	expect.Must(t, found, "no field %s in %v", field, fields)
	delete(fields, field)
	text, err := json.Marshal(fields)
	expect.NoError(t, err)
	annotations[infrav1.EffectiveIdentityAnnotation] = string(text)
	return annotations
}

func TestRead(t *testing.T) {
	moved := owner
	moved.UID = "uid-2"
	renamed, elsewhere := owner, owner
	renamed.Name, elsewhere.Namespace = "m-2", "tenant-b"
	tests := map[string]struct {
		owner       claims.Owner
		annotations map[string]string
		want        bool
		problem     string
	}{
		"a machine that never wrote elsewhere has none":        {owner: owner},
		"what was written is read":                             {owner: owner, annotations: recorded().Annotations(), want: true},
		"a machine that was moved has it still":                {owner: moved, annotations: recorded().Annotations(), want: true},
		"a copy under another name has none":                   {owner: renamed, annotations: recorded().Annotations()},
		"a copy in another namespace has none":                 {owner: elsewhere, annotations: recorded().Annotations()},
		"an origin alone, from a template, is none":            {owner: owner, annotations: map[string]string{infrav1.OriginKey: origin}},
		"what cannot be read is no reason to think of nothing": {owner: owner, annotations: map[string]string{infrav1.EffectiveIdentityAnnotation: "{"}, problem: "InvalidEffectiveIdentity"},
		"a record without a server is none to act on":          {owner: owner, annotations: without(t, "server"), problem: "InvalidEffectiveIdentity"},
		"a record without a namespace is none to act on":       {owner: owner, annotations: without(t, "namespace"), problem: "InvalidEffectiveIdentity"},
		"a record without an origin is none to act on":         {owner: owner, annotations: without(t, "origin"), problem: "InvalidEffectiveIdentity"},
		"a record without its machine is none to act on":       {owner: owner, annotations: without(t, "machine"), problem: "InvalidEffectiveIdentity"},
		"a record without a UID is none to act on":             {owner: owner, annotations: without(t, "uid"), problem: "InvalidEffectiveIdentity"},
		"a record without a secret is none to act on":          {owner: owner, annotations: without(t, "secret"), problem: "InvalidEffectiveIdentity"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, found, problem := Read(tc.owner, tc.annotations)
			expect.Must(t, found == tc.want && (problem != nil) == (tc.problem != ""), "found %v, problem %v", found, problem)
			expect.That(t, problem == nil || problem.Reason == tc.problem && strings.Contains(problem.Error(), infrav1.EffectiveIdentityAnnotation), "problem is %v", problem)
			if diff := cmp.Diff(recorded(), got); found && diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
	expect.Equal(t, origin, recorded().Annotations()[infrav1.OriginKey])
}

func TestNote(t *testing.T) {
	kept := recorded(func(r *Record) { r.Claim = "m-1" })
	tests := map[string]struct {
		record Record
		asked  *infrav1.IdentityReference
		want   string // part of the note; empty for none
	}{
		"what was recorded is asked for":                    {recorded(), &infrav1.IdentityReference{Name: "hosts", Context: "x"}, ""},
		"another Secret counts for new machines":            {recorded(), &infrav1.IdentityReference{Name: "m", Context: "x"}, `keeps Secret "hosts"`},
		"another context is another identity":               {recorded(), &infrav1.IdentityReference{Name: "hosts"}, `keeps Secret "hosts"`},
		"what was recorded needs no reference":              {recorded(), nil, `keeps Secret "hosts"`},
		"a claim that was handed over stays where it is":    {kept, &infrav1.IdentityReference{Name: "hosts", Context: "x"}, `HostClaim "m-1" stays`},
		"another Secret comes before a claim that is there": {kept, &infrav1.IdentityReference{Name: "m"}, `keeps Secret "hosts"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := tc.record.Note(tc.asked)
			expect.That(t, (got != "") == (tc.want != "") && strings.Contains(got, tc.want), "note is %q, want %q", got, tc.want)
		})
	}
}

func TestFollow(t *testing.T) {
	at := func(server, ca, namespace string) Target {
		return Target{Server: server, CAHash: ca, Namespace: namespace}
	}
	const here = "https://hosts.example:6443"
	tests := map[string]struct {
		now       Target
		confirmed string
		moved     bool
	}{
		"the same place": {now: target},
		"other authorities at the same place are rotation":  {now: at(here, "other", "a")},
		"the authorities of the system are rotation too":    {now: at(here, "", "a")},
		"another namespace is another place":                {now: at(here, "ca", "b"), moved: true},
		"another server is another place":                   {now: at("https://other.example:6443", "ca", "a"), moved: true},
		"another port is another place":                     {now: at("https://hosts.example", "ca", "a"), moved: true},
		"another path is another place":                     {now: at(here+"/k8s/clusters/1", "ca", "a"), moved: true},
		"what is confirmed counts":                          {now: at("https://other.example", "ca", "b"), confirmed: "https://other.example/b"},
		"what was confirmed for another place does not":     {now: at("https://other.example", "ca", "b"), confirmed: "https://other.example/a", moved: true},
		"what was confirmed for another server does not":    {now: at("https://third.example", "ca", "b"), confirmed: "https://other.example/b", moved: true},
		"a word is no confirmation":                         {now: at("https://other.example", "ca", "b"), confirmed: "true", moved: true},
		"a confirmation of where it is already is harmless": {now: target, confirmed: here + "/a"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, problem := recorded().Follow(tc.now, tc.confirmed)
			expect.Must(t, (problem != nil) == tc.moved, "problem is %v", problem)
			want := recorded(func(r *Record) {
				if !tc.moved {
					r.Target = tc.now
				}
			})
			expect.Equal(t, want, got)
			if problem == nil {
				return
			}
			for _, part := range []string{"hosts", here + "/a", tc.now.Place(), infrav1.ConfirmIdentityMoveAnnotation} {
				expect.That(t, problem.Reason == "IdentityMoved" && strings.Contains(problem.Message, part), "%v does not say %q", problem, part)
			}
			_, again := recorded().Follow(tc.now, tc.now.Place())
			expect.That(t, again == nil, "what the message asks for does not help: %v", again)
		})
	}
}

func TestStandingOf(t *testing.T) {
	claim := func(origin string, consumer types.UID) *bmov1alpha1.HostClaim {
		c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{infrav1.OriginKey: origin}}}
		if consumer != "" {
			c.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Name: "m-1", UID: consumer}
		}
		return c
	}
	moved := recorded(func(r *Record) { r.UID = "uid-before" })
	tests := map[string]struct {
		claim  *bmov1alpha1.HostClaim
		record Record
		want   Standing
	}{
		"a claim that names the machine is its own":                  {claim(origin, "uid-1"), recorded(), Held},
		"a claim of another origin is foreign":                       {claim("other", "uid-1"), recorded(), Foreign},
		"a claim without an origin is foreign":                       {claim("", ""), recorded(), Foreign},
		"nothing belongs to a machine without an origin":             {claim("", "uid-1"), Record{}, Foreign},
		"a machine that was moved inherits its claim":                {claim(origin, "uid-before"), moved, Held},
		"a machine that was moved twice inherits its claim":          {claim(origin, "uid-third"), moved, Held},
		"a claim that was taken over already is its own":             {claim(origin, "uid-1"), moved, Held},
		"a machine does not take back what its copy has":             {claim(origin, "uid-copy"), recorded(), TakenOver},
		"a claim that names nobody waits for the one that was moved": {claim(origin, ""), moved, Held},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, StandingOf(tc.claim, owner, tc.record)) })
	}
}
