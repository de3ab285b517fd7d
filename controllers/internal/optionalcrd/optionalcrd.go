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

package optionalcrd

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kind is a kind that may come late.
type Kind struct {
	// Object is an empty object of the kind.
	Object client.Object
	// CRD is the name of its CRD.
	CRD string
	// Index adds the field indexes that readers of the kind need; may be nil.
	Index func(ctx context.Context, indexer client.FieldIndexer) error
	// Handler turns events of the kind into requests.
	Handler handler.EventHandler
	// Predicates narrow the events down; may be empty.
	Predicates []predicate.Predicate
}

// Kinds are the late kinds of one controller.
type Kinds struct {
	manager    manager.Manager
	controller controller.Controller

	// mu guards started, and keeps two workers from starting one watch twice.
	mu      sync.Mutex
	kinds   []Kind
	started map[string]bool // by CRD
}

// Start watches the kinds that are there already. Call it after the controller
// was built and before the manager starts.
func Start(ctx context.Context, mgr manager.Manager, c controller.Controller, kinds ...Kind) (*Kinds, error) {
	k := &Kinds{manager: mgr, controller: c, kinds: kinds, started: map[string]bool{}}
	for _, kind := range kinds {
		if _, err := k.Available(ctx, kind.Object); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Available says whether the kind of the object is known to the API server. If
// so, it is watched and indexed from now on, and may be read from the cache.
func (k *Kinds) Available(ctx context.Context, object client.Object) (bool, error) {
	gvk, err := apiutil.GVKForObject(object, k.manager.GetScheme())
	if err != nil {
		return false, fmt.Errorf("kind of %T: %w", object, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kind := range k.kinds {
		if known, err := apiutil.GVKForObject(kind.Object, k.manager.GetScheme()); err != nil || known != gvk {
			continue
		}
		if k.started[kind.CRD] {
			return true, nil
		}
		_, err := k.manager.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case meta.IsNoMatchError(err):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("discover %s: %w", gvk, err)
		}
		return true, k.startLocked(ctx, kind)
	}
	return false, fmt.Errorf("%s is not among the late kinds", gvk)
}

func (k *Kinds) startLocked(ctx context.Context, kind Kind) error {
	if kind.Index != nil {
		if err := kind.Index(ctx, k.manager.GetFieldIndexer()); err != nil {
			return err
		}
	}
	if err := k.controller.Watch(late(k.manager.GetCache(), kind)); err != nil {
		return fmt.Errorf("watch %s: %w", kind.CRD, err)
	}
	k.started[kind.CRD] = true
	return nil
}

func late(from cache.Cache, kind Kind) source.Source {
	return source.Kind(from, kind.Object, kind.Handler, kind.Predicates...)
}
