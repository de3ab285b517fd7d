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

package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func fakeClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := bmov1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).Build()
}

func TestContent(t *testing.T) {
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant-a", Name: "m-1", UID: "u", ResourceVersion: "7",
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
		},
		Spec:   bmov1alpha1.HostClaimSpec{PoweredOn: true},
		Status: bmov1alpha1.HostClaimStatus{PoweredOn: true},
	}
	before := claim.DeepCopy()
	got, err := content(fakeClient(t), claim)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "metal3.io/v1alpha1",
		"kind":       "HostClaim",
		"metadata":   map[string]any{"namespace": "tenant-a", "name": "m-1", "uid": "u"},
		"spec":       map[string]any{"poweredOn": true, "hostSelector": map[string]any{}},
	}
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("what is sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, claim); diff != "" {
		t.Errorf("the object was changed (-want +got):\n%s", diff)
	}
}

func TestObject(t *testing.T) {
	c := fakeClient(t)
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m-1"},
		Spec:       bmov1alpha1.HostClaimSpec{FailureDomain: "row-1"},
	}
	for _, domain := range []string{"row-1", "row-2", ""} {
		claim.Spec.FailureDomain = domain
		if err := Object(t.Context(), c, claim, "owner"); err != nil {
			t.Fatal(err)
		}
		got := &bmov1alpha1.HostClaim{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), got); err != nil {
			t.Fatal(err)
		}
		if got.Spec.FailureDomain != domain {
			t.Errorf("failure domain is %q, want %q", got.Spec.FailureDomain, domain)
		}
	}
}

type unknown struct{ bmov1alpha1.HostClaim }

func TestObjectOfUnknownKind(t *testing.T) {
	if err := Object(t.Context(), fakeClient(t), &unknown{}, "owner"); err == nil {
		t.Error("an object of unknown kind was applied")
	}
}
