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

// Package machine reconciles Metal3Machines: a HostClaim, its data, and a Node with a provider ID.
//
//	observe  what the plan depends on, observe.go; deletion and reuse in release.go and group.go
//	decide   plan*.go: pure functions, with the life of a machine as testdata/life.golden
//	act      apply.go: HostClaim, Metal3DataClaim, secret with the name, Node
//	report   status.go, events.go
//
// It reads no BareMetalHost and binds none: the hostclaim manager does. In which cluster the claim is, only
// package hostclaims knows. Every wait ends by a watch, see watches.go.
package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
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

// ownerDeadline is how long after its creation a machine without an owner reports that. Cluster API
// makes a Machine its owner within seconds.
const ownerDeadline = 10 * time.Minute

// Nodes are the Nodes of workload clusters, as far as machines need them.
type Nodes interface {
	// Candidates returns the Nodes that fit the query, or workload.ErrNotConnected.
	Candidates(ctx context.Context, cluster client.ObjectKey, q nodes.Query) ([]nodes.Node, error)
	// Patch writes what a Node lacks, or returns workload.ErrNotConnected.
	Patch(ctx context.Context, cluster client.ObjectKey, patch nodes.Patch) error
	// Watch wakes the controller for changes of Nodes, once it can.
	Watch(ctx context.Context, cluster client.ObjectKey,
		controller clustercache.SourceWatcher[ctrl.Request], mapNode workload.MapFunc) error
	// Connections wakes a controller when a connection comes or goes.
	Connections(controllerName string, mapCluster handler.MapFunc) source.Source
}

// Reconciler reconciles Metal3Machines. All fields but UpdatesInPlace and WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache, with what it has written itself, and writes.
	Client client.Client
	// Live reads what must not come from a cache: Secrets, and what a deletion or a rebuild depends on.
	Live client.Reader
	// HostClaims are the claims of machines, in this cluster and in those of identityRefs.
	HostClaims hostclaims.Clients
	// Nodes finds Nodes in workload clusters.
	Nodes Nodes
	// Secrets wakes the controller when a Secret changes.
	Secrets *secretwatch.Watch
	// Recorder emits events.
	Recorder events.EventRecorder
	// Metrics measure machines that became provisioned.
	Metrics *Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// KeepFor is how long the server of a machine that is replaced is kept for the next one, where the
	// template asks for that.
	KeepFor time.Duration
	// UpdatesInPlace means that this manager serves Cluster API's hooks for updates in place. Without, it may
	// not read KubeadmConfigs.
	UpdatesInPlace bool
	// WatchFilter restricts the controller to machines with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string

	// controller is set by SetupWithManager, for watches that start later.
	controller clustercache.SourceWatcher[ctrl.Request]
}

// scope is what one pass has read, and what it has decided.
type scope struct {
	// Observed are the facts that the plan depends on. Machine is as the pass leaves it, and before as it was
	// read; what stands above it is set by load, the rest by the observers.
	Observed

	before *infrav1.Metal3Machine
	// claims and identity are set by connect: the claims of this machine, nil if their cluster cannot be used
	// now, and why, or a note on it; empty if no identityRef is in effect.
	claims   *hostclaims.Client
	identity conditions.Wait
	// hostClaim and dataClaim are the HostClaim and the Metal3DataClaim of the machine, set by the observers; nil
	// means that there is none.
	hostClaim *bmov1alpha1.HostClaim
	dataClaim *infrav1.Metal3DataClaim
	// nodeErr is why the Nodes cannot be read; nil also without a connection to the workload cluster.
	nodeErr error

	// plan and release are what was decided; nil if the pass ended before, or for a machine of the other kind.
	plan    *Plan
	release *ReleasePlan
	// applied names the claim that the pass has written, which no cache may show yet.
	applied *infrav1.Metal3ObjectRef
	// abandoned is the record of a claim that is left behind.
	abandoned *identity.Record
	// waits are what the phases wait for or have failed with, besides the plan's.
	waits []metav1.Condition
}

