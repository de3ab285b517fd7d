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
	"os"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

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
	got, err := content(server.Client, claim)
	expect.NoError(t, err)
	want := map[string]any{
		"apiVersion": "metal3.io/v1alpha1",
		"kind":       "HostClaim",
		"metadata":   map[string]any{"namespace": "tenant-a", "name": "m-1", "uid": "u", "resourceVersion": "7"},
		"spec":       map[string]any{"poweredOn": true, "hostSelector": map[string]any{}},
	}
	expect.Equal(t, want, got.Object)
	expect.Equal(t, before, claim)
}

// TestObject follows an object through several applies.
func TestObject(t *testing.T) {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "m-1"}}
	got := &bmov1alpha1.HostClaim{}
	write := func(domain string) error {
		claim.Spec.FailureDomain = domain
		err := Apply(t.Context(), server.Client, claim, "owner")
		get := server.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), got)
		expect.Must(t, get == nil, "%v", get)
		return err
	}
	for _, domain := range []string{"row-1", "row-2", ""} {
		expect.NoError(t, write(domain))
		expect.Equal(t, domain, got.Spec.FailureDomain)
	}

	claim.UID, claim.ResourceVersion = got.UID, got.ResourceVersion
	expect.NoError(t, write("row-3"))
	if err := write("row-4"); !apierrors.IsConflict(err) || got.Spec.FailureDomain != "row-3" {
		t.Errorf("an object that was written since: %v, failure domain %q", err, got.Spec.FailureDomain)
	}
	claim.UID = "other"
	if err := write("row-5"); !apierrors.IsConflict(err) || got.Spec.FailureDomain != "row-3" {
		t.Errorf("an object that was made anew since: %v, failure domain %q", err, got.Spec.FailureDomain)
	}
	claim.Name, claim.ResourceVersion = "m-2", ""
	if err := Apply(t.Context(), server.Client, claim, "owner"); !apierrors.IsConflict(err) {
		t.Errorf("an object that is gone: %v", err)
	}
}

type unknown struct{ bmov1alpha1.HostClaim }

func TestObjectOfUnknownKind(t *testing.T) {
	expect.That(t, Apply(t.Context(), server.Client, &unknown{}, "owner") != nil, "an object of unknown kind was applied")
}

// An object that must be new is made in one request, and never takes over another of its name.
func TestOnlyNew(t *testing.T) {
	wanted := func(powered bool) *bmov1alpha1.HostClaim {
		return &bmov1alpha1.HostClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "only-new", ResourceVersion: OnlyNew},
			Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: powered},
		}
	}
	version, err := ApplyVersioned(t.Context(), server.Client, wanted(true), "me")
	expect.Must(t, err == nil && version != "" && version != OnlyNew, "made as version %q, error %v", version, err)
	if _, err := ApplyVersioned(t.Context(), server.Client, wanted(false), "other"); !apierrors.IsConflict(err) {
		t.Errorf("a second one: error %v, want a conflict", err)
	}
	found := &bmov1alpha1.HostClaim{}
	expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(wanted(true)), found))
	expect.That(t, found.Spec.PoweredOn && found.ResourceVersion == version, "it became %v, version %s instead of %s", found.Spec, found.ResourceVersion, version)
}
