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

package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
)

// History records the objects of a namespace of its own.
type History struct {
	// Client reads the current objects, and notes what it wrote.
	Client client.Client
	// Namespace is the namespace.
	Namespace string
	// Noted is called whenever something was noted; may be nil.
	Noted func()

	t      *testing.T
	server *apitest.Server
	kinds  []*kind
}

// kind holds every list of a kind that was noted, oldest first.
type kind struct {
	schema.GroupKind
	list    client.ObjectList // empty
	moments [][]client.Object
}

// New returns the history of a new namespace, with the kinds that are noted.
func New(t *testing.T, server *apitest.Server, kinds ...client.ObjectList) *History {
	t.Helper()
	h := &History{Namespace: server.Namespace(t), t: t, server: server}
	h.Client = interceptor.NewClient(server.Client, h.writes(&Faults{}))
	for _, list := range kinds {
		gk, err := h.groupKind(list)
		if err != nil {
			t.Fatal(err)
		}
		h.kinds = append(h.kinds, &kind{GroupKind: gk, list: list})
		if err := h.note(t.Context(), gk); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// Now returns what there is of a kind. It must not be changed.
func Now[T any, PT interface {
	*T
	client.Object
}](h *History) []PT {
	gk, err := h.groupKind(PT(new(T)))
	if err != nil {
		return nil
	}
	k, found := h.kind(gk)
	if !found {
		return nil
	}
	var now []PT
	for _, o := range k.moments[len(k.moments)-1] {
		if o, ok := o.(PT); ok {
			now = append(now, o)
		}
	}
	return now
}

// Verify checks that nothing changed without being noted.
func (h *History) Verify(t *testing.T) {
	t.Helper()
	for _, k := range h.kinds {
		noted := len(k.moments)
		if err := h.note(t.Context(), k.GroupKind); err != nil {
			t.Fatal(err)
		}
		if len(k.moments) > noted {
			t.Fatalf("%s of namespace %s changed without being noted", k.Kind, h.Namespace)
		}
	}
}

// note lists a kind, and keeps that if it differs from what was noted last.
func (h *History) note(ctx context.Context, gk schema.GroupKind) error {
	k, found := h.kind(gk)
	if !found {
		return nil
	}
	list := k.list.DeepCopyObject().(client.ObjectList) //nolint:forcetypeassert,errcheck // a copy has the type of the original
	if err := h.server.Client.List(ctx, list, client.InNamespace(h.Namespace)); err != nil {
		return fmt.Errorf("list %s to note it: %w", gk.Kind, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var now []client.Object
	for _, item := range items {
		o, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", item)
		}
		now = append(now, o)
	}
	if last := len(k.moments) - 1; last >= 0 && slices.EqualFunc(k.moments[last], now, same) {
		return nil
	}
	k.moments = append(k.moments, now)
	if h.Noted != nil {
		h.Noted()
	}
	return nil
}

func same(a, b client.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

func (h *History) kind(gk schema.GroupKind) (*kind, bool) {
	at := slices.IndexFunc(h.kinds, func(k *kind) bool { return k.GroupKind == gk })
	if at < 0 {
		return nil, false
	}
	return h.kinds[at], true
}

// groupKind is the kind of an object, or of the objects of a list.
func (h *History) groupKind(o runtime.Object) (schema.GroupKind, error) {
	gvk, err := h.server.Client.GroupVersionKindFor(o)
	return schema.GroupKind{Group: gvk.Group, Kind: strings.TrimSuffix(gvk.Kind, "List")}, err
}