// Reconcile brings one Metal3Machine a step closer to a Node, or to its end.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reterr error) {
	s := &scope{Observed: Observed{Machine: &infrav1.Metal3Machine{}}}
	switch err := r.Client.Get(ctx, req.NamespacedName, s.Machine); {
	case apierrors.IsNotFound(err), err == nil && !r.watches(s.Machine):
		return ctrl.Result{}, r.forget(ctx, req.NamespacedName)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read Metal3Machine: %w", err)
	}
	if err := r.load(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if !controllerutil.ContainsFinalizer(s.Machine, infrav1.MachineFinalizer) {
		if wait, awaited := r.awaitOwner(s); awaited || s.deleted() {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Machine", klog.KObj(s.Owner), "Cluster", klog.KObj(s.Cluster)))
	if !s.paused() && s.Owner != nil {
		if added, err := finalizers.EnsureFinalizer(ctx, r.Client, s.Machine, infrav1.MachineFinalizer); err != nil || added {
			return ctrl.Result{}, err
		}
	}
	s.before = s.Machine.DeepCopy()
	defer func() { reterr = r.finish(ctx, s, reterr) }()
	return ctrl.Result{}, r.reconcile(ctx, s)
}

// reconcile handles a machine by its state: paused, deleted, without an owner, or normal.
func (r *Reconciler) reconcile(ctx context.Context, s *scope) error {
	switch {
	case s.paused():
		return r.reconcilePaused(ctx, s)
	case s.deleted():
		return r.reconcileDelete(ctx, s)
	case s.Owner == nil || s.Cluster == nil:
		r.HostClaims.Release(client.ObjectKeyFromObject(s.Machine))
		s.awaitOwners()
		return nil
	default:
		return r.reconcileNormal(ctx, s)
	}
}

// watches reports whether the machine is one of those that the controller is restricted to.
func (r *Reconciler) watches(machine *infrav1.Metal3Machine) bool {
	return r.WatchFilter == "" || labels.HasWatchLabel(machine, r.WatchFilter)
}

// reconcileNormal reads everything that the decision depends on, decides, and writes what follows. Nothing is
// written after an error: a decision on half of the facts could claim a second server.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) error {
	if err := r.connect(ctx, s); err != nil || s.claims == nil {
		return err
	}
	if err := r.observe(ctx, s); err != nil {
		return err
	}
	s.plan = ptr.To(Next(s.Observed))
	if err := r.applyName(ctx, s); err != nil {
		return err
	}
	if err := r.reuse(ctx, s); err != nil {
		return err
	}
	if err := r.applyClaim(ctx, s); err != nil {
		return err
	}
	// These depend on the claim, and not on one another.
	return errors.Join(r.applyDataClaim(ctx, s), r.patchNode(ctx, s), r.endHold(ctx, s))
}

// reconcilePaused leaves the machine alone, but for its claim, which is paused with the Cluster: a move finds
// claim and host as they are.
func (r *Reconciler) reconcilePaused(ctx context.Context, s *scope) (err error) {
	clusterPaused := s.Cluster != nil && ptr.Deref(s.Cluster.Spec.Paused, false)
	s.hostClaim, err = r.HostClaims.Pause(ctx, s.Machine, clusterPaused)
	s.Claim = claims.Read(s.hostClaim)
	return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.BareMetalHostPauseAnnotationSetFailedReason,
		"The HostClaim of the machine cannot be paused", err)
}

// connect finds the cluster of the claim.
func (r *Reconciler) connect(ctx context.Context, s *scope) (err error) {
	s.claims, s.identity, err = r.HostClaims.For(ctx, hostclaims.Machine{Now: s.Machine, Before: s.before, Infra: s.Infra})
	switch {
	case err != nil && s.identity.Reason != "":
		return s.failed(infrav1.IdentityReadyCondition, s.identity.Reason, s.identity.Message, err)
	case err != nil:
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"The HostClaim of the machine cannot be read", err)
	case s.claims == nil && s.identity.Reason == "" && !s.deleted():
		s.wait(infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimAPIMissingReason,
			"This cluster does not serve HostClaims and HardwareData: name the cluster that holds the hosts by identityRef, "+
				"or install the hostclaim manager and baremetal-operator here")
	}
	return nil
}

// finish reports the pass, writes what has changed, and announces it. After a conflict only the connection is
// reported, since the pass decided on an old version: a cluster may answer each write with a conflict.
func (r *Reconciler) finish(ctx context.Context, s *scope, err error) error {
	conflict := patch.IsConflict(err)
	if conflict {
		s.Machine = s.before.DeepCopy()
		if s.claims != nil {
			reportIdentity(s)
		}
	} else {
		updateStatus(s, metav1.NewTime(r.Clock.Now()))
	}
	failed := patch.Changes(ctx, r.Client, s.before, s.Machine)
	if failed == nil && !conflict {
		r.announce(ctx, s)
	}
	err = errors.Join(err, failed)
	if patch.IsConflict(err) {
		r.Metrics.stale.Inc()
	}
	return err
}

