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

package data

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/hostview"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/optionalcrd"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/requests"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates;metal3dataclaims;metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims;hardwaredata,verbs=get;list;watch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools,verbs=get;list;watch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipaddresses,verbs=get
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=get
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// controllerName names the controller in logs, metrics and events.
const controllerName = "metal3data"

// HostReader finds what is known of the server behind a machine.
type HostReader interface {
	// Host returns the facts, and whether there are any.
	Host(ctx context.Context, machine *infrav1.Metal3Machine) (hostview.Host, bool, error)
}

// LocalKinds are HostClaim and HardwareData of this cluster, if it has them.
type LocalKinds interface {
	// Watch wakes a controller for their events, once they exist.
	Watch(ctx context.Context, c controller.Controller, events ...optionalcrd.Events) error
}

// Remote are the connections to other clusters, of which HostReader makes use.
type Remote interface {
	// Source wakes a controller for users of a kind.
	Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source
}

// Reconciler reconciles Metal3Datas. Client to Clock are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads what must not come from a cache: secrets, addresses, and
	// whether the claim of a deleted Metal3Data is gone.
	Live client.Reader
	// Hosts finds the facts of servers.
	Hosts HostReader
	// Local are the kinds that Hosts reads in this cluster.
	Local LocalKinds
	// Remote wakes the controller for hosts of other clusters.
	Remote Remote
	// Secrets wakes the controller when a secret changes.
	Secrets *secretwatch.Watch
	// Recorder emits events.
	Recorder events.EventRecorder
	// Metrics are told of Metal3Datas that became ready.
	Metrics *Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// HoldReports is how long an address, or a host, is waited for before the Metal3Data
	// says so; 0 reports at once.
	HoldReports time.Duration
	// WatchFilter restricts the controller to Metal3Datas with this value of the
	// label cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
	// ClaimsByHostName names claims on pools after the host, so that pools can
	// hold addresses for it in advance.
	ClaimsByHostName bool

	stale   retry.Stale
	written retry.Written
	reports retry.Reports

	// kinds is set by SetupWithManager.
	kinds availability
}

// The parts of a pass, each with what it needs.

func (r *Reconciler) sourceSteps() sourceSteps { return sourceSteps{client: r.Client, hosts: r.Hosts} }

func (r *Reconciler) addressSteps() addressSteps {
	claims := addressClaims{client: r.Client, live: r.Live, kinds: r.kinds}
	return addressSteps{claims: claims, live: r.Live, clock: r.Clock, byHostName: r.ClaimsByHostName}
}

func (r *Reconciler) secretSteps() secretSteps {
	return secretSteps{client: r.Client, live: r.Live, watch: r.Secrets}
}

func (r *Reconciler) endSteps() endSteps { return endSteps{client: r.Client, live: r.Live} }

// SetupWithManager starts the controller with everything that can wake it:
//
//	Metal3DataTemplate                     by reference, when its spec changes
//	Metal3DataClaim                        by reference, when it comes or goes
//	Metal3Machine, Machine                 by owner, when labels or annotations change
//	HostClaim, HardwareData                by the machine that they serve, once these kinds exist
//	connections to other clusters          by the machine that uses them, or whose claim or facts changed
//	IPClaim, IPAddressClaim                by owner, once these kinds exist
//	IPPool                                 those that wait for an address or cannot use theirs, when it comes,
//	                                       goes or has another spec; those that it refused, when it gives
//	                                       an address or gets one back
//	deleted claims                         those that wait for an address
//	answered claims                        those whose turn it is to ask
//	CRDs of the IPAM kinds                 those that wait for them
//	Secret                                 by the names of the rendered secrets
//	Cluster                                by label, when it is paused or unpaused
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log, wakes := ctrl.LoggerFrom(ctx), mapper{r.Client, r.Clock}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&infrav1.Metal3Data{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter))).
		Watches(&infrav1.Metal3DataTemplate{}, handler.EnqueueRequestsFromMapFunc(wakes.templateToData), builder.WithPredicates(requests.Whenever(anotherSpec))).
		Watches(&infrav1.Metal3DataClaim{}, handler.EnqueueRequestsFromMapFunc(wakes.claimToData), builder.WithPredicates(requests.Whenever(nothingElse))).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(wakes.metal3MachineToData), builder.WithPredicates(requests.Whenever(otherNames))).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(wakes.machineToData), builder.WithPredicates(requests.Whenever(otherNames))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(wakes.clusterToData),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), log))).
		Watches(optionalcrd.CRD(), optionalcrd.OnCRD(wakes.waitingForAPI), builder.WithPredicates(optionalcrd.OneOf(addressCRDs()...))).
		WatchesRawSource(r.Secrets.Source(wakes.secretToData)).
		WatchesRawSource(r.Remote.Source(machineKind, wakes.userToData)).
		WithOptions(options).
		Build(queue.Spaced(r, r.Clock))
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", controllerName, err)
	}
	err = r.Local.Watch(ctx, c,
		optionalcrd.Events{Handler: handler.EnqueueRequestsFromMapFunc(wakes.hostClaimToData)},
		optionalcrd.Events{Handler: handler.EnqueueRequestsFromMapFunc(wakes.hardwareToData)})
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", controllerName, err)
	}
	if r.kinds, err = watchAddressKinds(ctx, mgr, c, wakes); err != nil {
		return fmt.Errorf("set up controller %s: %w", controllerName, err)
	}
	return nil
}
