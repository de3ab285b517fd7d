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

package datatemplate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var anyTime = cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")

func newClaim(change func(*infrav1.Metal3DataClaim)) *infrav1.Metal3DataClaim {
	claim := &infrav1.Metal3DataClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant", Name: "m", UID: "c", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Machine", Name: "m", UID: "m3m", Controller: ptr.To(true),
			}},
		},
		Spec: infrav1.Metal3DataClaimSpec{Template: &infrav1.Metal3ObjectRef{Name: "nodes"}},
	}
	change(claim)
	return claim
}

func TestDesiredData(t *testing.T) {
	spec := infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{}, NetworkData: &infrav1.NetworkData{}}
	got := desiredData(types.NamespacedName{Namespace: "tenant", Name: "nodes"}, spec, newClaim(func(*infrav1.Metal3DataClaim) {}), 3)
	want := &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant", Name: "nodes-3", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"},
			Finalizers: []string{"metal3dataclaim.infrastructure.cluster.x-k8s.io", "metal3data.infrastructure.cluster.x-k8s.io"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3DataClaim", Name: "m", UID: "c", Controller: ptr.To(true)},
				{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Machine", Name: "m", UID: "m3m"},
			},
		},
		Spec: infrav1.Metal3DataSpec{
			Index:    ptr.To[int32](3),
			Claim:    &infrav1.Metal3ObjectRef{Name: "m", Namespace: "tenant"},
			Template: &infrav1.Metal3ObjectRef{Name: "nodes", Namespace: "tenant"},

			MetaData:    &corev1.SecretReference{Name: "m-metadata", Namespace: "tenant"},
			NetworkData: &corev1.SecretReference{Name: "m-networkdata", Namespace: "tenant"},
		},
	}
	expect.Equal(t, want, got)
}

func TestDescribeClaim(t *testing.T) {
	ready := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	running := metav1.Condition{Type: "Paused", Status: metav1.ConditionFalse, Reason: infrav1.NotPausedReason}
	const forbiddenTemplate = `Metal3DataTemplate "nodes" is in namespace "other": make a claim on a template of namespace "tenant"`
	const missing = `Metal3DataTemplate "nodes" does not exist in namespace "tenant": create it`
	const standing = `Metal3DataTemplate "nodes" is paused: remove its annotation cluster.x-k8s.io/paused`
	deleted := metav1.Now()
	pausedTemplate := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusterv1.PausedAnnotation: ""}}}
	tests := map[string]struct {
		template *infrav1.Metal3DataTemplate
		paused   bool
		claim    *infrav1.Metal3DataClaim
		want     infrav1.Metal3DataClaimStatus
	}{
		"a claim on a template that is there gets an index": {
			template: &infrav1.Metal3DataTemplate{},
			claim:    newClaim(func(*infrav1.Metal3DataClaim) {}),
			want: infrav1.Metal3DataClaimStatus{
				RenderedData: &infrav1.Metal3ObjectRef{Namespace: "tenant", Name: "nodes-0"},
				Conditions:   []metav1.Condition{running, ready(infrav1.WaitingForMetal3DataReason, `Waiting for Metal3Data "nodes-0" to be rendered`)},
			},
		},
		"a claim on a template that is missing": {
			claim: newClaim(func(*infrav1.Metal3DataClaim) {}),
			want: infrav1.Metal3DataClaimStatus{
				ErrorMessage: missing, Conditions: []metav1.Condition{running, ready(infrav1.TemplateNotFoundReason, missing)},
			},
		},
		"a claim on a template of another namespace": {
			template: &infrav1.Metal3DataTemplate{},
			claim:    newClaim(func(c *infrav1.Metal3DataClaim) { c.Spec.Template.Namespace = "other" }),
			want: infrav1.Metal3DataClaimStatus{
				ErrorMessage: forbiddenTemplate,
				Conditions:   []metav1.Condition{running, ready(infrav1.TemplateForbiddenReason, forbiddenTemplate)},
			},
		},
		"a claim of a paused Cluster": {
			template: &infrav1.Metal3DataTemplate{},
			paused:   true,
			claim:    newClaim(func(*infrav1.Metal3DataClaim) {}),
			want: infrav1.Metal3DataClaimStatus{Conditions: []metav1.Condition{
				{Type: "Paused", Status: metav1.ConditionTrue, Reason: infrav1.PausedReason, Message: `Cluster "a" is paused, its spec.paused is true`},
			}},
		},
		"a claim on a paused template": {
			template: pausedTemplate,
			claim:    newClaim(func(*infrav1.Metal3DataClaim) {}),
			want: infrav1.Metal3DataClaimStatus{
				ErrorMessage: standing, Conditions: []metav1.Condition{running, ready(infrav1.TemplatePausedReason, standing)},
			},
		},
		"a claim that has its data is told nothing of a pause of the template": {
			template: pausedTemplate,
			claim:    newClaim(func(c *infrav1.Metal3DataClaim) { c.Status.RenderedData = &infrav1.Metal3ObjectRef{Name: "nodes-0"} }),
			want:     infrav1.Metal3DataClaimStatus{RenderedData: &infrav1.Metal3ObjectRef{Name: "nodes-0"}},
		},
		"a deleted claim is told nothing": {
			claim: newClaim(func(c *infrav1.Metal3DataClaim) { c.DeletionTimestamp = &deleted }),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scope{
				key:      types.NamespacedName{Namespace: "tenant", Name: "nodes"},
				template: tc.template, clusters: map[string]*clusterv1.Cluster{
					"a": {ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(tc.paused)}},
				},
			}
			got := s.describeClaim(tc.claim, assignment{}, nil)
			anyOrder := cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type })
			expect.Equal(t, tc.want, got, anyTime, anyOrder)
		})
	}
}

