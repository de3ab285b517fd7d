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

// Package data turns a Metal3Data into the secrets with the metadata and the
// network data of one machine:
//
//	observe  claims on pools, template, machine, secrets ─▶ host
//	decide   baremetal/ippool: next step for each address; baremetal/metadata and
//	         baremetal/networkdata: what the secrets hold
//	act      claims on pools, then secrets
//	report   conditions, ready, errorMessage
//
// A secret that exists is never rewritten, since the server has read it or is
// about to. Addresses are given back when the Metal3DataClaim is gone, and not
// before. Secrets are read live and never logged. What is known of the server comes
// as a hardware.Host.
package data

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
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

// Reconciler reconciles Metal3Datas. Client to Clock are needed.
type Reconciler struct {
	// Client reads from the cache, with what it has written itself, and writes.
	Client client.Client
	// Live reads what must not come from a cache: secrets, addresses, and
	// whether the claim of a deleted Metal3Data is gone.
	Live client.Reader
	// Hosts finds the facts of servers.
	Hosts HostReader
	// Secrets wakes the controller when a secret changes.
	Secrets *secretwatch.Watch
	// Recorder emits events.
	Recorder events.EventRecorder
	// Metrics measure Metal3Datas that became ready.
	Metrics *Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter restricts the controller to Metal3Datas with this value of the
	// label cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
	// ClaimsByHostName names claims on pools after the host, so that pools can
	// hold addresses for it in advance.
	ClaimsByHostName bool

	// metal3IPAM and otherIPAM are the claims of the two address managements, and ipPools the pools of that of Metal3; set
	// by SetupWithManager.
	metal3IPAM, otherIPAM, ipPools availability
}

// scope holds what one pass knows about one Metal3Data. It holds facts only. A
// phase is not reached without what the phases before it set.
type scope struct {
	// data is set by load; before is the copy that it is compared with.
	data, before *infrav1.Metal3Data
	// cluster is set by load; nil means that the Metal3Data names none, an empty
	// one that it does not exist.
	cluster *clusterv1.Cluster
	// template is set by readTemplate, metal3Machine and machine by readMachine.
	template      *infrav1.Metal3DataTemplate
	metal3Machine *infrav1.Metal3Machine
	machine       *clusterv1.Machine
	// secrets are the secrets that the template asks for, set by readSecrets.
	secrets []*secret
	// host is set by readHost.
	host hardware.Host
	// claims are those of the Metal3Data on pools, set by readClaims; steps is what is to be done about
	// each address, set by planAddresses, and addresses are what the pools gave, set by readAddresses.
	claims    []addressClaim
	steps     []poolStep
	addresses map[metadata.AddressRef]metadata.Address
	// untold means that the wait passes in a moment, or that the machine reports it: it is not worth a write, unless
	// something outdated is told. leaves means that the Metal3Data goes, or will go with its machine.
	untold, leaves bool
	// again is when a claim that was held back may be made, if nothing wakes the Metal3Data before.
	again time.Time
}

// Reconcile brings one Metal3Data a step closer to its secrets, or to its end.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		return ctrl.Result{}, err
	}
	owner, _ := machineOwner(s.data)
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues(
		"Cluster", klog.KRef(req.Namespace, s.data.Labels[clusterv1.ClusterNameLabel]), machineKind, klog.KRef(req.Namespace, owner.Name)))
	if s.paused() {
		return r.finish(ctx, s, conditions.Wait{}, nil)
	}
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, s.data, infrav1.DataFinalizer); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	s.before = s.data.DeepCopy()
	if !s.data.DeletionTimestamp.IsZero() {
		wait, err := r.reconcileDelete(ctx, s)
		return r.finish(ctx, s, wait, err)
	}
	wait, err := r.reconcileNormal(ctx, s)
	return r.finish(ctx, s, wait, err)
}

