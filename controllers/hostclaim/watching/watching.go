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

package watching

import (
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Watch is a kind in the cache of the manager, and whom its events wake.
type Watch struct {
	// Object is of the kind.
	Object client.Object
	// Handler says what an event wakes.
	Handler handler.EventHandler
	// Predicates are the conditions for an event to be handled.
	Predicates []predicate.Predicate
}

// Complete adds watches and further sources to a controller and builds it.
func Complete(build *builder.Builder, watches []Watch, sources []source.Source, r reconcile.Reconciler) error {
	for _, w := range watches {
		build = build.Watches(w.Object, w.Handler, builder.WithPredicates(w.Predicates...))
	}
	for _, s := range sources {
		build = build.WatchesRawSource(s)
	}
	return build.Complete(r)
}
