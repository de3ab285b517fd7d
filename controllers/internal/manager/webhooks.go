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

package manager

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// maxReviewBytes bounds the admission reviews that are decoded at a time, each of which takes a
// multiple of its size: a tenant may write many large objects at once. The API server sends an
// object before and after its change, each of at most 3 MiB.
const maxReviewBytes = 16 << 20

// reviewTime is how long the API server may take to send an admission review, which it has in memory.
const reviewTime = 5 * time.Second

// boundedServer has webhooks wait for their turn before they read a request.
type boundedServer struct {
	webhook.Server
	bytes *semaphore.Weighted
}

func newBoundedServer(s webhook.Server) boundedServer {
	return boundedServer{s, semaphore.NewWeighted(maxReviewBytes)}
}

// Register serves a webhook at a path.
func (s boundedServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 || size > maxReviewBytes {
			http.Error(w, "an admission review says its size, of at most 16 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		if err := s.bytes.Acquire(r.Context(), size); err != nil {
			http.Error(w, "too many large admission reviews at a time", http.StatusTooManyRequests)
			return
		}
		defer s.bytes.Release(size)
		// A sender that stops in the middle holds up others no longer than that. Tests have no connection.
		_ = http.NewResponseController(w).SetReadDeadline(clock.RealClock{}.Now().Add(reviewTime))
		hook.ServeHTTP(w, r)
	}))
}

// SizeLimit is how many bytes an object that holds a server may have as JSON. It is far below
// the limit of a request to etcd (1.5 MiB): the API server writes the deletion into an object
// with finalizers, so it cannot delete one that fills a request.
const SizeLimit = 512 << 10

// SizeRemedy is the advice for an object that is too large.
const SizeRemedy = "shorten its labels, annotations, finalizers, ownerReferences, managedFields or spec"

// SizeValidator refuses what makes an object larger than SizeLimit, and asks a Validator about the rest, deletions
// included. What shrinks an object passes, as taking off a finalizer does.
type SizeValidator[T client.Object] struct {
	admission.Validator[T]
}

// ValidateCreate refuses a new object that is too large.
func (v SizeValidator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	if err := check(ctx); err != nil {
		return nil, err
	}
	return v.Validator.ValidateCreate(ctx, object)
}

// ValidateUpdate refuses that an object grows too large.
func (v SizeValidator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	if err := check(ctx); err != nil {
		return nil, err
	}
	return v.Validator.ValidateUpdate(ctx, before, after)
}

// check weighs the object of a request as the API server has sent it, with the fields that the type
// does not know.
func check(ctx context.Context) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return fmt.Errorf("weigh the object: %w", err)
	}
	size := len(request.Object.Raw)
	if size <= SizeLimit || size <= len(request.OldObject.Raw) {
		return nil
	}
	return fmt.Errorf("the object would have %d bytes as JSON, and at most %d are allowed, since the API server cannot delete one "+
		"that is too large for etcd: %s", size, SizeLimit, SizeRemedy)
}
