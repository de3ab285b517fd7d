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
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestRestore(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "example.com/v2", Kind: "Owner", Name: "o", UID: "1", Controller: ptr.To(true)}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Other", Name: "o", UID: "2"}
	old := owner
	old.APIVersion = "example.com/v1"
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "a"}}
	server.Create(t, object)
	for name, refs := range map[string][]metav1.OwnerReference{"lost": {other}, "old version": {old, other}, "intact": {other, owner}} {
		whole := object.DeepCopy()
		object.OwnerReferences, object.Finalizers = refs, []string{"test/other"}
		expect.NoError(t, server.Client.Patch(t.Context(), object, Locked(whole)))
		for pass := range 2 {
			before := object.DeepCopy()
			expect.NoError(t, Restore(t.Context(), server.Client, object, []metav1.OwnerReference{owner}, "test/held"))
			t.Run(name, func(t *testing.T) { expect.Equal(t, before, object) })
			expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
			written := before.ResourceVersion != object.ResourceVersion
			expect.That(t, written == (pass == 0), "%s: written in pass %d: %v", name, pass, written)
		}
		got := map[string]metav1.OwnerReference{}
		for _, ref := range object.OwnerReferences {
			got[ref.Kind] = ref
		}
		if diff := cmp.Diff(map[string]metav1.OwnerReference{"Owner": owner, "Other": other}, got); diff != "" || len(object.OwnerReferences) != 2 {
			t.Errorf("%s: owners (-want +got):\n%s", name, diff)
		}
		t.Run(name, func(t *testing.T) { expect.Equal(t, []string{"test/other", "test/held"}, object.Finalizers) })
	}

	stale := object.DeepCopy()
	stale.ResourceVersion, stale.Finalizers = "1", nil
	if err := Restore(t.Context(), server.Client, stale, nil, "test/held"); !apierrors.IsConflict(err) {
		t.Errorf("an object that has changed since: %v", err)
	}
	expect.NoError(t, server.Client.Delete(t.Context(), object))
	object.DeletionTimestamp = ptr.To(metav1.Now())
	expect.NoError(t, Restore(t.Context(), server.Client, object, []metav1.OwnerReference{{Kind: "Late"}}))
}
