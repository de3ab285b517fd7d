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

// answerError is an error of another cluster, in words that may be logged and shown.
// What it wraps tells what kind of error it is, and is never printed.
type answerError struct {
	words string
	cause error
}

func (e *answerError) Error() string { return e.words }

func (e *answerError) Unwrap() error { return e.cause }

// answered marks an error of another cluster.
func answered(err error) error {
	if err == nil {
		return nil
	}
	return &answerError{words: remote.Explain(err), cause: err}
}

// answeredSecret marks the error of a request that holds a secret. The answer may
// repeat it, so that nothing of it is shown but its number.
func answeredSecret(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return answered(err)
	}
	code := int(status.Status().Code)
	return &answerError{cause: err, words: fmt.Sprintf(
		"The other cluster answers %d (%s); what it says is not shown, since it may repeat the secret", code, http.StatusText(code))}
}

// answeredFor marks the error of a write.
func answeredFor(object any, err error) error {
	if _, secret := object.(*corev1.Secret); secret && err != nil {
		return answeredSecret(err)
	}
	return answered(err)
}

// wary is a client of another cluster whose errors are marked.
type wary struct{ client.Client }

// Get reads from the cache of that cluster.
func (c wary) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return answered(c.Client.Get(ctx, key, into, opts...))
}

// List lists from the cache of that cluster.
func (c wary) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return answered(c.Client.List(ctx, into, opts...))
}

// Apply writes what holds no secret.
func (c wary) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return answered(c.Client.Apply(ctx, o, opts...))
}

// Create creates an object there.
func (c wary) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return answeredFor(o, c.Client.Create(ctx, o, opts...))
}

// Patch changes an object there.
func (c wary) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return answeredFor(o, c.Client.Patch(ctx, o, patch, opts...))
}

// Delete deletes an object there.
func (c wary) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return answered(c.Client.Delete(ctx, o, opts...))
}

// waryReader is the same for reads past the cache.
type waryReader struct{ client.Reader }

// Get reads past the cache.
func (r waryReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return answered(r.Reader.Get(ctx, key, into, opts...))
}

// List lists past the cache.
func (r waryReader) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return answered(r.Reader.List(ctx, into, opts...))
}
