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

// Package objectsize keeps objects that hold a server far below what a request to etcd may have
// (1.5 MiB): the API server writes the deletion into an object with finalizers, so it cannot delete
// one that fills a request.
package objectsize

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Limit is how many bytes an object may have as JSON.
const Limit = 512 << 10

// Remedy says how an object gets smaller.
const Remedy = "shorten its labels, annotations, finalizers, ownerReferences, managedFields or spec"

// Validator refuses what makes an object larger than Limit, and asks Rules about the rest. What
// shrinks an object passes, as taking off a finalizer does.
type Validator[T client.Object] struct {
	Rules admission.Validator[T]
}

// ValidateCreate refuses a new object that is too large.
func (v Validator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	if err := check(ctx); err != nil {
		return nil, err
	}
	return v.Rules.ValidateCreate(ctx, object)
}

// ValidateUpdate refuses that an object grows too large.
func (v Validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	if err := check(ctx); err != nil {
		return nil, err
	}
	return v.Rules.ValidateUpdate(ctx, before, after)
}

// ValidateDelete leaves deletions to the rules.
func (v Validator[T]) ValidateDelete(ctx context.Context, object T) (admission.Warnings, error) {
	return v.Rules.ValidateDelete(ctx, object)
}

// check weighs the object of a request as the API server has sent it, with the fields that the type
// does not know.
func check(ctx context.Context) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return fmt.Errorf("weigh the object: %w", err)
	}
	size := len(request.Object.Raw)
	if size <= Limit || size <= len(request.OldObject.Raw) {
		return nil
	}
	return fmt.Errorf("the object would have %d bytes as JSON, and at most %d are allowed, since the API server cannot delete one "+
		"that is too large for etcd: %s", size, Limit, Remedy)
}
