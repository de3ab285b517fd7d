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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
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
	return Exists(current) && labels.SelectorFromSet(desired.Labels).Matches(labels.Set(current.Labels)) &&
		labels.SelectorFromSet(desired.Annotations).Matches(labels.Set(current.Annotations))
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

const (
	// Burst is how many bytes may be copied at once for the claims of one namespace: user data of
	// 64 KiB for 250 servers.
	Burst = 16 << 20
	// PerSecond is how many bytes a second follow: 75 MiB between two compactions of etcd, which
	// come every 5 minutes.
	PerSecond = 256 << 10
)

// Size is what the budget is charged for a copy: its content, and 1 KiB for all the rest.
func Size(secret *corev1.Secret) int {
	size := 1 << 10
	for _, value := range secret.Data {
		size += len(value)
	}
	return size
}

// Budget bounds what is copied for the claims of one namespace. The zero value is ready for use.
type Budget struct {
	mu         sync.Mutex
	namespaces *queue.Buckets[string]
	turns      map[types.NamespacedName]turn
}

// turn is when a claim may have bytes copied that the budget was charged for already.
type turn struct {
	at    time.Time
	bytes int
}

// Wait is how long a claim still waits for its turn; 0 for one that has none to wait for.
func (b *Budget) Wait(claim types.NamespacedName, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.turns[claim].at.Sub(now), 0)
}

// Take charges the budget of the claim's namespace. The bytes may be copied if it returns 0; else
// the claim has a turn after that time, and is charged for no more than it then asks for besides.
func (b *Budget) Take(claim types.NamespacedName, bytes int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.namespaces == nil {
		b.namespaces, b.turns = queue.NewBuckets[string](PerSecond, Burst), map[types.NamespacedName]turn{}
	}
	t := b.turns[claim]
	if more := min(bytes, Burst) - t.bytes; more > 0 {
		t = turn{at: now.Add(b.namespaces.Charge(claim.Namespace, more, now)), bytes: t.bytes + more}
	}
	wait := t.at.Sub(now)
	if wait <= 0 {
		delete(b.turns, claim)
		return 0
	}
	b.turns[claim] = t
	return wait
}

// Forget drops the turn of a claim that is gone.
func (b *Budget) Forget(claim types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.turns, claim)
}
