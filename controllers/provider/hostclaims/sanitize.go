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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

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

// Apply writes an object of that cluster. Only of a HostClaim it is known that the answer repeats no secret.
func (c sanitizingClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	err := c.Client.Apply(ctx, o, opts...)
	if kind, ok := o.(interface{ GetKind() string }); ok && kind.GetKind() == claims.Kind {
		return remote.Sanitize(err)
	}
	return remote.SanitizeSecret(err)
}

// Patch changes an object of that cluster.
func (c sanitizingClient) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, o, patch, opts...)
	if _, claim := o.(*bmov1alpha1.HostClaim); claim {
		return remote.Sanitize(err)
	}
	return remote.SanitizeSecret(err)
}

// Create creates an object in that cluster.
func (c sanitizingClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return remote.SanitizeSecret(c.Client.Create(ctx, o, opts...))
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
