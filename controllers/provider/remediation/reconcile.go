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

// Package remediation reboots the servers of unhealthy machines, as Metal3Remediations ask:
//
//	hold the server off ─▶ off ─▶ move the workload away ─▶ switch on ─▶ on ─▶ restore the Node ─▶ wait
//	└──────────────── phase Running ───────────────────┘   └───────────── phase Waiting ───────────┘
//
// A pass takes everything from the objects as they are now, so a manager that was killed
// between any two writes continues where it was. The power of a server is controlled by one
// annotation on its HostClaim, in this cluster or in another one, which holds the server off as
// long as it exists: two reboots of a remediation never overlap. A second one begins only after
// the server was seen on. The package knows neither hosts nor their BMCs.
//
// MachineHealthChecks make Metal3Remediations and delete them once the machine is healthy.
package remediation

import (
	"context"
	"fmt"
	"maps"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

const (
	// controllerName names the controller in logs, metrics and events.
	controllerName = "metal3remediation"
	// lookAgain is how long a Node is left alone while Pods and volumes leave it. A watch would have to be one
	// on all of the workload cluster, or one more stream from it for each Node; Kubernetes itself looks at the Pods
	// of Nodes that are out of service every 20 seconds.
	lookAgain = 5 * time.Second
)

// Claims finds the claims of machines.
type Claims interface {
	// Of returns the client for the claim of a machine, and whether the claim can be read now.
	Of(ctx context.Context, machine *infrav1.Metal3Machine) (*hostclaims.Client, bool, error)
}

// LocalClaims are the HostClaims of this cluster, if it serves them.
type LocalClaims interface {
	// Watch has a controller watch them, once the kind exists.
	Watch(ctx context.Context, c controller.Controller, sources ...source.Source) error
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
	// Metrics count and measure reboots.
	Metrics *Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter restricts the controller to remediations with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string

	// controller is set by SetupWithManager, for watches that start later.
	controller clustercache.SourceWatcher[ctrl.Request]
}

// scope is what one pass has read, and what it reports.
type scope struct {
	// remediation is as it was read, with the progress of this pass in its status.
	remediation *infrav1.Metal3Remediation
	// now is the time of all decisions of the pass.
	now time.Time

	// owner names the Machine that owns the remediation; empty if none does. The rest is set by
	// readOwner; nil means that the object does not exist.
	owner         metav1.OwnerReference
	machine       *clusterv1.Machine
	metal3Machine *infrav1.Metal3Machine
	cluster       *clusterv1.Cluster
	// outOfTurn means that another remediation of the Machine acts, and this one waits.
	outOfTurn bool

	// unreadable is why the claim cannot be read now; empty if it can. Set by readClaim, as the rest.
	unreadable string
	claim      *bmov1alpha1.HostClaim // nil if there is none
	claims     *hostclaims.Client
	host       hostState

	// unreachable is why the Node cannot be read now, set where the Node is needed.
	unreachable error

	// reason, message and ready are the condition Ready; without a reason it stays as it was.
	reason, message string
	ready           bool
	// wakeAt is when to look again if nothing has happened; zero means never.
	wakeAt time.Time
	// skipped is why the workload was left on the Node although the server was off, and left what
	// stays behind although the remediation ends; empty if nothing.
	skipped, left string
}

// Strip is a cache transform that drops the annotations of a remediation that the controller
// does not read.
func Strip(r *infrav1.Metal3Remediation) {
	maps.DeleteFunc(r.Annotations, func(key, _ string) bool { return key != clusterv1.PausedAnnotation })
}

// Reconcile brings one Metal3Remediation a step closer to its end.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, reterr error) {
	s := &scope{remediation: &infrav1.Metal3Remediation{}, now: r.Clock.Now()}
	if err := r.Client.Get(ctx, req.NamespacedName, s.remediation); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if ended(s.remediation) || (r.WatchFilter != "" && !labels.HasWatchLabel(s.remediation, r.WatchFilter)) {
		return ctrl.Result{}, nil
	}
	if err := r.readOwner(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Machine", klog.KObj(s.machine), "Cluster", klog.KObj(s.cluster)))
	if !s.paused() && !s.outOfTurn { // one that does nothing has nothing to take back
		if added, err := finalizers.EnsureFinalizer(ctx, r.Client, s.remediation, infrav1.RemediationFinalizer); err != nil || added {
			return ctrl.Result{}, err
		}
	}
	before := s.remediation.DeepCopy()
	defer func() { result, reterr = r.finish(ctx, s, before, reterr) }()
	return ctrl.Result{}, r.reconcile(ctx, s)
}

// reconcile does nothing for a remediation that is paused: a server that is off stays off.
func (r *Reconciler) reconcile(ctx context.Context, s *scope) error {
	if s.paused() {
		return nil
	}
	if err := r.readClaim(ctx, s); err != nil {
		return err
	}
	if s.deleted() {
		return r.reconcileDelete(ctx, s)
	}
	return r.reconcileNormal(ctx, s)
}

// reconcileNormal reboots the server, unless something keeps the remediation from it.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) error {
	switch {
	case s.owner.Name == "":
		s.says(infrav1.OwnerNotFoundReason,
			"No Machine is among the owners of this Metal3Remediation: leave it to a MachineHealthCheck to make one")
		return nil
	case s.outOfTurn:
		return r.stop(ctx, s, infrav1.OtherRemediationReason, fmt.Sprintf(
			"Another Metal3Remediation of Machine %q acts: delete one of them", s.owner.Name))
	case s.machineDeleted():
		return r.stop(ctx, s, infrav1.MachineDeletingReason, fmt.Sprintf(
			"Machine %q is being deleted, so that its server is not rebooted", s.owner.Name))
	case s.metal3Machine == nil:
		s.says(infrav1.OwnerNotFoundReason, fmt.Sprintf("Machine %q or its Metal3Machine does not exist", s.owner.Name))
		return nil
	case annotations.HasSkipRemediation(s.machine):
		return r.stop(ctx, s, infrav1.RemediationSkippedReason, fmt.Sprintf(
			"Machine %q has the annotation cluster.x-k8s.io/skip-remediation: remove it to have the server rebooted", s.owner.Name))
	case s.remediation.Status.Phase == infrav1.RemediationPhaseDeletingMachine:
		return r.stop(ctx, s, infrav1.HandedBackReason, handedBack)
	case s.unreadable != "":
		s.says(infrav1.HostClaimUnreachableReason, s.unreadable)
		return nil
	default:
		return r.reboot(ctx, s)
	}
}

