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

// Package consistent makes a cached client read its own writes, as the option
// EnableReadYourWritesConsistency of controller-runtime 0.25 does. That version replaces it if the
// option no longer opens a cache of each kind that is written, Secrets included: see ADR 0015.
package consistent

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// catchUp bounds how long a read waits for the cache. What is decided on a cache that is later
	// is refused by the lock of the write that follows.
	catchUp = time.Second
	// pause is the time between two looks at the cache, whose events come within milliseconds.
	pause = 2 * time.Millisecond
)

// New returns a client that reads its own writes of some kinds, all of which are in its cache.
func New(c client.Client, kinds ...client.Object) (*Client, error) {
	consistent := &Client{Client: c, clock: clock.RealClock{}, written: map[schema.GroupVersionKind]map[types.NamespacedName]write{}}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, c.Scheme())
		if err != nil {
			return nil, err
		}
		consistent.written[gvk] = map[types.NamespacedName]write{}
	}
	return consistent, nil
}

// Client notes the version of each object that it writes, and waits for it where it reads.
type Client struct {
	client.Client

	clock clock.PassiveClock
	mu    sync.Mutex
	// written has what the cache may not show yet, of the kinds that are noted.
	written map[schema.GroupVersionKind]map[types.NamespacedName]write
}

// write is the last one of an object.
type write struct {
	version string
	// gone: the object was deleted in this version, and any newer one shows that.
	gone  bool
	until time.Time
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, o, opts...)
	if !c.behind(o, key, err) {
		return err
	}
	_ = wait.PollUntilContextCancel(ctx, pause, false, func(ctx context.Context) (bool, error) { // it ends with catchUp
		err = c.Client.Get(ctx, key, o, opts...)
		return !c.behind(o, key, err), nil
	})
	return err
}

// List reads objects, once the cache shows each write of their kind.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	for _, o := range c.pending(list, (&client.ListOptions{}).ApplyOptions(opts).Namespace) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return c.Client.List(ctx, list, opts...)
}

// Create writes a new object.
func (c *Client) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.note(o, c.Client.Create(ctx, o, opts...))
}

// Patch changes an object.
func (c *Client) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return c.note(o, c.Client.Patch(ctx, o, p, opts...))
}

// Apply writes an object by server-side apply.
func (c *Client) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	err := c.Client.Apply(ctx, config, opts...)
	if o, ok := config.(client.Object); ok {
		return c.note(o, err)
	}
	return err
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, o, opts...)
	if err == nil && o.GetResourceVersion() != "" {
		c.add(o, write{version: o.GetResourceVersion(), gone: true})
	}
	return err
}

// Status writes the status of objects.
func (c *Client) Status() client.SubResourceWriter {
	return statusWriter{c.Client.Status(), c}
}

type statusWriter struct {
	client.SubResourceWriter

	client *Client
}

// Patch changes the status of an object.
func (w statusWriter) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	return w.client.note(o, w.SubResourceWriter.Patch(ctx, o, p, opts...))
}

// note adds the write of an object as the API server has answered it.
func (c *Client) note(o client.Object, err error) error {
	if err == nil {
		gone := !o.GetDeletionTimestamp().IsZero() && len(o.GetFinalizers()) == 0
		c.add(o, write{version: o.GetResourceVersion(), gone: gone})
	}
	return err
}

func (c *Client) add(o client.Object, w write) {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return
	}
	now := c.clock.Now()
	w.until = now.Add(catchUp)
	c.mu.Lock()
	defer c.mu.Unlock()
	of, noted := c.written[gvk]
	if !noted {
		return
	}
	maps.DeleteFunc(of, func(_ types.NamespacedName, w write) bool { return !now.Before(w.until) })
	of[client.ObjectKeyFromObject(o)] = w
}

// pending returns empty objects with the names of those of a list that the cache may not show yet.
func (c *Client) pending(list client.ObjectList, namespace string) []client.Object {
	gvk, err := apiutil.GVKForObject(list, c.Scheme())
	if err != nil {
		return nil
	}
	gvk.Kind = gvk.Kind[:max(0, len(gvk.Kind)-len("List"))]
	c.mu.Lock()
	keys := slices.Collect(maps.Keys(c.written[gvk]))
	c.mu.Unlock()
	var all []client.Object
	for _, key := range keys {
		if namespace != "" && key.Namespace != namespace {
			continue
		}
		if o, err := c.Scheme().New(gvk); err == nil {
			if o, ok := o.(client.Object); ok {
				o.SetNamespace(key.Namespace)
				o.SetName(key.Name)
				all = append(all, o)
			}
		}
	}
	return all
}

// behind reports whether what was read of an object, or that there is none, is older than what was
// written.
func (c *Client) behind(o client.Object, key client.ObjectKey, err error) bool {
	if client.IgnoreNotFound(err) != nil {
		return false
	}
	gvk, gvkErr := apiutil.GVKForObject(o, c.Scheme())
	if gvkErr != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w, found := c.written[gvk][key]
	if !found {
		return false
	}
	if c.clock.Now().Before(w.until) && !w.shown(o, apierrors.IsNotFound(err)) {
		return true
	}
	delete(c.written[gvk], key)
	return false
}

// shown reports whether an object, or that there is none, is what was written or newer.
func (w write) shown(o metav1.Object, missing bool) bool {
	if missing {
		return w.gone
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), w.version)
	return err != nil || order > 0 || order == 0 && !w.gone
}
