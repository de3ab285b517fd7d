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

package localclaims

import (
	"context"
	"fmt"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// CRDs are the names of the CRDs of both kinds.
func CRDs() []string {
	return []string{"hostclaims.metal3.io", "hardwaredata.metal3.io"}
}

// Kinds are the two kinds in one manager.
type Kinds struct {
	manager manager.Manager

	// mu guards the rest, and keeps two workers from starting one watch twice.
	mu       sync.Mutex
	watchers []watcher
	started  bool
}

// Events says what a controller makes of the events of one kind.
type Events struct {
	// Handler turns them into requests.
	Handler handler.EventHandler
	// Predicates narrow them down; may be empty.
	Predicates []predicate.Predicate
}

// watcher is a controller and what it makes of events of the two kinds.
type watcher struct {
	controller       controller.Controller
	claims, hardware Events
}

// New returns Kinds that nobody watches yet.
func New(mgr manager.Manager) *Kinds {
	return &Kinds{manager: mgr}
}

// Watch wakes the controller for events of both kinds, from now on or from when
// they exist. Call it after the controller was built and before the manager starts.
func (k *Kinds) Watch(ctx context.Context, c controller.Controller, claims, hardware Events) error {
	w := watcher{c, claims, hardware}
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

// Started says that both kinds are watched and may be read. It asks nobody.
func (k *Kinds) Started() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.started
}

// Available says whether the API server knows both kinds. If so, they are indexed
// and watched from now on, and may be read from the cache.
func (k *Kinds) Available(ctx context.Context) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.started {
		return true, nil
	}
	for _, object := range []client.Object{&bmov1alpha1.HostClaim{}, &bmov1alpha1.HardwareData{}} {
		if known, err := k.known(object); err != nil || !known {
			return false, err
		}
	}
	if err := claimreader.SetupIndexes(ctx, k.manager.GetFieldIndexer()); err != nil {
		return false, err
	}
	for _, w := range k.watchers {
		if err := k.start(w); err != nil {
			return false, err
		}
	}
	k.started = true
	return true, nil
}

func (k *Kinds) known(object client.Object) (bool, error) {
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
	for _, s := range []source.Source{
		source.Kind[client.Object](k.manager.GetCache(), &bmov1alpha1.HostClaim{}, w.claims.Handler, w.claims.Predicates...),
		source.Kind[client.Object](k.manager.GetCache(), &bmov1alpha1.HardwareData{}, w.hardware.Handler, w.hardware.Predicates...),
	} {
		if err := w.controller.Watch(s); err != nil {
			return fmt.Errorf("watch HostClaims and HardwareData: %w", err)
		}
	}
	return nil
}
