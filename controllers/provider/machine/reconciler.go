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

package machine

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
	workload "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines/status,verbs=get;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters;metal3machinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines;machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hardwaredata,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// Nodes are the Nodes of workload clusters, as far as machines need them.
type Nodes interface {
	// Candidates returns the Nodes that fit the query, or workload.ErrNotConnected.
	Candidates(ctx context.Context, cluster client.ObjectKey, q nodes.Query) ([]nodes.Node, error)
	// Patch writes what a Node lacks, or returns workload.ErrNotConnected.
	Patch(ctx context.Context, cluster client.ObjectKey, patch machines.NodePatch) error
	// Watch wakes the controller for changes of Nodes, once it can.
	Watch(ctx context.Context, cluster client.ObjectKey,
		controller clustercache.SourceWatcher[ctrl.Request], mapNode workload.MapFunc) error
	// Connections wakes a controller when a connection comes or goes.
	Connections(controllerName string, mapCluster handler.MapFunc) source.Source
}

// Reconciler reconciles Metal3Machines. All fields but UpdatesInPlace and WatchFilter are
// needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads what must not come from a cache: Secrets, and claims before
	// it is concluded that there is none.
	Live client.Reader
	// Claims finds the claim of a machine and the facts of its host in this cluster.
	Claims claimreader.Reader
	// Local says whether this cluster serves claims.
	Local LocalKinds
	// Remote are the connections to the clusters that hold the hosts of machines with
	// an identityRef.
	Remote Remote
	// Nodes finds Nodes in workload clusters.
	Nodes Nodes
	// Secrets wakes the controller when a Secret changes.
	Secrets *secretwatch.Watch
	// Recorder emits events.
	Recorder events.EventRecorder
	// Metrics are told of machines that became provisioned.
	Metrics *Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// HoldReports is how long a machine waits for what as a rule comes at once before it
	// says so; 0 reports every state.
	HoldReports time.Duration
	// KeepFor is how long the server of a machine that is replaced is kept for the next one,
	// where the template asks for that.
	KeepFor time.Duration
	// UpdatesInPlace says that this manager serves Cluster API's hooks for updates in place.
	UpdatesInPlace bool
	// WatchFilter restricts the controller to machines with this value of the
	// label cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string

	// controller is set by SetupWithManager, for watches that start later.
	controller clustercache.SourceWatcher[ctrl.Request]
	stale      retry.Stale
	reports    retry.Reports
	// written are the machines written last; writtenClaims and writtenDataClaims, by machine, its
	// HostClaim and its Metal3DataClaim.
	written, writtenClaims, writtenDataClaims retry.Written
}

// The parts of a pass, each with what it needs.

func (r *Reconciler) connector() connector {
	return connector{
		client: r.Client, live: r.Live, claims: r.Claims, local: r.Local, remote: r.Remote,
		groups: groupReader{client: r.Client}, keepFor: r.KeepFor, now: r.Clock.Now,
		written: &r.writtenClaims,
	}
}

func (r *Reconciler) bootstrapSteps() bootstrapSteps {
	return bootstrapSteps{live: r.Live, secrets: r.Secrets}
}

func (r *Reconciler) heldData() heldData {
	return heldData{client: r.Client, live: r.Live, served: r.UpdatesInPlace}
}

func (r *Reconciler) dataSteps() dataSteps {
	return dataSteps{client: r.Client, live: r.Live, written: &r.writtenDataClaims, now: r.Clock.Now}
}

func (r *Reconciler) nodeSteps() nodeSteps {
	return nodeSteps{nodes: r.Nodes, controller: r.controller, mapNode: r.mapper().nodeToMachines}
}

func (r *Reconciler) mapper() mapper { return mapper{client: r.Client, local: r.Local} }
