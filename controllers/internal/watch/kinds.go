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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kinds are kinds that a manager can do without, and that are only of use together. They are indexed
// and watched from the moment when the API server is first found to serve all of them.
type Kinds struct {
	mgr     ctrl.Manager
	index   func(context.Context, client.FieldIndexer) error
	objects []client.Object

	mu      sync.Mutex // held while watches start, so that two workers start none twice
	waiting []func() error
	started bool
}

// NewKinds returns the kinds of the objects, with what adds their field indexes; nil if they have none.
func NewKinds(mgr ctrl.Manager, index func(context.Context, client.FieldIndexer) error, objects ...client.Object) *Kinds {
	return &Kinds{mgr: mgr, index: index, objects: objects}
}

// Watch has the controller watch the sources, which are of these kinds, as soon as the kinds are served.
func (k *Kinds) Watch(ctx context.Context, c controller.Controller, sources ...source.Source) error {
	k.mu.Lock()
	for _, s := range sources {
		k.waiting = append(k.waiting, func() error { return c.Watch(s) })
	}
	k.mu.Unlock()
	_, err := k.Available(ctx)
	return err
}

// Started reports whether the kinds may be read from the cache. It makes no request.
func (k *Kinds) Started() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.started
}

// Available reports whether the API server serves all kinds. If so, they are watched from now on, and
// may be read from the cache.
func (k *Kinds) Available(ctx context.Context) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.started {
		if served, err := k.served(); err != nil || !served {
			return false, err
		}
		if k.index != nil {
			if err := k.index(ctx, k.mgr.GetFieldIndexer()); err != nil {
				return false, err
			}
		}
		k.started = true
	}
	for ; len(k.waiting) > 0; k.waiting = k.waiting[1:] {
		if err := k.waiting[0](); err != nil {
			return false, fmt.Errorf("watch a kind that came late: %w", err)
		}
	}
	return true, nil
}

func (k *Kinds) served() (bool, error) {
	for _, object := range k.objects {
		gvk, err := k.mgr.GetClient().GroupVersionKindFor(object)
		if err != nil {
			return false, err
		}
		if _, err := k.mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("discover %s: %w", gvk, err)
		}
	}
	return true, nil
}

// discoveryLag is how long an API server may take to serve a kind after the last event of its CRD. No
// event reports when it does.
const discoveryLag = 3 * time.Second

// CRD is the metadata of a CustomResourceDefinition.
func CRD() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
	}}
}

// CRDs returns a source that wakes the objects which wait for a kind when one of the named CRDs comes
// or changes, and once more after the API server has had the time to serve it.
func CRDs(from cache.Cache, waiting func(context.Context) []ctrl.Request, names ...string) source.Source {
	type requests = workqueue.TypedRateLimitingInterface[ctrl.Request]
	wake := func(ctx context.Context, queue requests) {
		for _, request := range waiting(ctx) {
			queue.Add(request)
			queue.AddAfter(request, discoveryLag)
		}
	}
	return source.Kind[client.Object](from, CRD(), handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, queue requests) { wake(ctx, queue) },
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, queue requests) { wake(ctx, queue) },
	}, predicate.NewPredicateFuncs(func(o client.Object) bool { return slices.Contains(names, o.GetName()) }))
}

// Namespace is a Namespace of which only the metadata is read.
func Namespace() *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace
}

// ReadNamespace reads the metadata of a namespace. One that is gone has neither labels nor annotations.
func ReadNamespace(ctx context.Context, reader client.Reader, name string) (metav1.ObjectMeta, error) {
	namespace := Namespace()
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace); client.IgnoreNotFound(err) != nil {
		return metav1.ObjectMeta{}, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return namespace.ObjectMeta, nil
}
