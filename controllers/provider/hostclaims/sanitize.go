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
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// sanitizeWrite is remote.Sanitize for the write of an object.
func sanitizeWrite(object any, err error) error {
	if _, secret := object.(*corev1.Secret); secret && err != nil {
		return remote.SanitizeSecret(err)
	}
	return remote.Sanitize(err)
}

// sanitizingClient is a client of another cluster whose errors are sanitized.
type sanitizingClient struct{ client.Client }

// Get reads from the cache of that cluster.
func (c sanitizingClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return remote.Sanitize(c.Client.Get(ctx, key, into, opts...))
}

// List lists from the cache of that cluster.
func (c sanitizingClient) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return remote.Sanitize(c.Client.List(ctx, into, opts...))
}

// Apply writes what holds no secret.
func (c sanitizingClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return remote.Sanitize(c.Client.Apply(ctx, o, opts...))
}

// Create creates an object in that cluster.
func (c sanitizingClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return sanitizeWrite(o, c.Client.Create(ctx, o, opts...))
}

// Patch changes an object in that cluster.
func (c sanitizingClient) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return sanitizeWrite(o, c.Client.Patch(ctx, o, patch, opts...))
}

// Delete deletes an object in that cluster.
func (c sanitizingClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return remote.Sanitize(c.Client.Delete(ctx, o, opts...))
}

// sanitizingReader is the same for reads past the cache.
type sanitizingReader struct{ client.Reader }

// Get reads past the cache.
func (r sanitizingReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return remote.Sanitize(r.Reader.Get(ctx, key, into, opts...))
}

// List lists past the cache.
func (r sanitizingReader) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return remote.Sanitize(r.Reader.List(ctx, into, opts...))
}
