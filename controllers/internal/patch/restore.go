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
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Restore puts back what an object has lost of its owners and finalizers, as it does in a restore
// from a backup, and brings the API versions of these references up to date. The object is not
// changed, and not written if nothing is missing, or if it is being deleted: then the garbage
// collector takes references off. Others write the same lists: hence the lock.
func Restore(ctx context.Context, writer client.Client, object client.Object, owners []metav1.OwnerReference, finalizers ...string) error {
	if !object.GetDeletionTimestamp().IsZero() || intact(object, owners, finalizers) {
		return nil
	}
	restored, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	for _, owner := range owners {
		restored.SetOwnerReferences(util.EnsureOwnerRef(restored.GetOwnerReferences(), owner))
	}
	for _, finalizer := range finalizers {
		controllerutil.AddFinalizer(restored, finalizer)
	}
	if err := writer.Patch(ctx, restored, Locked(object)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("restore owners and finalizers of %s: %w", object.GetName(), err)
	}
	return nil
}

// ControlledBy is metav1.NewControllerRef without what holds up the deletion of the owner in the
// foreground.
func ControlledBy(owner metav1.Object, gvk schema.GroupVersionKind) metav1.OwnerReference {
	ref := metav1.NewControllerRef(owner, gvk)
	ref.BlockOwnerDeletion = nil
	return *ref
}

// intact reports whether nothing is missing.
func intact(object client.Object, owners []metav1.OwnerReference, finalizers []string) bool {
	for _, owner := range owners {
		if !util.HasExactOwnerRef(object.GetOwnerReferences(), owner) {
			return false
		}
	}
	return !slices.ContainsFunc(finalizers, func(f string) bool { return !controllerutil.ContainsFinalizer(object, f) })
}
