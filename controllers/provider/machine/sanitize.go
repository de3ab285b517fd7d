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

package machine

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// sanitizedError is an error of another cluster, in words that may be logged and shown.
// What it wraps tells what kind of error it is, and is never printed.
type sanitizedError struct {
	words string
	cause error
}

func (e *sanitizedError) Error() string { return e.words }

func (e *sanitizedError) Unwrap() error { return e.cause }

// sanitize takes what another cluster chose to say out of its error.
func sanitize(err error) error {
	if err == nil {
		return nil
	}
	return &sanitizedError{words: remote.Explain(err), cause: err}
}

// sanitizeSecret is sanitize for a request that holds a secret. The answer may repeat
// the secret, so that only its status code is shown.
func sanitizeSecret(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return sanitize(err)
	}
	code := int(status.Status().Code)
	return &sanitizedError{cause: err, words: fmt.Sprintf(
		"The other cluster answers %d (%s); what it says is not shown, since it may repeat the secret", code, http.StatusText(code))}
}

// sanitizeWrite is sanitize for the write of an object.
func sanitizeWrite(object any, err error) error {
	if _, secret := object.(*corev1.Secret); secret && err != nil {
		return sanitizeSecret(err)
	}
	return sanitize(err)
}

// sanitizingClient is a client of another cluster whose errors are sanitized.
type sanitizingClient struct{ client.Client }

// Get reads from the cache of that cluster.
func (c sanitizingClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return sanitize(c.Client.Get(ctx, key, into, opts...))
}

// List lists from the cache of that cluster.
func (c sanitizingClient) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return sanitize(c.Client.List(ctx, into, opts...))
}

// Apply writes what holds no secret.
func (c sanitizingClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return sanitize(c.Client.Apply(ctx, o, opts...))
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
	return sanitize(c.Client.Delete(ctx, o, opts...))
}

// sanitizingReader is the same for reads past the cache.
type sanitizingReader struct{ client.Reader }

// Get reads past the cache.
func (r sanitizingReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return sanitize(r.Reader.Get(ctx, key, into, opts...))
}

// List lists past the cache.
func (r sanitizingReader) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return sanitize(r.Reader.List(ctx, into, opts...))
}