// forget gives up what is kept for a machine that is gone, which may have been the last of its namespace.
func (r *Reconciler) forget(ctx context.Context, key types.NamespacedName) error {
	r.HostClaims.Release(key)
	in := client.InNamespace(key.Namespace)
	return r.Secrets.Release(ctx, r.Client, key.Namespace,
		secretwatch.User{List: &infrav1.Metal3MachineList{}, Which: in}, secretwatch.User{List: &infrav1.Metal3DataList{}, Which: in})
}

// load reads what stands above the machine, all of which may be missing. A machine that has lost its Machine
// finds its Cluster by label, so that a pause is still honored.
func (r *Reconciler) load(ctx context.Context, s *scope) error {
	owner, err := util.GetOwnerMachine(ctx, r.Client, s.Machine.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the owner of Metal3Machine: %w", err)
	}
	name := s.Machine.Labels[clusterv1.ClusterNameLabel]
	if err == nil && owner != nil {
		s.Owner, name = owner, owner.Spec.ClusterName
	}
	if name == "" {
		return nil
	}
	if s.Cluster, err = util.GetClusterByName(ctx, r.Client, s.Machine.Namespace, name); err != nil {
		return client.IgnoreNotFound(err)
	}
	ref := s.Cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupName || ref.Kind != "Metal3Cluster" {
		return nil
	}
	infra := &infrav1.Metal3Cluster{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: s.Machine.Namespace, Name: ref.Name}, infra)
	if s.InfraMissing = apierrors.IsNotFound(err); err == nil {
		s.Infra = infra
	}
	return client.IgnoreNotFound(err)
}

// awaitOwner reports whether Cluster API is still making the machine: Cluster API creates it, writes it again
// with a lock, and makes a Machine its owner only then. A write of ours in between could make it give up, and
// leave the machine behind. So nothing is written before the deadline, after which the machine reports what
// it lacks.
func (r *Reconciler) awaitOwner(s *scope) (wait time.Duration, awaited bool) {
	if s.Owner != nil || s.deleted() || s.paused() {
		return 0, s.Owner == nil && s.paused()
	}
	wait = s.Machine.CreationTimestamp.Add(ownerDeadline).Sub(r.Clock.Now())
	return max(wait, 0), wait > 0
}

// awaitOwners reports which of the objects above the machine is missing.
func (s *scope) awaitOwners() {
	if s.Owner != nil {
		s.wait(infrav1.AssociateBareMetalHostCondition, infrav1.WaitingForClusterInfrastructureReadyReason,
			fmt.Sprintf("Waiting for Cluster %q of the Machine to exist", s.Owner.Spec.ClusterName))
		return
	}
	s.wait(infrav1.AssociateBareMetalHostCondition, infrav1.WaitingForMetal3MachineOwnerRefReason,
		"Waiting for Cluster API to make a Machine the owner of this Metal3Machine")
}

// wait notes what the machine waits for, besides the plan's waits.
func (s *scope) wait(condition, reason, message string) {
	s.waits = append(s.waits, waiting(condition, reason, message))
}

// failed notes what a phase could not do, and returns the error; nil stays nil. A conflict is not noted: the
// pass is repeated with fresher facts. Nor is another error of a machine whose host is lost, which its owner must
// replace whatever else fails, and which would be announced again. The API server's message about an invalid object or a missing right
// is shown, since the owner of the machine can mend that; other errors go to the log only. Package remote
// has replaced the text of another cluster by words of ours.
func (s *scope) failed(condition, reason, message string, err error) error {
	lost := capiconditions.GetReason(s.Machine, condition) == infrav1.HostLostReason
	if err == nil || lost || patch.IsConflict(err) {
		return err
	}
	if failure, ok := errors.AsType[*hostclaims.Failure](err); ok {
		reason, message = failure.Reason, failure.Message
	}
	var status apierrors.APIStatus
	if (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)) && errors.As(err, &status) {
		message += ": " + status.Status().Message
	}
	if silent := patch.SilentWebhook(err); silent != "" {
		message += ": " + silent + " does not answer; whoever runs it must start it again"
	}
	s.wait(condition, reason, message)
	return err
}

// paused reports whether nothing is done for the machine but to report the pause, and to pause its claim.
func (s *scope) paused() bool { return conditions.IsPaused(s.Machine, s.Cluster) }

// deleted reports whether the machine is being deleted.
func (s *scope) deleted() bool { return !s.Machine.DeletionTimestamp.IsZero() }
