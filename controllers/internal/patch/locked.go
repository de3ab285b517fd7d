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
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
