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
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is one request of a client, before it is carried out.
type Request struct {
	// Verb is get, list, create, patch or delete.
	Verb string
	// Cached is true if it is answered from the cache, Partial if only metadata is
	// asked for.
	Cached, Partial bool
	// Kind and Key are those of its object; lists have at most a namespace.
	Kind Kind
	Key  client.ObjectKey
	// Subresource is "status" or empty.
	Subresource string
	// Body is the patch, or what narrows a list.
	Body string
	// Object is what is to be created or written, as the caller has it.
	Object client.Object
}

// Writes reports whether the request may change something.
func (r Request) Writes() bool {
	return r.Verb == "create" || r.Verb == "patch" || r.Verb == "delete"
}

// Gate stands between a client and its backend. It calls the function to let a
// request through and returns what the caller gets.
type Gate func(ctx context.Context, request Request, do func() error) error

// Client is a client.Client, or, without a cache, a client.Reader of the
// present. What it does not offer the hostclaim manager must not use.
type Client struct {
	client.Client // nil: every other method would be a mistake

	backend Backend
	cache   *Cache
	gate    Gate
}

// ErrNotOffered is the error of what no controller here may do.
var ErrNotOffered = errors.New("the store offers merge patches, and applies what is locked on a version")

// NewClient returns a client that reads from the cache, if there is one, and
// writes to the backend.
func NewClient(backend Backend, cache *Cache, gate Gate) *Client {
	return &Client{backend: backend, cache: cache, gate: gate}
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	kind, partial := KindOf(out)
	cached := c.cached(kind)
	return c.gate(ctx, Request{Verb: "get", Cached: cached, Partial: partial, Kind: kind, Key: key}, func() error {
		var v *Version
		var err error
		if cached {
			v, err = c.cache.get(kind, key)
		} else {
			v, err = c.backend.Get(ctx, kind, key)
		}
		if err == nil {
			v.into(out)
		}
		return err
	})
}

// cached reports whether reads of a kind go to the cache: Secrets are in none.
func (c *Client) cached(kind Kind) bool {
	return c.cache != nil && kind != Secrets
}

// List reads many objects.
func (c *Client) List(ctx context.Context, out client.ObjectList, options ...client.ListOption) error {
	kind, partial := KindOf(out)
	var o client.ListOptions
	o.ApplyOptions(options)
	query := Query{Namespace: o.Namespace, Selector: o.LabelSelector, Limit: o.Limit, Continue: o.Continue}
	request := Request{
		Verb: "list", Cached: c.cached(kind), Partial: partial, Kind: kind,
		Key: client.ObjectKey{Namespace: o.Namespace}, Body: narrowed(o),
	}
	return c.gate(ctx, request, func() error {
		page, err := c.page(ctx, request, query, o)
		if err != nil {
			return err
		}
		items := make([]runtime.Object, len(page.Items))
		for i, v := range page.Items {
			switch {
			case partial:
				items[i] = v.Metadata()
			case o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy:
				items[i] = v.Object()
			default:
				items[i] = v.Object().DeepCopyObject()
			}
		}
		out.SetContinue(page.Continue)
		return meta.SetList(out, items)
	})
}

func (c *Client) page(ctx context.Context, request Request, query Query, o client.ListOptions) (Page, error) {
	field, value := "", ""
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		only := o.FieldSelector.Requirements()[0]
		field, value = only.Field, only.Value
	}
	switch {
	case request.Cached:
		items, err := c.cache.list(request.Kind, query, field, value)
		return Page{Items: items}, err
	case field != "":
		return Page{}, fmt.Errorf("field label not supported: %s", field)
	default:
		return c.backend.List(ctx, request.Kind, query)
	}
}

func narrowed(o client.ListOptions) string {
	out := ""
	if o.LabelSelector != nil {
		out += " labels " + o.LabelSelector.String()
	}
	if o.FieldSelector != nil {
		out += " fields " + o.FieldSelector.String()
	}
	return out
}

