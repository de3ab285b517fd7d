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

package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kind is a kind that may be missing.
type Kind struct {
	// Object is an empty object of the kind.
	Object client.Object
	// CRD is the name of its CustomResourceDefinition.
	CRD string
	// Index adds the field indexes that readers of the kind need; may be nil.
	Index func(ctx context.Context, indexer client.FieldIndexer) error
}

// Events says what a controller makes of the events of one kind.
type Events struct {
	// Handler turns them into requests.
	Handler handler.EventHandler
	// Predicates narrow them down; may be empty.
	Predicates []predicate.Predicate
}

// Kinds are kinds that are only of use together, in one manager.
type Kinds struct {
	manager manager.Manager
	kinds   []Kind

	// mu guards the rest, and keeps two workers from starting one watch twice.
	mu       sync.Mutex
	watchers []watcher
	started  bool
}

// watcher is a controller and what it makes of the events of each kind.
type watcher struct {
	controller controller.Controller
	events     []Events
}

// NewKinds returns Kinds without watches.
func NewKinds(mgr manager.Manager, kinds ...Kind) *Kinds {
	return &Kinds{manager: mgr, kinds: kinds}
}

// CRDs are the names of the CRDs of all kinds.
func (k *Kinds) CRDs() []string {
	names := make([]string, len(k.kinds))
	for i, kind := range k.kinds {
		names[i] = kind.CRD
	}
	return names
}

// Watch wakes the controller for events of the kinds, which are given in the order
// of NewKinds, from now on or from when all kinds are served. Call it after the
// controller was built and before the manager starts.
func (k *Kinds) Watch(ctx context.Context, c controller.Controller, events ...Events) error {
	w := watcher{c, events}
	k.mu.Lock()
	k.watchers = append(k.watchers, w)
	started := k.started
	k.mu.Unlock()
	if started {
		return k.start(w)
	}
	_, err := k.Available(ctx)
	return err
}

// Started says that all kinds are watched and may be read. It makes no request.
func (k *Kinds) Started() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.started
}

// Available says whether the API server serves all kinds. If so, they are indexed
// and watched from now on, and may be read from the cache.
func (k *Kinds) Available(ctx context.Context) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.started {
		return true, nil
	}
	for _, kind := range k.kinds {
		if served, err := k.served(kind.Object); err != nil || !served {
			return false, err
		}
	}
	for _, kind := range k.kinds {
		if kind.Index == nil {
			continue
		}
		if err := kind.Index(ctx, k.manager.GetFieldIndexer()); err != nil {
			return false, err
		}
	}
	for _, w := range k.watchers {
		if err := k.start(w); err != nil {
			return false, err
		}
	}
	k.started = true
	return true, nil
}

func (k *Kinds) served(object client.Object) (bool, error) {
	gvk, err := apiutil.GVKForObject(object, k.manager.GetScheme())
	if err != nil {
		return false, fmt.Errorf("kind of %T: %w", object, err)
	}
	_, err = k.manager.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discover %s: %w", gvk, err)
	}
	return true, nil
}

func (k *Kinds) start(w watcher) error {
	for i, kind := range k.kinds {
		events := w.events[i]
		if err := w.controller.Watch(source.Kind(k.manager.GetCache(), kind.Object, events.Handler, events.Predicates...)); err != nil {
			return fmt.Errorf("watch %s: %w", kind.CRD, err)
		}
	}
	return nil
}

// discoveryLag is how long an API server may take to serve a kind after the
// last event of its CRD. No event tells when it does, so waiting objects are
// reconciled at the event and once more after this time. Nothing polls.
const discoveryLag = 3 * time.Second

// CRD is the object to watch for OnCRD: the metadata of all CRDs.
func CRD() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
	}}
}

// OneOf lets through the events of the named CRDs.
func OneOf(crds ...string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return slices.Contains(crds, o.GetName()) })
}

// OnCRD enqueues the objects that wait for a kind when its CRD comes or changes.
func OnCRD(waiting func(ctx context.Context) []reconcile.Request) handler.EventHandler {
	wake := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range waiting(ctx) {
			queue.Add(request)
			queue.AddAfter(request, discoveryLag)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, queue)
		},
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, queue)
		},
	}
}