// A claim whose Metal3Data cannot be created is written when that begins and
// when it ends, not at each attempt: each write would cause the next attempt.
func TestAComplaintStaysUntilTheDataExists(t *testing.T) {
	claim := newClaim(func(*infrav1.Metal3DataClaim) {})
	reserve(claim, nodes1, false)
	if claim.Status.RenderedData.Name != "nodes-1" || conditions.GetReason(claim, infrav1.ReadyCondition) != infrav1.WaitingForMetal3DataReason {
		t.Errorf("a new claim does not wait for its data: %+v", claim.Status)
	}
	complain := func() { setReady(claim, metav1.ConditionFalse, infrav1.NotReadyReason, "no quota") }
	complain()
	complained := claim.DeepCopy()
	reserve(claim, nodes1, false)
	complain()
	if diff := cmp.Diff(complained.Status, claim.Status); diff != "" {
		t.Errorf("another attempt changes the status:\n%s", diff)
	}
	reserve(claim, nodes1, true)
	if diff := cmp.Diff(complained.Status, claim.Status); diff == "" {
		t.Error("success does not lift the complaint")
	}
}

// nodes1 is the Metal3Data of index 1.
var nodes1 = infrav1.Metal3ObjectRef{Namespace: "tenant", Name: "nodes-1"}

// A claim repeats what its Metal3Data reports, and reserving its index again changes nothing of
// that.
func TestAClaimRepeatsItsData(t *testing.T) {
	data := func(errorMessage string, ready ...metav1.Condition) *infrav1.Metal3Data {
		return &infrav1.Metal3Data{
			ObjectMeta: metav1.ObjectMeta{Name: "nodes-1"},
			Status:     infrav1.Metal3DataStatus{ErrorMessage: errorMessage, Conditions: ready},
		}
	}
	ready := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: message}
	}
	tests := map[string]struct {
		data      *infrav1.Metal3Data
		want      metav1.Condition
		wantError string
	}{
		"one that has said nothing is waited for": {
			data: data(""), want: ready(metav1.ConditionFalse, "WaitingForMetal3Data", `Waiting for Metal3Data "nodes-1" to be rendered`),
		},
		"one whose address has not come yet says nothing new": {
			data: data("", ready(metav1.ConditionFalse, "WaitingForAddresses", "waits")),
			want: ready(metav1.ConditionFalse, "WaitingForMetal3Data", `Waiting for Metal3Data "nodes-1" to be rendered`),
		},
		"one whose address does not come": {
			data: data("", ready(metav1.ConditionFalse, "AddressUnavailable", "exhausted")),
			want: ready(metav1.ConditionFalse, "AddressUnavailable", "exhausted"),
		},
		"one with an error": {
			data: data("no pool", ready(metav1.ConditionFalse, "PoolNotFound", "no pool")),
			want: ready(metav1.ConditionFalse, "PoolNotFound", "no pool"), wantError: "no pool",
		},
		"one that is ready": {
			data: data("", ready(metav1.ConditionTrue, "SecretsReady", "")),
			want: ready(metav1.ConditionTrue, "SecretsReady", ""),
		},
		"one of another claim says nothing about this one": {
			data: func() *infrav1.Metal3Data {
				d := data("no", ready(metav1.ConditionTrue, "SecretsReady", ""))
				d.Name = "nodes-2"
				return d
			}(),
			want: ready(metav1.ConditionFalse, "WaitingForMetal3Data", `Waiting for Metal3Data "nodes-1" to be rendered`),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(func(*infrav1.Metal3DataClaim) {})
			reserve(claim, nodes1, false)
			repeat(claim, tc.data)
			said := claim.DeepCopy()
			reserve(claim, nodes1, true)
			repeat(claim, tc.data)
			if diff := cmp.Diff(said, claim); diff != "" {
				t.Errorf("what has been said is said again:\n%s", diff)
			}
			got := conditions.Get(claim, infrav1.ReadyCondition)
			if diff := cmp.Diff(&tc.want, got, anyTime); diff != "" || claim.Status.ErrorMessage != tc.wantError {
				t.Errorf("error message %q, Ready (-want +got):\n%s", claim.Status.ErrorMessage, diff)
			}
		})
	}
}

