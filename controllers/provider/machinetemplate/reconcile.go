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

package machinetemplate

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/capacity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/hostview"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/optionalcrd"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims;hardwaredata,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// Hosts finds what is published of the hosts of machines.
type Hosts interface {
	// Host returns the facts of the machine's host, and whether there are any.
	Host(ctx context.Context, machine *infrav1.Metal3Machine) (hostview.Host, bool, error)
}

// LocalKinds are HostClaim and HardwareData of this cluster.
type LocalKinds interface {
	// Watch wakes a controller for their events, once they exist.
	Watch(ctx context.Context, c controller.Controller, events ...optionalcrd.Events) error
}

// Remote are the connections to the clusters that hold the hosts of machines with an
// identityRef. Hosts reads through the same ones.
type Remote interface {
	// Source wakes a controller for users of a kind.
	Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source
}

// Reconciler reconciles Metal3MachineTemplates. All fields but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Hosts finds host facts.
	Hosts Hosts
	// Local are the kinds that Hosts reads in this cluster, if it has them.
	Local LocalKinds
	// Remote tells of what Hosts reads in other clusters.
	Remote Remote
	// Recorder emits events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter restricts the controller to templates with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string

	stale   retry.Stale
	reports retry.Reports
}

// scope holds what one pass knows about one template.
type scope struct {
	// template is set by load and changed by report.
	template *infrav1.Metal3MachineTemplate
	// clusters are set by load: those that use the template.
	clusters []*clusterv1.Cluster
	// machines are set by observe, and nil while paused: those made from the template.
	machines []capacity.Machine
	// drifted are set by observe: the machines with another cleaning mode than the template gives. They share
	// memory with the cache.
	drifted []*infrav1.Metal3Machine
	// siblings are set by observe while the template promises nothing: what others
	// promise that ask for the same servers.
	siblings []capacity.Promise
}

// Reconcile brings the status of one template in line with its annotations and machines, and the cleaning
// mode of the machines in line with the template.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		r.stale.Forget(req.NamespacedName)
		r.reports.Forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	err = r.observe(ctx, s)
	out := cleaningSteps{r.Client}.apply(ctx, s)
	if err != nil {
		return r.stale.Result(ctx, req.NamespacedName, out.And(progress.Failed(err)), r.Clock.Now())
	}
	before := s.template.DeepCopy()
	report(s)
	change := retry.Changed
	if same(before.Status, s.template.Status) {
		change = retry.Nothing
	}
	if until, held := r.reports.Hold(req.NamespacedName, change, r.Clock.Now(), 0); held {
		return r.stale.Result(ctx, req.NamespacedName, out.And(progress.Until(until, "", "")), r.Clock.Now())
	}
	out = out.And(progress.Failed(r.write(ctx, before, s.template)))
	return r.stale.Result(ctx, req.NamespacedName, out, r.Clock.Now())
}

// load reads the template and the Clusters that use it. It finds nothing when the template
// is gone, going, or not ours to watch.
func (r *Reconciler) load(ctx context.Context, key client.ObjectKey) (*scope, bool, error) {
	s := &scope{template: &infrav1.Metal3MachineTemplate{}}
	if err := r.Client.Get(ctx, key, s.template); err != nil {
		return nil, false, client.IgnoreNotFound(err)
	}
	if !s.template.DeletionTimestamp.IsZero() || (r.WatchFilter != "" && !labels.HasWatchLabel(s.template, r.WatchFilter)) {
		return nil, false, nil
	}
	for _, name := range clustersOf(s.template) {
		cluster := &clusterv1.Cluster{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: name}, cluster)
		if client.IgnoreNotFound(err) != nil {
			return nil, false, fmt.Errorf("read Cluster %s: %w", name, err)
		}
		s.clusters = append(s.clusters, cluster)
	}
	return s, true, nil
}

// paused says whether the template, or a Cluster that uses it, is paused.
func (s *scope) paused() bool {
	return pausing.Paused(s.template, s.clusters...)
}

// write patches the status if it has changed, locked on the version that was read: the
// promise is decided from the one before.
func (r *Reconciler) write(ctx context.Context, before, after *infrav1.Metal3MachineTemplate) error {
	if same(before.Status, after.Status) {
		return nil
	}
	err := r.Client.Status().Patch(ctx, after, apply.Locked(before))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of Metal3MachineTemplate: %w", err)
	}
	if err == nil {
		r.announce(ctx, before, after)
	}
	return nil
}

// same compares by value: equal quantities may be written differently.
func same(a, b infrav1.Metal3MachineTemplateStatus) bool {
	return sameCapacity(a.Capacity, b.Capacity) && reflect.DeepEqual(a.NodeInfo, b.NodeInfo) && reflect.DeepEqual(a.Conditions, b.Conditions)
}
