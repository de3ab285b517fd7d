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

package patch

import (
	"encoding/json"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestChanges(t *testing.T) {
	var requests []string
	writer, err := server.NewClient(t.Context(), apitest.Writes(&requests))
	expect.NoError(t, err)
	labeled := func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{"a": "b"} }
	specified := func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "row-1" }
	reported := func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = true }
	released := func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil }
	tests := map[string]struct {
		deleted bool
		// meanwhile happens between the read and the write.
		meanwhile func(t *testing.T, claim *bmov1alpha1.HostClaim)
		change    []func(*bmov1alpha1.HostClaim)
		want      []string
		conflict  bool
		gone      bool
	}{
		"nothing changed, nothing is sent":           {},
		"a status goes in one request":               {change: []func(*bmov1alpha1.HostClaim){reported}, want: []string{"status"}},
		"metadata and spec go in one request":        {change: []func(*bmov1alpha1.HostClaim){labeled, specified}, want: []string{"patch"}},
		"the status goes last":                       {change: []func(*bmov1alpha1.HostClaim){reported, labeled}, want: []string{"patch", "status"}},
		"an object goes with its last finalizer":     {deleted: true, change: []func(*bmov1alpha1.HostClaim){released, reported}, want: []string{"patch"}, gone: true},
		"a write since then is not overwritten":      {meanwhile: rewrite, change: []func(*bmov1alpha1.HostClaim){labeled}, want: []string{"patch"}, conflict: true},
		"nor is a status":                            {meanwhile: rewrite, change: []func(*bmov1alpha1.HostClaim){reported}, want: []string{"status"}, conflict: true},
		"a deleted object may be gone":               {deleted: true, meanwhile: release, change: []func(*bmov1alpha1.HostClaim){released}, want: []string{"patch"}, gone: true},
		"so may one of which only the status is new": {deleted: true, meanwhile: release, change: []func(*bmov1alpha1.HostClaim){reported}, want: []string{"status"}, gone: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
				Namespace: server.Namespace(t), Name: "m-1", Finalizers: []string{"example.com/kept"},
			}}
			server.Create(t, claim)
			key := client.ObjectKeyFromObject(claim)
			if tc.deleted {
				expect.NoError(t, server.Client.Delete(t.Context(), claim))
			}
			before := &bmov1alpha1.HostClaim{}
			expect.NoError(t, server.Client.Get(t.Context(), key, before))
			if tc.meanwhile != nil {
				tc.meanwhile(t, before.DeepCopy())
			}
			after := before.DeepCopy()
			for _, change := range tc.change {
				change(after)
			}
			wanted := after.DeepCopy()
			requests = nil
			err := Changes(t.Context(), writer, before, after)
			expect.That(t, apierrors.IsConflict(err) == tc.conflict && (err == nil || tc.conflict), "error is %v, want a conflict: %v", err, tc.conflict)
			expect.Equal(t, tc.want, requests)
			expect.Equal(t, wanted, after)
			got := &bmov1alpha1.HostClaim{}
			switch err := server.Client.Get(t.Context(), key, got); {
			case apierrors.IsNotFound(err) != tc.gone:
				t.Errorf("error is %v, want it gone: %v", err, tc.gone)
			case err != nil || tc.conflict:
			default:
				expect.Equal(t, []any{wanted.Labels, wanted.Spec, wanted.Status}, []any{got.Labels, got.Spec, got.Status})
			}
		})
	}
}

// rewrite writes the claim.
func rewrite(t *testing.T, claim *bmov1alpha1.HostClaim) {
	t.Helper()
	before := claim.DeepCopy()
	claim.Annotations = map[string]string{"written": "meanwhile"}
	expect.NoError(t, server.Client.Patch(t.Context(), claim, Locked(before)))
}

// A pass that changes the spec reports on the spec that it leaves, or the next one would
// have to write the same status again.
func TestChangesReportOnTheirOwnSpec(t *testing.T) {
	data := &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "nodes-0"}}
	data.Spec.Index, data.Spec.Template = ptr.To[int32](0), &infrav1.Metal3ObjectRef{Name: "nodes"}
	data.Spec.Claim = &infrav1.Metal3ObjectRef{Name: "m-1"}
	server.Create(t, data)
	after := data.DeepCopy()
	after.Spec.MetaData = &corev1.SecretReference{Name: "m-1-metadata"}
	conditions.Set(after, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Yes"})
	expect.NoError(t, Changes(t.Context(), server.Client, data, after))
	got := &infrav1.Metal3Data{}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(data), got))
	ready := conditions.Get(got, "Ready")
	if got.Generation != data.Generation+1 || ready == nil || ready.ObservedGeneration != got.Generation {
		t.Errorf("generation %d becomes %d, and the condition is %v", data.Generation, got.Generation, ready)
	}
	expect.Equal(t, data.Generation, conditions.Get(after, "Ready").ObservedGeneration)
}

// release lets a deleted claim go.
func release(t *testing.T, claim *bmov1alpha1.HostClaim) {
	t.Helper()
	before := claim.DeepCopy()
	claim.Finalizers = nil
	expect.NoError(t, server.Client.Patch(t.Context(), claim, Locked(before)))
}

// encoded is an object that counts how many times it is turned into JSON.
type encoded struct {
	*bmov1alpha1.HostClaim

	times *int
}

func (e encoded) MarshalJSON() ([]byte, error) {
	*e.times++
	return json.Marshal(e.HostClaim)
}

// A pass that changed nothing pays for no comparison as JSON.
func TestWhatIsEqualIsNotEncoded(t *testing.T) {
	times := 0
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Name: "m-1", ResourceVersion: "7"}}
	expect.NoError(t, Changes(t.Context(), server.Client, encoded{claim, &times}, encoded{claim.DeepCopy(), &times}))
	expect.Equal(t, 0, times)
}
