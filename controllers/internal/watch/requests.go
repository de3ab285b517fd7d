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

// Package watch has what wakes controllers beyond the watches of controller-runtime: requests that
// follow from lists, tables of watches, field indexes, and kinds that the API server may serve later.
package watch

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Requests are the requests for objects of these names.
func Requests(namespace string, names ...string) []ctrl.Request {
	requests := make([]ctrl.Request, 0, len(names))
	for _, name := range names {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
	}
	return requests
}

// RequestsFor are the requests for the objects that the options select. It fills the list for that,
// as RequestsFrom does.
func RequestsFor(ctx context.Context, reader client.Reader, list client.ObjectList, options ...client.ListOption) []ctrl.Request {
	return RequestsFrom(ctx, reader, list, func(o client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	}, options...)
}

// RequestsFrom are the requests that follow from each of the objects that the options select. It fills
// the list for that, with the objects of the cache: nothing in them may be changed. Watches
// cannot fail: an error is logged. A cache that has been filled gives none.
func RequestsFrom[T client.Object](
	ctx context.Context, reader client.Reader, list client.ObjectList, of func(T) []ctrl.Request, options ...client.ListOption,
) []ctrl.Request {
	if err := reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Objects cannot be listed, an event is lost", "list", fmt.Sprintf("%T", list))
		return nil
	}
	requests := make([]ctrl.Request, 0, meta.LenList(list))
	err := meta.EachListItem(list, func(o runtime.Object) error {
		object, ok := o.(T)
		if !ok {
			return fmt.Errorf("%T where %T is listed", o, object)
		}
		requests = append(requests, of(object)...)
		return nil
	})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Objects are not of the kind that the controller maps, an event is lost")
	}
	return requests
}

// Whenever lets through objects that come or go, or are replaced by others of their name, and
// changes that make a difference.
func Whenever[T client.Object](different func(before, after T) bool) predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, also := e.ObjectNew.(T)
		return ok && also && (before.GetUID() != after.GetUID() || different(before, after))
	}}
}

// Gone lets through nothing but that an object is gone.
func Gone() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// Row is a kind in the cache of the manager, and what its events wake. A controller has a table of
// them, which the model test plays without a manager.
type Row struct {
	Object     client.Object
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
}

// Complete adds a table of watches and further sources to a controller and builds it.
func Complete(build *builder.Builder, table []Row, sources []source.Source, r reconcile.Reconciler) error {
	for _, row := range table {
		build = build.Watches(row.Object, row.Handler, builder.WithPredicates(row.Predicates...))
	}
	for _, s := range sources {
		build = build.WatchesRawSource(s)
	}
	return build.Complete(r)
}

// Index finds objects of one type by values, and those without a value not at all.
func Index[T client.Object](values func(T) []string) client.IndexerFunc {
	return func(object client.Object) []string {
		typed, ok := object.(T)
		if !ok {
			return nil
		}
		found := slices.DeleteFunc(values(typed), func(value string) bool { return value == "" })
		if len(found) == 0 {
			return nil
		}
		return found
	}
}

// Field is a field index on the objects of one kind.
type Field struct {
	Object client.Object
	Name   string
	Values client.IndexerFunc
}

// AddIndexes adds field indexes.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer, fields ...Field) error {
	for _, field := range fields {
		if err := indexer.IndexField(ctx, field.Object, field.Name, field.Values); err != nil {
			return fmt.Errorf("index %T by %s: %w", field.Object, field.Name, err)
		}
	}
	return nil
}

// ByCluster is the field index by the name of the Cluster that an object belongs to, within its namespace.
const ByCluster = "hostclaim.clusterName"

// IndexByCluster returns what indexes kinds by their Cluster: Machines by their spec, all others by
// their label.
func IndexByCluster(kinds ...client.Object) func(context.Context, client.FieldIndexer) error {
	return func(ctx context.Context, indexer client.FieldIndexer) error {
		for _, kind := range kinds {
			if err := indexer.IndexField(ctx, kind, ByCluster, Index(clusterOf)); err != nil {
				return fmt.Errorf("index %T by Cluster: %w", kind, err)
			}
		}
		return nil
	}
}

func clusterOf(o client.Object) []string {
	if machine, ok := o.(*clusterv1.Machine); ok {
		return []string{machine.Spec.ClusterName}
	}
	return []string{o.GetLabels()[clusterv1.ClusterNameLabel]}
}
