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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Remote is a Backend that is a real API server. All writes to the namespaces
// that concern its log go through it, so the log has what a watch would show.
type Remote struct {
	log    *Log
	client client.Client
	// concerns narrows lists to the namespaces of the log.
	concerns func(namespace string) bool
	// BeginsDeletion makes a deletion up to where the server has read the object; nil if
	// nothing is deleted in that way.
	BeginsDeletion func(ctx context.Context, object client.Object) (end func() error, err error)
}

var _ Backend = &Remote{}

// NewRemote returns a backend that writes with a client and notes what came of it
// in a log.
func NewRemote(log *Log, c client.Client, concerns func(namespace string) bool) *Remote {
	return &Remote{log: log, client: c, concerns: concerns}
}

func shell(kind Kind, key client.ObjectKey) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(kind.gvk())
	out.SetNamespace(key.Namespace)
	out.SetName(key.Name)
	return out
}

// Get returns an object.
func (r *Remote) Get(ctx context.Context, kind Kind, key client.ObjectKey) (*Version, error) {
	out := shell(kind, key)
	if err := r.client.Get(ctx, key, out); err != nil {
		return nil, err
	}
	return newVersion(kind, out.Object), nil
}

// List returns one page.
func (r *Remote) List(ctx context.Context, kind Kind, query Query) (Page, error) {
	list := &unstructured.UnstructuredList{}
	gvk := kind.gvk()
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	options := &client.ListOptions{
		Namespace: query.Namespace, LabelSelector: query.Selector, Limit: query.Limit, Continue: query.Continue,
	}
	if err := r.client.List(ctx, list, options); err != nil {
		return Page{}, err
	}
	page := Page{Continue: list.GetContinue()}
	for i := range list.Items {
		v := newVersion(kind, list.Items[i].Object)
		namespace := v.Key.Namespace
		if kind == Namespaces || kind == Classes {
			namespace = v.Key.Name
		}
		if r.concerns(namespace) {
			page.Items = append(page.Items, v)
		}
	}
	return page, nil
}

// Create adds an object.
func (r *Remote) Create(ctx context.Context, kind Kind, object map[string]any, manager string) (*Version, error) {
	out := &unstructured.Unstructured{Object: object}
	out.SetGroupVersionKind(kind.gvk())
	if err := r.client.Create(ctx, out, client.FieldOwner(manager)); err != nil {
		return nil, err
	}
	v := newVersion(kind, out.Object)
	r.log.record(kind, v.Key, v)
	return v, nil
}

// Patch applies a merge patch to an object or to its status.
func (r *Remote) Patch(ctx context.Context, change Change) (*Version, error) {
	out := shell(change.Kind, change.Key)
	patch := client.RawPatch(types.MergePatchType, change.Patch)
	var err error
	if change.Subresource == "" {
		err = r.client.Patch(ctx, out, patch, client.FieldOwner(change.Manager))
	} else {
		err = r.client.SubResource(change.Subresource).Patch(ctx, out, patch, client.FieldOwner(change.Manager))
	}
	if err != nil {
		return nil, err
	}
	return newVersion(change.Kind, out.Object), r.follow(ctx, change.Kind, change.Key)
}

// Delete removes an object, or marks it if finalizers hold it.
func (r *Remote) Delete(ctx context.Context, kind Kind, key client.ObjectKey, conditions client.Preconditions) error {
	if err := r.client.Delete(ctx, shell(kind, key), conditions); err != nil {
		return err
	}
	return r.follow(ctx, kind, key)
}

// BeginDelete begins to remove an object.
func (r *Remote) BeginDelete(ctx context.Context, kind Kind, key client.ObjectKey) (end func() error, err error) {
	goOn, err := r.BeginsDeletion(ctx, shell(kind, key))
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := goOn(); err != nil {
			return err
		}
		return r.follow(ctx, kind, key)
	}, nil
}

// follow notes in the log what an object has become.
func (r *Remote) follow(ctx context.Context, kind Kind, key client.ObjectKey) error {
	now, err := r.Get(ctx, kind, key)
	switch before, known := r.log.Current(kind, key); {
	case apierrors.IsNotFound(err):
		r.log.record(kind, key, nil)
	case err != nil:
		return err
	case !known || before.RV != now.RV:
		r.log.record(kind, key, now)
	}
	return nil
}
