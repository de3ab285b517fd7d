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

package hostclaims

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// How claims and facts are read from an API server is shown by the stories of
// the module test; here is how one of them is chosen.

// bound is a claim that has a host and points at its facts.
func bound(change ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m-1", UID: "claim-uid"},
		Status: bmov1alpha1.HostClaimStatus{
			BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"},
			HardwareData:  &bmov1alpha1.ObjectReference{Namespace: "tenant-a", Name: "m-1-hostclaim"},
			Conditions:    []metav1.Condition{{Type: "Associated", Status: "True"}},
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func TestOldest(t *testing.T) {
	claim := func(name string, minute int) bmov1alpha1.HostClaim {
		return bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 12, minute, 0, 0, time.UTC)),
		}}
	}
	tests := map[string]struct {
		claims []bmov1alpha1.HostClaim
		want   string
	}{
		"the only claim is the machine's":              {claims: []bmov1alpha1.HostClaim{claim("x", 1)}, want: "x"},
		"the older of two claims stays the machine's":  {claims: []bmov1alpha1.HostClaim{claim("a", 2), claim("b", 1)}, want: "b"},
		"the name decides between two of the same age": {claims: []bmov1alpha1.HostClaim{claim("c", 1), claim("a", 1), claim("b", 1)}, want: "a"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, oldest(tc.claims).Name) })
	}
}

func TestFactsOf(t *testing.T) {
	tests := map[string]struct {
		claim *bmov1alpha1.HostClaim
		want  types.NamespacedName
	}{
		"the facts are those that the claim points at": {
			claim: bound(), want: types.NamespacedName{Namespace: "tenant-a", Name: "m-1-hostclaim"},
		},
		"nothing is known while no host is bound": {
			claim: bound(func(c *bmov1alpha1.HostClaim) { c.Status.Conditions = nil }),
		},
		"nothing is known while the claim points at nothing": {
			claim: bound(func(c *bmov1alpha1.HostClaim) { c.Status.HardwareData = nil }),
		},
		"nothing is known while the claim names nothing": {
			claim: bound(func(c *bmov1alpha1.HostClaim) { c.Status.HardwareData.Name = "" }),
		},
		"facts of another namespace are not read": {
			claim: bound(func(c *bmov1alpha1.HostClaim) { c.Status.HardwareData.Namespace = "infra" }),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, published := factsOf(tc.claim)
			if diff := cmp.Diff(tc.want, got); diff != "" || published != (tc.want.Name != "") {
				t.Errorf("published: %v, facts (-want +got):\n%s", published, diff)
			}
		})
	}
}

func TestOwnedBy(t *testing.T) {
	data := func(owners ...types.UID) *bmov1alpha1.HardwareData {
		d := &bmov1alpha1.HardwareData{}
		for _, uid := range owners {
			d.OwnerReferences = append(d.OwnerReferences, metav1.OwnerReference{Kind: "HostClaim", Name: "m-1", UID: uid})
		}
		return d
	}
	tests := map[string]struct {
		data *bmov1alpha1.HardwareData
		want bool
	}{
		"facts that the claim owns":                  {data: data("other", "claim-uid"), want: true},
		"facts that something else has written":      {data: data()},
		"facts of an earlier claim of that name":     {data: data("earlier")},
		"facts that no owner vouches for by any UID": {data: data("")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, claims.OwnedBy(tc.data, bound().UID)) })
	}
}

func TestIndexes(t *testing.T) {
	facts := &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{infrav1.HostUIDAnnotation: "host-uid"},
	}}
	consumed := bound(func(c *bmov1alpha1.HostClaim) {
		c.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", UID: "uid-1"}
	})
	moved := bound(func(c *bmov1alpha1.HostClaim) {
		c.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", UID: "before"}
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Metal3Machine", Name: "m-1", UID: "uid-1", Controller: ptr.To(true)}}
	})
	nameless := bound(func(c *bmov1alpha1.HostClaim) {
		c.Spec.ConsumerRef, c.OwnerReferences = &corev1.ObjectReference{Kind: "Metal3Machine"}, moved.OwnerReferences
	})
	tests := map[string]struct {
		extract client.IndexerFunc
		object  client.Object
		want    []string
	}{
		"published facts by their host":       {extract: watch.Index(hostUID), object: facts, want: []string{"host-uid"}},
		"foreign facts not at all":            {extract: watch.Index(hostUID), object: &bmov1alpha1.HardwareData{}},
		"a claim by its consumer":             {extract: watch.Index(consumerUIDs), object: consumed, want: []string{"uid-1"}},
		"a moved claim by its owner, too":     {extract: watch.Index(consumerUIDs), object: moved, want: []string{"before", "uid-1"}},
		"a claim whose consumer has no UID":   {extract: watch.Index(consumerUIDs), object: nameless, want: []string{"uid-1"}},
		"a claim without consumer not at all": {extract: watch.Index(consumerUIDs), object: bound()},
		"something else not at all":           {extract: watch.Index(consumerUIDs), object: facts},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, tc.extract(tc.object)) })
	}
}
