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

package store

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Backend is an API server in terms of JSON. Memory is one, Remote another.
type Backend interface {
	Get(ctx context.Context, kind Kind, key client.ObjectKey) (*Version, error)
	List(ctx context.Context, kind Kind, query Query) (Page, error)
	Create(ctx context.Context, kind Kind, object map[string]any, manager string) (*Version, error)
	Patch(ctx context.Context, change Change) (*Version, error)
	Deleter
}

// Deleter is what a Backend offers to remove objects.
type Deleter interface {
	Delete(ctx context.Context, kind Kind, key client.ObjectKey, conditions client.Preconditions) error
	// BeginDelete carries out a deletion up to where the server has read the object; end
	// does the rest.
	BeginDelete(ctx context.Context, kind Kind, key client.ObjectKey) (end func() error, err error)
}

// Query narrows a list.
type Query struct {
	// Namespace is empty for all.
	Namespace string
	// Selector is nil for all.
	Selector labels.Selector
	// Limit is 0 for everything at once; Continue is what the last page ended with.
	Limit    int64
	Continue string
}

// Page is the answer to a list.
type Page struct {
	Items    []*Version
	Continue string
}

// Change is a JSON merge patch.
type Change struct {
	Kind Kind
	Key  client.ObjectKey
	// Subresource is "status", or empty for the object itself.
	Subresource string
	// Patch is the body.
	Patch []byte
	// Manager is who writes.
	Manager string
}

// matches reports whether an object answers a query, apart from its pages.
func (q Query) matches(v *Version) bool {
	return (q.Namespace == "" || v.Key.Namespace == q.Namespace) &&
		(q.Selector == nil || q.Selector.Empty() || q.Selector.Matches(labels.Set(v.Labels())))
}
