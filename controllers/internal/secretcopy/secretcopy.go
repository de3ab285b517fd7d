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

// Package secretcopy writes the copies of Secrets that both managers keep next to an object in another
// namespace or cluster, and bounds what is copied.
//
// A copy carries the hash of its content among its annotations, so it is compared by its metadata: contents
// are sent and never fetched. It is written by server-side apply at the version that was compared. Which
// Secret is a copy of ours is the caller's to decide; the package never takes another one over.
package secretcopy

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// Metadata reads the metadata of a Secret; it is empty if there is none.
func Metadata(ctx context.Context, reader client.Reader, key client.ObjectKey) (metav1.ObjectMeta, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := reader.Get(ctx, key, secret); err != nil {
		return metav1.ObjectMeta{}, client.IgnoreNotFound(err)
	}
	return secret.ObjectMeta, nil
}

// Exists reports whether Metadata has found a Secret.
func Exists(current metav1.ObjectMeta) bool { return current.UID != "" }

// UpToDate reports whether a copy has the labels and annotations that it should have, the hash of its
// content among them.
func UpToDate(current metav1.ObjectMeta, desired *corev1.Secret) bool {
	return Exists(current) && carries(current.Labels, desired.Labels) && carries(current.Annotations, desired.Annotations)
}

func carries(has, wanted map[string]string) bool {
	for key, value := range wanted {
		if got, found := has[key]; !found || got != value {
			return false
		}
	}
	return true
}

// Write makes a copy, or brings the one that was read up to date, and sets the version that it has then. A copy
// that has changed since, or that was made since, is a conflict. One whose type differs, or that another client
// has made immutable, is replaced by a new one.
func Write(ctx context.Context, writer client.Client, current metav1.ObjectMeta, desired *corev1.Secret, fieldOwner string) error {
	locked := desired.DeepCopy()
	locked.UID, locked.ResourceVersion = current.UID, current.ResourceVersion
	if !Exists(current) {
		locked.ResourceVersion = patch.OnlyNew
	}
	version, err := patch.ApplyVersioned(ctx, writer, locked, fieldOwner)
	if immutable(err) && Exists(current) {
		if err := Delete(ctx, writer, current); err != nil {
			return err
		}
		return Write(ctx, writer, metav1.ObjectMeta{}, desired, fieldOwner)
	}
	desired.ResourceVersion = version
	return err
}

// immutable reports whether nothing is wrong with a write but that it changes what no update can: the type of a
// Secret, or what is marked as immutable.
func immutable(err error) bool {
	var refused *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &refused) || refused.ErrStatus.Details == nil {
		return false
	}
	return !slices.ContainsFunc(refused.ErrStatus.Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field != "type" && cause.Type != metav1.CauseTypeForbidden
	})
}

// Delete deletes exactly the copy that was read.
func Delete(ctx context.Context, writer client.Writer, current metav1.ObjectMeta) error {
	return client.IgnoreNotFound(writer.Delete(ctx, &corev1.Secret{ObjectMeta: current}, client.Preconditions{UID: &current.UID}))
}