// reconcileNormal reads what the secrets depend on, asks pools for addresses, and writes the secrets that are
// missing. The first phase that waits or fails ends it.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (conditions.Wait, error) {
	if err := errors.Join(r.readClaims(ctx, s), r.restoreClaims(ctx, s)); err != nil {
		return conditions.Wait{}, err
	}
	if wait, err := r.readTemplate(ctx, s); err != nil || wait.Reason != "" {
		return wait, err
	}
	if wait, err := r.readMachine(ctx, s); err != nil || wait.Reason != "" {
		return wait, err
	}
	if wait, err := r.readSecrets(ctx, s); err != nil || wait.Reason != "" {
		return wait, err
	}
	if !s.complete() {
		if wait, err := r.render(ctx, s); err != nil || wait.Reason != "" {
			return wait, err
		}
	}
	return r.writeSecrets(ctx, s)
}

// reconcileDelete gives everything back once the claim is gone. While it exists its machine holds it, as
// long as the server may use the addresses. That it is gone is read live, since
// nothing that is given back can be taken back.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (conditions.Wait, error) {
	claim, exists, err := datatemplate.ClaimOf(ctx, r.Client, s.data)
	if err == nil && !exists {
		claim, exists, err = datatemplate.ClaimOf(ctx, r.Live, s.data)
	}
	if err != nil {
		return conditions.Wait{}, err
	}
	if exists {
		s.leaves, s.untold = true, !claim.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(claim, infrav1.MachineFinalizer)
		return waiting(infrav1.DeletingReason,
			"Waiting for Metal3DataClaim %q to be deleted; it stays while its machine exists", datatemplate.ClaimName(s.data)), nil
	}
	if err := r.readClaims(ctx, s); err != nil {
		return conditions.Wait{}, err
	}
	if err := r.releaseClaims(ctx, s); err != nil {
		return waiting(infrav1.DeletionFailedReason, "The addresses cannot be given back"), err
	}
	if wait, err := r.deleteSecrets(ctx, s); err != nil {
		return wait, err
	}
	controllerutil.RemoveFinalizer(s.data, infrav1.DataFinalizer) // finish writes it
	return conditions.Wait{}, nil
}

// finish reports the pass and writes what has changed: the names of the secrets,
// then the status. Both carry the lock, since a Metal3Data of that name may have
// come anew, for another machine. A pass that decided on an old version reports nothing.
func (r *Reconciler) finish(ctx context.Context, s *scope, wait conditions.Wait, err error) (ctrl.Result, error) {
	if patch.IsConflict(err) {
		return ctrl.Result{}, err
	}
	if s.paused() || !s.released() && (!s.untold || outdated(s.data, s.leaves)) {
		report(s, wait, err)
	}
	if failed := patch.Changes(ctx, r.Client, s.before, s.data); failed != nil {
		return ctrl.Result{}, errors.Join(err, fmt.Errorf("write Metal3Data: %w", failed))
	}
	r.announce(ctx, s)
	if err != nil || s.again.IsZero() {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: max(s.again.Sub(r.Clock.Now()), time.Millisecond)}, nil
}

