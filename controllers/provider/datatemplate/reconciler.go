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
	"fmt"
	"time"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/requests"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// controllerName names the controller in logs, metrics and events.
const controllerName = "metal3datatemplate"

// ByTemplate is the name of the field indexes on Metal3DataClaims and
// Metal3Datas by the name of their template.
const ByTemplate = "spec.template.name"

// Reconciler reconciles Metal3DataTemplates and the claims on them. All fields
// but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads what must not come from a cache: which claim holds an index, and
	// whether a claim or its machine is gone.
	Live client.Reader
	// Clock tells the time.
	Clock clock.PassiveClock
	// AtOnce is how many claims on one template are served at a time; 0 means one.
	AtOnce int
	// HoldReports is how long the list of indexes of a template waits for further claims
	// before it is written; 0 writes each change.
	HoldReports time.Duration
	// WatchFilter restricts the controller to templates with this value of the
	// label cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string

	stale   retry.Stale
	reports retry.Reports
	made    made
	// Claims and Metal3Datas that were deleted or let go a moment ago.
	writtenClaims, writtenData retry.Written
}

// SetupIndexes adds the field indexes that this controller and that of
// Metal3Data read by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &infrav1.Metal3DataClaim{}, ByTemplate, templateOf); err != nil {
		return fmt.Errorf("index Metal3DataClaims by template: %w", err)
	}
	if err := indexer.IndexField(ctx, &infrav1.Metal3Data{}, ByTemplate, templateOf); err != nil {
		return fmt.Errorf("index Metal3Datas by template: %w", err)
	}
	return nil
}

// SetupWithManager starts the controller with everything that can wake it:
//
//	Metal3DataClaim   by the template that it names
//	Metal3Data        by the template that it was made from, when it comes, goes or
//	                  says something else of itself
//	Metal3Machine     by the claim of its name, when it is gone
//	Cluster           by the claims of its machines, when it is paused or unpaused
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log, wakes := ctrl.LoggerFrom(ctx), mapper{r.Client}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&infrav1.Metal3DataTemplate{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter))).
		Watches(&infrav1.Metal3DataClaim{}, handler.EnqueueRequestsFromMapFunc(toTemplate)).
		Watches(&infrav1.Metal3Data{}, handler.EnqueueRequestsFromMapFunc(toTemplate),
			builder.WithPredicates(requests.Whenever(answersChange))).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(wakes.machineToTemplates),
			builder.WithPredicates(goes())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(wakes.clusterToTemplates),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), log))).
		WithOptions(options).
		Complete(queue.Conflicts(r))
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", controllerName, err)
	}
	return nil
}
