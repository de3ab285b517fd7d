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

package remediation

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// controllerName names the controller in logs, metrics and events.
const controllerName = "metal3remediation"

// Claims finds the claims of machines.
type Claims interface {
	// SiteOf is where the claim of a machine is, and whether it can be read now.
	SiteOf(ctx context.Context, machine *infrav1.Metal3Machine) (claimreader.Site, bool, error)
}

// LocalClaims are the HostClaims of this cluster, if it serves them.
type LocalClaims interface {
	// Watch hands their events to a controller, once the kind exists.
	Watch(ctx context.Context, c controller.Controller, events handler.EventHandler) error
}

// Remote are the connections to other clusters, of which Claims makes use.
type Remote interface {
	// Source wakes a controller for users of a kind.
	Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source
}

// Reconciler reconciles Metal3Remediations. All fields but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads what must not come from a cache: remediation and claim, before the server is
	// switched off or its Node touched.
	Live client.Reader
	// Claims finds the claims of machines.
	Claims Claims
	// Local are the claims that Claims reads in this cluster.
	Local LocalClaims
	// Remote wakes the controller for claims of other clusters.
	Remote Remote
	// Nodes are the Nodes of workload clusters.
	Nodes nodes.Nodes
	// Recorder emits events.
	Recorder events.EventRecorder
	// Metrics are told of reboots.
	Metrics *Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter restricts the controller to remediations with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string

	// controller is set by SetupWithManager, for watches that start later.
	controller clustercache.SourceWatcher[ctrl.Request]
	departures departures
	stale      retry.Stale
	reports    retry.Reports
}

// The parts of a pass, each with what it needs.

func (r *Reconciler) claimSteps() claimSteps {
	return claimSteps{client: r.Client, live: r.Live, claims: r.Claims}
}

func (r *Reconciler) nodeSteps() nodeSteps {
	return nodeSteps{nodes: r.Nodes, controller: r.controller, mapNode: mapper{r.Client}.nodeToRemediations, departures: &r.departures}
}

func (r *Reconciler) owner() owner { return owner{client: r.Client} }
