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

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/clusterindex"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters/status,verbs=get;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// ownerDeadline is how long after its creation an object without an owner says so.
// Cluster API makes a Cluster its owner within seconds.
const ownerDeadline = 10 * time.Minute

// Reconciler reconciles Metal3Clusters. All fields but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Recorder emits events.
	Recorder events.EventRecorder
	// Remote are the connections to the clusters that hold the hosts.
	Remote Remote
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter restricts the controller to objects with this value of the
	// label cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string

	stale retry.Stale
}

// scope holds what one pass knows about one Metal3Cluster.
type scope struct {
	// infra is set by load and changed by report and the end of a deletion.
	infra *infrav1.Metal3Cluster
	// before is infra as it was when the pass began.
	before *infrav1.Metal3Cluster
	// owner is set by load; nil means that Cluster API has not made a Cluster
	// the owner yet, or that it is gone.
	owner *clusterv1.Cluster
	// machines is set by observeMachines while the object is being deleted:
	// whether the Cluster still has any.
	machines bool
	// identity is set by connect, for the condition IdentityReady; nil means that
	// there is no identityRef.
	identity *metav1.Condition
}

// Reconcile brings one Metal3Cluster in line with its Cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if wait := r.stale.TooEarly(req.NamespacedName, r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		r.stale.Forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	if s.owner != nil {
		ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.owner)))
	}
	if !controllerutil.ContainsFinalizer(s.infra, infrav1.ClusterFinalizer) {
		switch {
		case !s.infra.DeletionTimestamp.IsZero():
			return ctrl.Result{}, nil // nothing was ever done for it, or all is undone
		case s.owner == nil:
			return r.awaitOwner(ctx, s)
		}
	}
	if err := r.observe(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	return r.finish(ctx, s)
}

// finish writes what the pass has found out, and announces what has happened.
func (r *Reconciler) finish(ctx context.Context, s *scope) (ctrl.Result, error) {
	report(s, metav1.NewTime(r.Clock.Now()))
	dropFinalizer(ctx, s)
	if _, err := apply.Changes(ctx, r.Client, s.before, s.infra); err != nil {
		out := progress.Failed(fmt.Errorf("write Metal3Cluster: %w", err))
		return r.stale.Result(ctx, client.ObjectKeyFromObject(s.infra), out, r.Clock.Now())
	}
	r.stale.Forget(client.ObjectKeyFromObject(s.infra))
	r.announce(ctx, s)
	return ctrl.Result{}, nil
}

// awaitOwner is for an object that Cluster API may still be making. Nothing is
// written before the deadline, since a write of ours could make one of Cluster API
// meet a conflict; past it, the object says that it lacks an owner.
func (r *Reconciler) awaitOwner(ctx context.Context, s *scope) (ctrl.Result, error) {
	if annotations.HasPaused(s.infra) {
		return ctrl.Result{}, nil
	}
	if deadline := s.infra.CreationTimestamp.Add(ownerDeadline); r.Clock.Now().Before(deadline) {
		return progress.Until(deadline, infrav1.WaitingForClusterOwnerReason, "").Result(r.Clock.Now())
	}
	if !conditions.Has(s.infra, infrav1.BaremetalInfrastructureReadyCondition) {
		ctrl.LoggerFrom(ctx).Info("No Cluster owns the Metal3Cluster", "since", s.infra.CreationTimestamp)
	}
	s.before = s.infra.DeepCopy()
	return r.finish(ctx, s)
}

// observe reads what the status depends on, once the finalizer is there. While the
// object is paused nothing is read or written for it.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	if s.paused() {
		s.before = s.infra.DeepCopy()
		return nil
	}
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, s.infra, infrav1.ClusterFinalizer); err != nil {
		return fmt.Errorf("add finalizer: %w", err)
	}
	s.before = s.infra.DeepCopy()
	return errors.Join(r.observeMachines(ctx, s), r.connect(ctx, s))
}

// paused says that nothing is done for the object but to report the pause.
func (s *scope) paused() bool {
	return pausing.Paused(s.infra, s.owner)
}

// dropFinalizer lets the object go with its last machine; the patch at the end
// of the pass writes it.
func dropFinalizer(ctx context.Context, s *scope) {
	if !s.infra.DeletionTimestamp.IsZero() && !s.machines && !s.paused() {
		ctrl.LoggerFrom(ctx).Info("Metal3Cluster released")
		controllerutil.RemoveFinalizer(s.infra, infrav1.ClusterFinalizer)
	}
}

// load reads the object and its owner. An externally managed one is none of our
// business: nothing at all is written to it.
func (r *Reconciler) load(ctx context.Context, key client.ObjectKey) (*scope, bool, error) {
	s := &scope{infra: &infrav1.Metal3Cluster{}}
	if err := r.Client.Get(ctx, key, s.infra); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Remote.Release(remote.User{Kind: kind, NamespacedName: key})
		}
		return nil, false, client.IgnoreNotFound(err)
	}
	if annotations.IsExternallyManaged(s.infra) ||
		(r.WatchFilter != "" && !labels.HasWatchLabel(s.infra, r.WatchFilter)) {
		return nil, false, nil
	}
	owner, err := util.GetOwnerCluster(ctx, r.Client, s.infra.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read the owner of Metal3Cluster: %w", err)
	}
	if err == nil {
		s.owner = owner
	}
	return s, true, nil
}

// observeMachines looks whether machines are left, ours or, in a Cluster of
// mixed infrastructure, those of another provider.
func (r *Reconciler) observeMachines(ctx context.Context, s *scope) error {
	if s.infra.DeletionTimestamp.IsZero() {
		return nil
	}
	name := clusterName(s)
	if name == "" {
		return nil
	}
	in, of := client.InNamespace(s.infra.Namespace), client.MatchingFields{clusterindex.Field: name}
	var machines clusterv1.MachineList
	if err := r.Client.List(ctx, &machines, in, of); err != nil {
		return fmt.Errorf("list Machines of Cluster %s: %w", name, err)
	}
	var ours infrav1.Metal3MachineList
	if err := r.Client.List(ctx, &ours, in, of); err != nil {
		return fmt.Errorf("list Metal3Machines of Cluster %s: %w", name, err)
	}
	s.machines = len(machines.Items)+len(ours.Items) > 0
	return nil
}

// clusterName is the name of the Cluster, which may be gone itself.
func clusterName(s *scope) string {
	if s.owner != nil {
		return s.owner.Name
	}
	return s.infra.Labels[clusterv1.ClusterNameLabel]
}