// TestDescribeClaimLeavesTheCacheAlone changes nothing of a claim, which is that of the cache.
func TestDescribeClaimLeavesTheCacheAlone(t *testing.T) {
	claim := newClaim(func(c *infrav1.Metal3DataClaim) { c.Status.RenderedData = &infrav1.Metal3ObjectRef{Name: "nodes-1"} })
	setReady(claim, metav1.ConditionFalse, infrav1.NotReadyReason, "before")
	data := &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Name: "nodes-2"}}
	setReady(data, metav1.ConditionTrue, infrav1.SecretsReadyReason, "")
	before := claim.DeepCopy()
	s := &scope{key: types.NamespacedName{Namespace: "tenant", Name: "nodes"}, template: &infrav1.Metal3DataTemplate{}}
	status := s.describeClaim(claim, assignment{Index: 2, Exists: true}, data)
	if diff := cmp.Diff(before, claim); diff != "" {
		t.Errorf("the claim itself changes (-before +after):\n%s", diff)
	}
	if status.RenderedData.Name != "nodes-2" || len(status.Conditions) != 2 || status.Conditions[0].Reason != infrav1.SecretsReadyReason {
		t.Errorf("status is %+v", status)
	}
}

func TestAnswersChange(t *testing.T) {
	said := func(reason string) *infrav1.Metal3Data {
		return &infrav1.Metal3Data{Status: infrav1.Metal3DataStatus{Conditions: []metav1.Condition{{Type: "Ready", Reason: reason}}}}
	}
	tests := map[string]struct {
		before, after *infrav1.Metal3Data
		want          bool
	}{
		"the same again":          {before: said("a"), after: said("a")},
		"the names of secrets":    {before: said("a"), after: &infrav1.Metal3Data{Status: said("a").Status, Spec: infrav1.Metal3DataSpec{Index: ptr.To[int32](1)}}},
		"another reason":          {before: said("a"), after: said("b"), want: true},
		"the first word":          {before: &infrav1.Metal3Data{}, after: said("a"), want: true},
		"a finalizer that is off": {before: &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"f"}}}, after: &infrav1.Metal3Data{}, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tc.want, watch.Whenever(answersChange).Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}))
		})
	}
}

func TestDescribe(t *testing.T) {
	conflicting := infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{
		IPAddressesFromPool: []infrav1.FromPool{{Key: "a", Name: "p"}, {Key: "b", Name: "p", Kind: "Other"}},
	}}
	deleted := metav1.Now()
	tests := map[string]struct {
		template *infrav1.Metal3DataTemplate
		want     string
	}{
		"a template is ready":                {template: &infrav1.Metal3DataTemplate{}, want: "Ready"},
		"one that contradicts itself is not": {template: &infrav1.Metal3DataTemplate{Spec: conflicting}, want: "InvalidTemplate"},
		"one that is deleted serves on until the end": {
			template: &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}}, want: "Deleting",
		},
		"one that is paused says so and nothing else": {
			template: &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusterv1.PausedAnnotation: ""}}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			describe(&scope{template: tc.template})
			got := ""
			for _, c := range tc.template.Status.Conditions {
				if c.Type == infrav1.ReadyCondition {
					got = c.Reason
				}
			}
			if got != tc.want {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
		})
	}
}

func TestIndexesAreSortedAndBounded(t *testing.T) {
	var data []infrav1.Metal3Data
	for i := range int32(600) {
		data = append(data, infrav1.Metal3Data{Spec: infrav1.Metal3DataSpec{
			Index: ptr.To(599 - i), Claim: &infrav1.Metal3ObjectRef{Name: fmt.Sprintf("m-%d", 599-i)},
		}})
	}
	data = append(data, infrav1.Metal3Data{}) // without a claim
	got := indexMap(data)
	if len(got) != 512 || *got[0].Index != 0 || *got[511].Index != 511 || got[511].Name != "m-511" {
		t.Errorf("%d indexes, the last is %+v", len(got), got[len(got)-1])
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	if got := cut("a" + strings.Repeat("ä", 300)); len(got) != 511 {
		t.Errorf("%d bytes", len(got))
	}
}