// Create adds an object.
func (c *Client) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	kind, _ := KindOf(object)
	var o client.CreateOptions
	o.ApplyOptions(options)
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	delete(metadata(body), "creationTimestamp")
	request := Request{Verb: "create", Kind: kind, Key: client.ObjectKeyFromObject(object), Object: object}
	return c.gate(ctx, request, func() error {
		v, err := c.backend.Create(ctx, kind, body, o.FieldManager)
		if err == nil {
			v.into(object)
		}
		return err
	})
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	kind, _ := KindOf(object)
	var o client.DeleteOptions
	o.ApplyOptions(options)
	var conditions client.Preconditions
	if o.Preconditions != nil {
		conditions = client.Preconditions{UID: o.Preconditions.UID, ResourceVersion: o.Preconditions.ResourceVersion}
	}
	key := client.ObjectKeyFromObject(object)
	return c.gate(ctx, Request{Verb: "delete", Kind: kind, Key: key, Object: object}, func() error {
		return c.backend.Delete(ctx, kind, key, conditions)
	})
}

// Patch changes an object by merge patch.
func (c *Client) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	var o client.PatchOptions
	o.ApplyOptions(options)
	return c.patch(ctx, object, patch, "", o.FieldManager)
}

func (c *Client) patch(ctx context.Context, object client.Object, patch client.Patch, sub, manager string) error {
	if patch.Type() != types.MergePatchType {
		return ErrNotOffered
	}
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	kind, _ := KindOf(object)
	change := Change{Kind: kind, Key: client.ObjectKeyFromObject(object), Subresource: sub, Patch: body, Manager: manager}
	request := Request{
		Verb: "patch", Kind: kind, Key: change.Key, Subresource: sub, Body: string(body), Object: object,
	}
	return c.gate(ctx, request, func() error {
		v, err := c.backend.Patch(ctx, change)
		if err == nil {
			v.into(object)
		}
		return err
	})
}

// GroupVersionKindFor returns the kind of an object.
func (c *Client) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	kind, _ := KindOf(object)
	return kind.gvk(), nil
}

// applied is what client.ApplyConfigurationFromUnstructured returns.
type applied interface {
	metav1.Object
	GetKind() string
	UnstructuredContent() map[string]any
}

// Apply writes an object that only one client ever applies, with the same fields each time, locked on a version. Then
// server-side apply is a create for the version that no object has, and a merge patch for any other.
func (c *Client) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	a, ok := object.(applied)
	if !ok || a.GetResourceVersion() == "" {
		return ErrNotOffered
	}
	var o client.ApplyOptions
	o.ApplyOptions(options)
	body, err := json.Marshal(a.UnstructuredContent())
	if err != nil {
		return err
	}
	change := Change{
		Kind: Kind(a.GetKind()), Key: client.ObjectKey{Namespace: a.GetNamespace(), Name: a.GetName()}, Patch: body, Manager: o.FieldManager,
	}
	request := Request{Verb: "patch", Kind: change.Kind, Key: change.Key, Body: string(body)}
	if a.GetResourceVersion() == "1" {
		request.Verb = "create"
	}
	return c.gate(ctx, request, func() error {
		v, err := c.apply(ctx, request.Verb, a.UnstructuredContent(), change)
		if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			return apierrors.NewConflict(schema.GroupResource{Resource: a.GetKind()}, a.GetName(), err)
		}
		if err == nil {
			a.SetResourceVersion(v.Metadata().GetResourceVersion())
		}
		return err
	})
}

func (c *Client) apply(ctx context.Context, verb string, content map[string]any, change Change) (*Version, error) {
	if verb == "patch" {
		return c.backend.Patch(ctx, change)
	}
	made := runtime.DeepCopyJSON(content)
	delete(metadata(made), "resourceVersion")
	return c.backend.Create(ctx, change.Kind, made, change.Manager)
}

// Status is the way to the status.
func (c *Client) Status() client.SubResourceWriter {
	return c.SubResource("status")
}

// SubResource is the way to a subresource.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return subresource{client: c, name: name}
}

// subresource writes a subresource by merge patch.
type subresource struct {
	client.SubResourceClient // nil, as in Client

	client *Client
	name   string
}

// Patch changes a subresource by merge patch.
func (s subresource) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	var o client.SubResourcePatchOptions
	o.ApplyOptions(options)
	return s.client.patch(ctx, object, patch, s.name, o.FieldManager)
}