// reboot begins the reboot of the server or carries it on.
func (r *Reconciler) reboot(ctx context.Context, s *scope) error {
	status := &s.remediation.Status
	switch {
	case s.host.Phase == claims.Lost:
		return r.giveUp(ctx, s, "The host of the machine does not exist any more")
	case !rebooting(s.remediation) && (s.host.Phase == claims.Absent || s.host.Phase == claims.Unbound || s.host.Deleting):
		s.says(infrav1.WaitingForHostClaimReason,
			"The machine has no host that could be rebooted: it is waited for without a limit, since a new Machine would wait too")
		return nil
	case s.host.HasHost() && !s.host.PoweredOn:
		s.says(infrav1.PoweredOffReason,
			"The server is switched off by spec.poweredOn of its HostClaim: set it to true to have the server rebooted")
		ends, err := r.undo(ctx, s)
		if !ends {
			status.Phase = infrav1.RemediationPhaseFailed
		}
		return err
	case !rebooting(s.remediation):
		status.Phase, status.RetryCount, status.LastRemediated = infrav1.RemediationPhaseRunning, 0, ptr.To(metav1.NewTime(s.now))
		s.waits(infrav1.PoweringOffReason, "The server is about to be switched off")
		return nil
	case status.Phase == infrav1.RemediationPhaseRunning:
		return r.switchOff(ctx, s)
	default:
		return r.switchOn(ctx, s)
	}
}

// stop takes back what was changed, and reports why nothing else is done.
func (r *Reconciler) stop(ctx context.Context, s *scope, reason, message string) error {
	s.says(reason, message)
	_, err := r.undo(ctx, s)
	return err
}

// undo takes back what the remediation has changed, as far as that is possible now. It reports
// whether the pass ends with that, since an event follows or the write has failed.
func (r *Reconciler) undo(ctx context.Context, s *scope) (ends bool, err error) {
	// The machine outlives the remediation, so its server is not unhealthy any more.
	recovered := s.deleted() && !s.outOfTurn && s.metal3Machine != nil && !s.machineDeleted()
	switch {
	case s.host.canLetGo():
		return true, r.letGo(ctx, s)
	case recovered && s.host.unhealthy:
		return true, r.markUnhealthy(ctx, s, false)
	default:
		return r.untaint(ctx, s)
	}
}

// reconcileDelete takes back what was changed before the remediation goes. It stays, with the
// reason, while another cluster prevents that; for the Node only as long as a reboot may take.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) error {
	s.says(infrav1.DeletingReason, "Taking back what was changed on the server and its Node")
	ends, err := r.undo(ctx, s)
	deadline := s.remediation.DeletionTimestamp.Add(timeoutOf(s.remediation))
	switch {
	case ends:
		return err
	case s.unreadable != "" && s.remediation.Status.Phase != "":
		s.says(infrav1.HostClaimUnreachableReason, s.unreadable)
		return err
	case s.unreachable != nil && s.now.Before(deadline):
		s.says(infrav1.WaitingForNodeReason, "Waiting until "+deadline.UTC().Format(time.RFC3339)+" at the latest: "+taintStays)
		s.wakeAt = deadline
		return err
	case s.unreachable != nil:
		s.left = taintStays
	}
	controllerutil.RemoveFinalizer(s.remediation, infrav1.RemediationFinalizer)
	return nil
}

const taintStays = "the workload cluster does not answer or does not permit it, " +
	"and the Node may keep the taint node.kubernetes.io/out-of-service"

// ended reports whether a remediation is on its way out and has nothing to take back.
func ended(r *infrav1.Metal3Remediation) bool {
	return !r.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(r, infrav1.RemediationFinalizer)
}

func (s *scope) paused() bool { return conditions.IsPaused(s.remediation, s.cluster) }

func (s *scope) deleted() bool { return !s.remediation.DeletionTimestamp.IsZero() }

// machineDeleted reports whether the Machine or its Metal3Machine, which both exist, is being deleted.
func (s *scope) machineDeleted() bool {
	return s.metal3Machine != nil && (!s.machine.DeletionTimestamp.IsZero() || !s.metal3Machine.DeletionTimestamp.IsZero())
}

// says sets reason and message of the condition Ready.
func (s *scope) says(reason, message string) { s.reason, s.message = reason, message }

// waits is says, and wakes the remediation when the time of the reboot is over.
func (s *scope) waits(reason, message string) {
	s.says(reason, message)
	s.wakeAt = deadlineOf(s.remediation)
}

// looks is waits, for what is in no cache.
func (s *scope) looks(reason, message string) {
	s.waits(reason, message)
	if again := s.now.Add(lookAgain); again.Before(s.wakeAt) {
		s.wakeAt = again
	}
}
