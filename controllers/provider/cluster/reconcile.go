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

// Package cluster reports to Cluster API when the machines of a Cluster may come: once the control plane
// endpoint is known, be it given by the Metal3Cluster or by another controller or a user. It copies failure
// domains to the field that Cluster API reads, and holds a Metal3Cluster until its machines are gone. There
// is nothing to build: the servers are those of the machines.
package cluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters/status,verbs=get;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

const (
	// kind is the kind of the objects of this controller.
	kind = "Metal3Cluster"
	// ownerDeadline is how long after its creation an object without an owner reports that.
	// Cluster API makes a Cluster its owner within seconds.
	ownerDeadline = 10 * time.Minute
)

// Reconciler reconciles Metal3Clusters. All fields but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Recorder emits events.
	Recorder events.EventRecorder
	// Remote are the connections to the clusters that hold the hosts.
	Remote hostclaims.Connections
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter restricts the controller to objects with this value of the
	// label cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
}

// scope holds what one pass knows about one Metal3Cluster.
type scope struct {
	// infra is set by load and changed by report and the end of a deletion, and before is
	// infra as it was when the pass began.
	infra, before *infrav1.Metal3Cluster
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
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		return ctrl.Result{}, err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.owner)))
	switch held := controllerutil.ContainsFinalizer(s.infra, infrav1.ClusterFinalizer); {
	case !held && !s.infra.DeletionTimestamp.IsZero():
		return ctrl.Result{}, nil // nothing was ever done for it, or all is undone
	case !held && s.owner == nil:
		if wait, silent := s.awaitOwner(r.Clock.Now()); silent {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	case !s.paused():
		if err := r.observe(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	report(s, metav1.NewTime(r.Clock.Now()))
	s.release(ctx)
	if err := patch.Changes(ctx, r.Client, s.before, s.infra); err != nil {
		return ctrl.Result{}, fmt.Errorf("write Metal3Cluster: %w", err)
	}
	r.announce(ctx, s)
	return ctrl.Result{}, nil
}

// load reads the object and its owner. To an externally managed one nothing at all is written.
func (r *Reconciler) load(ctx context.Context, key client.ObjectKey) (*scope, bool, error) {
	s := &scope{infra: &infrav1.Metal3Cluster{}}
	switch err := r.Client.Get(ctx, key, s.infra); {
	case apierrors.IsNotFound(err), err == nil && !r.manages(s.infra):
		r.Remote.Release(remote.User{Kind: kind, NamespacedName: key})
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	s.before = s.infra.DeepCopy()
	owner, err := util.GetOwnerCluster(ctx, r.Client, s.infra.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read the owner of Metal3Cluster: %w", err)
	}
	if err == nil {
		s.owner = owner
	}
	return s, true, nil
}

// manages reports whether the object is this manager's to reconcile.
func (r *Reconciler) manages(infra *infrav1.Metal3Cluster) bool {
	return !annotations.IsExternallyManaged(infra) && (r.WatchFilter == "" || labels.HasWatchLabel(infra, r.WatchFilter))
}

// awaitOwner returns how long nothing is written to an object that Cluster API may still be
// making, since a write of ours could make one of Cluster API meet a conflict. After that, the
// condition of the object names the lack of an owner, unless it is paused.
func (s *scope) awaitOwner(now time.Time) (wait time.Duration, silent bool) {
	if annotations.HasPaused(s.infra) {
		return 0, true
	}
	wait = s.infra.CreationTimestamp.Add(ownerDeadline).Sub(now)
	return wait, wait > 0
}

// paused reports whether nothing is done for the object but to report the pause.
func (s *scope) paused() bool {
	return conditions.IsPaused(s.infra, s.owner)
}

// observe reads what the status depends on, once the finalizer is there.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, s.infra, infrav1.ClusterFinalizer); err != nil {
		return fmt.Errorf("add finalizer: %w", err)
	}
	s.before = s.infra.DeepCopy()
	r.connect(s)
	return r.observeMachines(ctx, s)
}

// observeMachines finds out whether machines are left, ours or, in a Cluster of mixed
// infrastructure, those of another provider.
func (r *Reconciler) observeMachines(ctx context.Context, s *scope) error {
	name := s.infra.Labels[clusterv1.ClusterNameLabel] // the Cluster may be gone itself
	if s.owner != nil {
		name = s.owner.Name
	}
	if s.infra.DeletionTimestamp.IsZero() || name == "" {
		return nil
	}
	in, of := client.InNamespace(s.infra.Namespace), client.MatchingFields{watch.ByCluster: name}
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

// connect finds out whether the credentials of identityRef lead to hosts. Machines have
// connections of their own: this one reports a problem to the author of the reference before
// the first machine needs it. While it is being made after a start of the manager, the
// condition stays.
func (r *Reconciler) connect(s *scope) {
	user := remote.User{Kind: kind, NamespacedName: client.ObjectKeyFromObject(s.infra)}
	ref := s.infra.Spec.IdentityRef
	if ref == nil {
		r.Remote.Release(user)
		return
	}
	_, problem := r.Remote.Site(user, identity.Of(s.infra.Namespace, ref))
	known := capiconditions.Get(s.infra, infrav1.IdentityReadyCondition)
	switch {
	case problem != nil && problem.Reason == infrav1.IdentityConnectingReason && known != nil:
		s.identity = known.DeepCopy()
	case problem != nil:
		s.identity = &metav1.Condition{Status: metav1.ConditionFalse, Reason: problem.Reason, Message: problem.Message}
	default:
		s.identity = &metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.IdentityConnectedReason}
	}
}

// release lets the object go with its last machine; the patch at the end
// of the pass writes it.
func (s *scope) release(ctx context.Context) {
	if !s.infra.DeletionTimestamp.IsZero() && !s.machines && !s.paused() {
		ctrl.LoggerFrom(ctx).Info("Metal3Cluster released")
		controllerutil.RemoveFinalizer(s.infra, infrav1.ClusterFinalizer)
	}
}