// load reads the Metal3Data and its Cluster. One that is gone may have left
// claims on pools behind, and may have been the last of its namespace.
func (r *Reconciler) load(ctx context.Context, key types.NamespacedName) (*scope, bool, error) {
	s := &scope{data: &infrav1.Metal3Data{}}
	if found, err := read(ctx, r.Client, s.data, key); err != nil {
		return nil, false, err
	} else if !found {
		in := client.InNamespace(key.Namespace)
		return nil, false, errors.Join(r.releaseVanished(ctx, key), r.Secrets.Release(ctx, r.Client, key.Namespace,
			secretwatch.User{List: &infrav1.Metal3MachineList{}, Which: in}, secretwatch.User{List: &infrav1.Metal3DataList{}, Which: in}))
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(s.data, r.WatchFilter) {
		return nil, false, nil
	}
	s.before = s.data.DeepCopy()
	if name := s.data.Labels[clusterv1.ClusterNameLabel]; name != "" {
		s.cluster = &clusterv1.Cluster{}
		if _, err := read(ctx, r.Client, s.cluster, client.ObjectKey{Namespace: key.Namespace, Name: name}); err != nil {
			return nil, false, err
		}
	}
	return s, true, nil
}

// readTemplate reads the template.
func (r *Reconciler) readTemplate(ctx context.Context, s *scope) (conditions.Wait, error) {
	ref := ptr.Deref(s.data.Spec.Template, infrav1.Metal3ObjectRef{})
	if ref.Namespace != "" && ref.Namespace != s.data.Namespace {
		return waiting(infrav1.InvalidConfigurationReason,
			"spec.template names Metal3DataTemplate %q of namespace %q: templates serve their own namespace only, use one of namespace %q",
			ref.Name, ref.Namespace, s.data.Namespace), nil
	}
	s.template = &infrav1.Metal3DataTemplate{}
	if found, err := read(ctx, r.Client, s.template, client.ObjectKey{Namespace: s.data.Namespace, Name: ref.Name}); err != nil || found {
		return conditions.Wait{}, err
	}
	return waiting(infrav1.TemplateNotFoundReason, "Metal3DataTemplate %q does not exist in namespace %q: create it", ref.Name, s.data.Namespace), nil
}

// readMachine reads the Metal3Machine and the Machine that the data is for.
func (r *Reconciler) readMachine(ctx context.Context, s *scope) (conditions.Wait, error) {
	owner, found := machineOwner(s.data)
	if !found {
		return waiting(infrav1.OwnerNotFoundReason, "No Metal3Machine is among the owners of this Metal3Data"), nil
	}
	s.metal3Machine = &infrav1.Metal3Machine{}
	found, err := read(ctx, r.Client, s.metal3Machine, client.ObjectKey{Namespace: s.data.Namespace, Name: owner.Name})
	if err != nil {
		return conditions.Wait{}, err
	}
	if !found || s.metal3Machine.UID != owner.UID {
		s.leaves, s.untold = true, true // its claim goes now
		return waiting(infrav1.OwnerNotFoundReason, "Metal3Machine %q of this Metal3Data does not exist any more", owner.Name), nil
	}
	s.machine, err = util.GetOwnerMachine(ctx, r.Client, s.metal3Machine.ObjectMeta)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return conditions.Wait{}, fmt.Errorf("read the Machine of Metal3Machine %s: %w", owner.Name, err)
	case apierrors.IsNotFound(err), s.machine == nil:
		return waiting(infrav1.OwnerNotFoundReason, "Metal3Machine %q has no Machine", owner.Name), nil
	}
	return conditions.Wait{}, nil
}

// readHost reads the facts of the server.
func (r *Reconciler) readHost(ctx context.Context, s *scope) (conditions.Wait, error) {
	host, found, err := r.Hosts.Host(ctx, s.metal3Machine)
	if err != nil {
		return conditions.Wait{}, fmt.Errorf("read the host of Metal3Machine %s: %w", s.metal3Machine.Name, err)
	}
	if !found || host.Name == "" {
		s.untold = s.metal3Machine.Status.HostClaim != nil
		return waiting(infrav1.WaitingForHostClaimReason, "Waiting for a host for Metal3Machine %q and for the facts about it", s.metal3Machine.Name), nil
	}
	s.host = host
	return conditions.Wait{}, nil
}

// facts are what the template may refer to.
func (s *scope) facts() metadata.Facts {
	f := metadata.NewFacts(s.data, s.machine, s.metal3Machine, s.host)
	f.Addresses = s.addresses
	return f
}

// paused reports whether nothing may be done now.
func (s *scope) paused() bool {
	return conditions.IsPaused(s.data, s.cluster)
}

// released reports whether nothing is left to be done for a deleted Metal3Data.
func (s *scope) released() bool {
	return !s.data.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(s.data, infrav1.DataFinalizer)
}
