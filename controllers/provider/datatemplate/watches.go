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

package datatemplate

import (
	"context"
	"reflect"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// ByTemplate is the name of the field indexes on Metal3DataClaims and
// Metal3Datas by the name of their template.
const ByTemplate = "spec.template.name"

// SetupIndexes adds the field indexes that this controller and that of
// Metal3Data read by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return watch.AddIndexes(ctx, indexer,
		watch.Field{Object: &infrav1.Metal3DataClaim{}, Name: ByTemplate, Values: templateOf},
		watch.Field{Object: &infrav1.Metal3Data{}, Name: ByTemplate, Values: templateOf})
}

// SetupWithManager starts the controller with everything that can wake it:
//
//	Metal3DataClaim   by the template that it names
//	Metal3Data        by the template that it was made from, when it comes, goes or
//	                  reports another state
//	Metal3Machine     by the claim of its name, when it is gone
//	Cluster           by the claims of its machines, when it is paused or unpaused
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("metal3datatemplate").
		For(&infrav1.Metal3DataTemplate{}).
		Watches(&infrav1.Metal3DataClaim{}, handler.EnqueueRequestsFromMapFunc(toTemplate)).
		Watches(&infrav1.Metal3Data{}, handler.EnqueueRequestsFromMapFunc(toTemplate),
			builder.WithPredicates(watch.Whenever(answersChange))).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(r.machineToTemplates),
			builder.WithPredicates(watch.Gone())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToTemplates),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), ctrl.LoggerFrom(ctx)))).
		WithOptions(options).
		Complete(queue.Conflicts(r))
}

// templateOf is the index function of ByTemplate. A Metal3Data that was made before
// the API required its name to follow from its template counts for the template of
// its name too, of which it takes an index.
func templateOf(o client.Object) []string {
	var ref *infrav1.Metal3ObjectRef
	var names []string
	switch o := o.(type) {
	case *infrav1.Metal3DataClaim:
		ref = o.Spec.Template
	case *infrav1.Metal3Data:
		ref = o.Spec.Template
		if at := strings.LastIndex(o.Name, "-"); at > 0 {
			names = append(names, o.Name[:at])
		}
	}
	if ref != nil && ref.Name != "" && !slices.Contains(names, ref.Name) {
		names = append(names, ref.Name)
	}
	return names
}

// toTemplate wakes the template that a claim or a Metal3Data names. Templates serve their own
// namespace only; a claim that names another namespace is refused by the template of that name
// in its own.
func toTemplate(_ context.Context, o client.Object) []ctrl.Request {
	return watch.Requests(o.GetNamespace(), templateOf(o)...)
}

// machineToTemplates wakes the template that the claim of a machine names. The
// claim has the name of its machine.
func (r *Reconciler) machineToTemplates(ctx context.Context, machine client.Object) []ctrl.Request {
	var claim infrav1.Metal3DataClaim
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(machine), &claim); err != nil {
		return nil // it had none, as usual when a machine goes
	}
	return toTemplate(ctx, &claim)
}

// clusterToTemplates wakes the templates that the claims of a Cluster name.
func (r *Reconciler) clusterToTemplates(ctx context.Context, cluster client.Object) []ctrl.Request {
	return watch.RequestsFrom(ctx, r.Client, &infrav1.Metal3DataClaimList{}, func(claim *infrav1.Metal3DataClaim) []ctrl.Request {
		return toTemplate(ctx, claim)
	}, client.InNamespace(cluster.GetNamespace()), client.MatchingFields{watch.ByCluster: cluster.GetName()})
}

// answersChange reports whether anything has changed that matters to the allocation of indexes,
// or that the claim of a Metal3Data repeats.
func answersChange(was, is *infrav1.Metal3Data) bool {
	if !slices.Equal(was.Finalizers, is.Finalizers) || !was.DeletionTimestamp.Equal(is.DeletionTimestamp) ||
		!reflect.DeepEqual(was.OwnerReferences, is.OwnerReferences) {
		return true
	}
	a, b := conditions.Get(was, infrav1.ReadyCondition), conditions.Get(is, infrav1.ReadyCondition)
	return was.Status.ErrorMessage != is.Status.ErrorMessage || (a == nil) != (b == nil) || a != nil && !conditions.HasSameStateExceptObservedGeneration(a, b)
}
