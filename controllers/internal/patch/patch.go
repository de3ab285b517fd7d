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

// Package patch writes objects as controllers do: by server-side apply, the whole object under the
// controller's one field owner; by merge patches that are locked on the version that was read; and
// the changes of a pass at its end.
package patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// SilentWebhook names the admission webhook for want of whose answer the API server has failed a write, if it is one of
// Metal3; it returns "an admission webhook" for one of another project, and nothing if that is not why. The API server
// says so by this text alone.
func SilentWebhook(err error) string {
	if !apierrors.IsInternalError(err) {
		return ""
	}
	_, after, found := strings.Cut(err.Error(), "failed calling webhook \"")
	name, _, quoted := strings.Cut(after, "\"")
	switch {
	case !found:
		return ""
	case quoted && strings.HasSuffix(name, ".metal3.io") && len(name) <= maxWebhookName:
		return "admission webhook " + name
	default:
		return "an admission webhook"
	}
}

// maxWebhookName is the limit of the API server.
const maxWebhookName = 253

// Apply applies the object and takes over fields that others have written.
// The object is not changed. With its UID set, the object is only written if it
// still exists under that UID; without, it is created when it is missing. With
// its resourceVersion set, it is only written if it has not changed since.
func Apply(ctx context.Context, writer client.Client, object client.Object, fieldOwner string) error {
	_, err := ApplyVersioned(ctx, writer, object, fieldOwner)
	return err
}

// OnlyNew is a resourceVersion that no object has. An object with it is created by Apply and
// ApplyVersioned, and one of that name that exists already is a conflict.
const OnlyNew = "1"

// ApplyVersioned is Apply, and returns the resourceVersion that the object has then.
func ApplyVersioned(ctx context.Context, writer client.Client, object client.Object, fieldOwner string) (version string, err error) {
	content, err := content(writer, object)
	if err != nil {
		return "", err
	}
	err = writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(content),
		client.FieldOwner(fieldOwner), client.ForceOwnership)
	return content.GetResourceVersion(), err
}

// content is what is sent: neither status nor fields that the API server fills.
func content(writer client.Client, object client.Object) (*unstructured.Unstructured, error) {
	gvk, err := writer.GroupVersionKindFor(object)
	if err != nil {
		return nil, fmt.Errorf("kind of %T: %w", object, err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(gvk)
	u.SetManagedFields(nil)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

// Locked is a merge patch that fails if the object has changed since it was read.
// It carries only what differs, so fields that we do not know survive.
func Locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// Conflict is the error of a pass which finds that what it decided on has changed. It counts as a
// conflict of the API server: the next pass decides anew.
func Conflict(format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: fmt.Sprintf(format, args...),
	}}
}

// IsConflict reports whether an error, or one that is joined in it, is a conflict.
func IsConflict(err error) bool {
	return slices.ContainsFunc(joined(err), apierrors.IsConflict)
}

// OnlyConflicts reports whether an error, or all that are joined in it, are conflicts.
func OnlyConflicts(err error) bool {
	return !slices.ContainsFunc(joined(err), func(err error) bool { return !apierrors.IsConflict(err) })
}

// joined returns the errors that are joined in one, or that one.
func joined(err error) (all []error) {
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) {
		return []error{err}
	}
	for _, one := range several.Unwrap() {
		all = append(all, joined(one)...)
	}
	return all
}

// ignoreGone forgets that the patch of an object met nothing to patch, if the
// object was being deleted: its last finalizer came off in an earlier pass that
// the cache has not shown yet.
func ignoreGone(object client.Object, err error) error {
	if object.GetDeletionTimestamp().IsZero() {
		return err
	}
	return client.IgnoreNotFound(err)
}

// Changes writes what a pass changed on an object: metadata and spec in one
// request, then the whole status in another, each only if it differs. Both fail
// with a conflict if the object was written since it was read. An object that is
// being deleted may be gone, and goes with its last finalizer: then its status is
// not written. Conditions that were set with the generation that was read get the one
// that the first request makes, since nothing but the pass has changed the spec. Neither
// version is changed.
func Changes(ctx context.Context, writer client.Client, before, after client.Object) error {
	if reflect.DeepEqual(before, after) {
		return nil // most passes change nothing, and a comparison as JSON costs more than all the rest of one
	}
	diff, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return fmt.Errorf("compare two versions of %s: %w", after.GetName(), err)
	}
	var changed map[string]json.RawMessage
	if err := json.Unmarshal(diff, &changed); err != nil {
		return fmt.Errorf("read the changes of %s: %w", after.GetName(), err)
	}
	_, reported := changed["status"]
	delete(changed, "status")

	base, written := before.DeepCopyObject().(client.Object), after.DeepCopyObject().(client.Object) //nolint:errcheck // a copy has the type of its original
	if len(changed) > 0 {
		if err := writer.Patch(ctx, written, Locked(base)); err != nil {
			return ignoreGone(after, err)
		}
		base.SetResourceVersion(written.GetResourceVersion())
		after = observed(after, before.GetGeneration(), written.GetGeneration())
	}
	ended := !after.GetDeletionTimestamp().IsZero() && len(after.GetFinalizers()) == 0
	if !reported || ended {
		return nil
	}
	written = after.DeepCopyObject().(client.Object) //nolint:errcheck // see above
	return ignoreGone(after, writer.Status().Patch(ctx, written, Locked(base)))
}

// observed is a copy of the object whose conditions have observed the newer generation
// where they had observed the older one.
func observed(object client.Object, older, newer int64) client.Object {
	object = object.DeepCopyObject().(client.Object) //nolint:errcheck // a copy has the type of its original
	conditioned, found := object.(conditions.Setter)
	if !found {
		return object
	}
	all := conditioned.GetConditions()
	for i := range all {
		if all[i].ObservedGeneration == older {
			all[i].ObservedGeneration = newer
		}
	}
	conditioned.SetConditions(all)
	return object
}

// Restore puts back what an object has lost of its owners and finalizers, as it does in a restore
// from a backup, and brings the API versions of these references up to date. The object is not
// changed, and not written if nothing is missing, or if it is being deleted: then the garbage
// collector takes references off. Others write the same lists: hence the lock.
func Restore(ctx context.Context, writer client.Client, object client.Object, owners []metav1.OwnerReference, finalizers ...string) error {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	restored := object.DeepCopyObject().(client.Object) //nolint:errcheck // a copy has the type of its original
	for _, owner := range owners {
		if refs := restored.GetOwnerReferences(); !util.HasExactOwnerRef(refs, owner) {
			restored.SetOwnerReferences(util.EnsureOwnerRef(refs, owner))
		}
	}
	for _, finalizer := range finalizers {
		controllerutil.AddFinalizer(restored, finalizer)
	}
	if reflect.DeepEqual(object, restored) {
		return nil
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
