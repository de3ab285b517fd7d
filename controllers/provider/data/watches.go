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
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// HostReader finds what is known of the server behind a machine.
type HostReader interface {
	// Host returns the facts, and whether there are any.
	Host(ctx context.Context, machine *infrav1.Metal3Machine) (hardware.Host, bool, error)
}

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
//
// The kinds that it reads of hosts of this cluster, and connections to other clusters, are those that Hosts uses.
func (r *Reconciler) SetupWithManager(
	ctx context.Context, mgr ctrl.Manager, local *watch.Kinds, connections *remote.Registry, options controller.Options,
) error {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("metal3data").
		For(&infrav1.Metal3Data{}).
		Watches(&infrav1.Metal3DataTemplate{}, r.named(datatemplate.ByTemplate), builder.WithPredicates(watch.Whenever(anotherSpec))).
		Watches(&infrav1.Metal3DataClaim{}, r.named(byClaim), builder.WithPredicates(watch.Whenever(nothingElse))).
		Watches(&infrav1.Metal3Machine{}, r.named(byMachine), builder.WithPredicates(watch.Whenever(otherNames))).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.machineToData), builder.WithPredicates(watch.Whenever(otherNames))).
		Watches(&clusterv1.Cluster{}, r.named(watch.ByCluster), builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), ctrl.LoggerFrom(ctx)))).
		WatchesRawSource(watch.CRDs(mgr.GetCache(), r.waitingForAPI, ipClaimCRD, ipPoolCRD, ipAddressClaimCRD)).
		WatchesRawSource(r.Secrets.Source(r.secretToData)).
		WatchesRawSource(connections.Source(machineKind, r.userToData)).
		WithOptions(options).
		Build(queue.Spaced(r, r.Clock))
	if err != nil {
		return err
	}
	toConsumer := handler.EnqueueRequestsFromMapFunc(hostclaims.ToConsumer(r.Client, r.userToData))
	return errors.Join(
		local.Watch(ctx, c,
			source.Kind[client.Object](mgr.GetCache(), &bmov1alpha1.HostClaim{}, toConsumer),
			source.Kind[client.Object](mgr.GetCache(), &bmov1alpha1.HardwareData{}, toConsumer)),
		r.watchPools(ctx, mgr, c))
}

// Names of the field indexes on Metal3Datas. The one by template belongs to the
// controller of templates.
const (
	byClaim   = "spec.claim.name"
	byMachine = "hostclaim.metal3machine" // name of the Metal3Machine among the owners
	bySecret  = "hostclaim.secret"        // names of the rendered secrets
	byReason  = "hostclaim.reason"        // reason why it is not ready, once that is reported
)

// dataKind is the kind that owns what this package makes.
const dataKind = "Metal3Data"

// machineKind is the kind of the owner that stands for the machine.
const machineKind = "Metal3Machine"

// SetupIndexes adds the field indexes that the watches need, besides those of
// package datatemplate.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	data := func(name string, values func(*infrav1.Metal3Data) []string) watch.Field {
		return watch.Field{Object: &infrav1.Metal3Data{}, Name: name, Values: watch.Index(values)}
	}
	return watch.AddIndexes(ctx, indexer, data(byClaim, claimOf), data(byMachine, machineOf), data(bySecret, secretsOf), data(byReason, reasonOf))
}

func claimOf(data *infrav1.Metal3Data) []string {
	return []string{ptr.Deref(data.Spec.Claim, infrav1.Metal3ObjectRef{}).Name}
}

func machineOf(data *infrav1.Metal3Data) []string {
	owner, _ := machineOwner(data)
	return []string{owner.Name}
}

// machineOwner is the reference to the Metal3Machine.
func machineOwner(data *infrav1.Metal3Data) (owner metav1.OwnerReference, found bool) {
	at := slices.IndexFunc(data.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == machineKind })
	if at < 0 {
		return owner, false
	}
	return data.OwnerReferences[at], true
}

func secretsOf(data *infrav1.Metal3Data) []string {
	var names []string
	if data.Spec.MetaData != nil {
		names = append(names, data.Spec.MetaData.Name)
	}
	if data.Spec.NetworkData != nil {
		names = append(names, data.Spec.NetworkData.Name)
	}
	return names
}

func reasonOf(data *infrav1.Metal3Data) []string {
	ready := conditions.Get(data, infrav1.ReadyCondition)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return nil
	}
	return []string{ready.Reason}
}

// wake wakes the Metal3Datas that the options select.
func (r *Reconciler) wake(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	return watch.RequestsFor(ctx, r.Client, &infrav1.Metal3DataList{}, options...)
}

// by selects by a field index within a namespace.
func by(namespace, index, value string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingFields{index: value}}
}

// named maps an object to the Metal3Datas that an index finds by its name.
func (r *Reconciler) named(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []ctrl.Request {
		return r.wake(ctx, by(o.GetNamespace(), index, o.GetName())...)
	})
}

func (r *Reconciler) machineToData(ctx context.Context, o client.Object) []ctrl.Request {
	machine, ok := o.(*clusterv1.Machine)
	if !ok || machine.Spec.InfrastructureRef.Kind != machineKind {
		return nil
	}
	return r.userToData(ctx, types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name})
}

// userToData maps a machine whose claim or facts have changed, in this cluster or in another one.
func (r *Reconciler) userToData(ctx context.Context, machine types.NamespacedName) []ctrl.Request {
	return r.wake(ctx, by(machine.Namespace, byMachine, machine.Name)...)
}

// waitingForAddress are those of the namespace whose pool is missing or has not given an
// address. One that comes to wait right now, and has not reported it yet, is woken by its own
// report.
func (r *Reconciler) waitingForAddress(ctx context.Context, o client.Object) []ctrl.Request {
	var woken []ctrl.Request
	for _, reason := range []string{
		infrav1.PoolAPIMissingReason, infrav1.PoolNotFoundReason, infrav1.AddressUnavailableReason, infrav1.WaitingForAddressesReason,
	} {
		woken = append(woken, r.wake(ctx, by(o.GetNamespace(), byReason, reason)...)...)
	}
	return woken
}

// refused are those that a pool has refused an address: it looks at no claim twice, and may have
// refused it for something else than a want of addresses, so any change of it is worth another try.
func (r *Reconciler) refused(ctx context.Context, pool client.Object) []ctrl.Request {
	served, err := r.metal3IPAM.Available(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Claims cannot be listed, an event of their pool is lost", "pool", klog.KObj(pool))
	}
	if !served {
		return nil
	}
	return watch.RequestsFrom(ctx, r.Client, &ipamv1alpha1.IPClaimList{}, func(claim *ipamv1alpha1.IPClaim) []ctrl.Request {
		return toOwner(ctx, claim)
	}, by(pool.GetNamespace(), byRefusal, pool.GetName())...)
}

// nextInTurn are the first of those of the namespace that may be held back, in the order in which
// they came, for whom there is room once a claim is answered. Those with a claim out are woken by its
// answer.
func (r *Reconciler) nextInTurn(ctx context.Context, answered client.Object) []ctrl.Request {
	var held infrav1.Metal3DataList
	options := append(by(answered.GetNamespace(), byReason, infrav1.WaitingForAddressesReason), client.UnsafeDisableDeepCopy)
	claims, err := unanswered(ctx, r.Client, answered.GetNamespace(), ippool.PoolOf(answered), r.Clock.Now())
	if err = errors.Join(err, r.Client.List(ctx, &held, options...)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Objects cannot be listed, an answer to a claim is lost", "claim", klog.KObj(answered))
	}
	asking := sets.New[string]()
	for _, claim := range claims {
		asking.Insert(ownerNames(claim)...)
	}
	next := slices.DeleteFunc(held.Items, func(data infrav1.Metal3Data) bool { return asking.Has(data.Name) })
	slices.SortFunc(next, func(a, b infrav1.Metal3Data) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var woken []ctrl.Request
	for i := range min(len(next), max(0, ippool.MaxUnanswered-len(claims))) {
		woken = append(woken, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&next[i])})
	}
	return woken
}

// withUnfitAddress are those of the namespace that cannot be rendered, perhaps for an address
// that their pool gave before it was mended.
func (r *Reconciler) withUnfitAddress(ctx context.Context, o client.Object) []ctrl.Request {
	return r.wake(ctx, by(o.GetNamespace(), byReason, infrav1.RenderingFailedReason)...)
}

// waitingForAPI are those whose address management API was missing, whole or without its pools.
func (r *Reconciler) waitingForAPI(ctx context.Context) []ctrl.Request {
	return append(r.wake(ctx, client.MatchingFields{byReason: infrav1.PoolAPIMissingReason}),
		r.wake(ctx, client.MatchingFields{byReason: infrav1.PoolNotFoundReason})...)
}

// secretToData goes by the names of the rendered secrets. Without a name, the
// watch has just begun: rights may have come, and a secret may have gone unseen.
func (r *Reconciler) secretToData(ctx context.Context, namespace, name string) []ctrl.Request {
	if name == "" {
		return r.wake(ctx, client.InNamespace(namespace))
	}
	return r.wake(ctx, by(namespace, bySecret, name)...)
}

// nothingElse lets through no change of a claim that stays: a Metal3Data waits for nothing else of it.
func nothingElse(_, _ *infrav1.Metal3DataClaim) bool { return false }

// anotherSpec lets through no change of a status: that of a template lists the indexes of all its
// machines, and that of a pool their addresses, and both change with each machine.
func anotherSpec(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration()
}

// otherNames reports whether anything has changed that a template may refer to.
func otherNames(before, after client.Object) bool {
	return !maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		len(before.GetOwnerReferences()) != len(after.GetOwnerReferences())
}

// Names of the CRDs of the kinds that may be installed late.
const (
	ipClaimCRD        = "ipclaims.ipam.metal3.io"
	ipPoolCRD         = "ippools.ipam.metal3.io"
	ipAddressClaimCRD = "ipaddressclaims.ipam.cluster.x-k8s.io"
)

// Names of the field indexes on claims: by the name of the Metal3Data that controls them, those without
// an answer, and of IPClaims that were refused by the name of their pool, which looks at none of them again.
const (
	byOwner      = "hostclaim.data"
	byUnanswered = "hostclaim.unanswered"
	byRefusal    = "hostclaim.refusal"
)

// trigger is which events of an object matter, and whom they wake.
type trigger struct {
	matters predicate.Funcs
	wakes   handler.MapFunc
}

// watchPools wakes the controller for events of each address management that is served, now or later.
func (r *Reconciler) watchPools(ctx context.Context, mgr manager.Manager, c controller.Controller) error {
	sources := func(object client.Object, triggers []trigger) (all []source.Source) {
		for _, t := range triggers {
			all = append(all, source.Kind[client.Object](mgr.GetCache(), object, handler.EnqueueRequestsFromMapFunc(t.wakes), t.matters))
		}
		return all
	}
	ipClaim, ipPool, ipAddressClaim := &ipamv1alpha1.IPClaim{}, &ipamv1alpha1.IPPool{}, &capipamv1.IPAddressClaim{}
	claims, pools := onClaim(r.waitingForAddress, r.nextInTurn), onPool(r.waitingForAddress, r.refused, r.withUnfitAddress)
	metal3, other := watch.NewKinds(mgr, indexClaims(ipClaim), ipClaim), watch.NewKinds(mgr, indexClaims(ipAddressClaim), ipAddressClaim)
	ipPools := watch.NewKinds(mgr, nil, ipPool) // apart, since claims are released also where pools are gone
	r.metal3IPAM, r.otherIPAM, r.ipPools = metal3, other, ipPools
	return errors.Join(
		metal3.Watch(ctx, c, sources(ipClaim, claims)...),
		ipPools.Watch(ctx, c, sources(ipPool, pools)...),
		other.Watch(ctx, c, sources(ipAddressClaim, claims)...),
	)
}

// onClaim wakes the owner of a claim whose answer has changed, also one that does not exist any more: its claims
// are to be released. A claim that is answered wakes those whose turn it is then. One that goes may have been in
// the way of another one of its name, so all that wait for an address look again.
func onClaim(waiting, next handler.MapFunc) []trigger {
	answered := func(before, after client.Object) bool { return ippool.Unanswered(before) && !ippool.Unanswered(after) }
	return []trigger{
		{watch.Whenever(saysMore), toOwner},
		{updates(answered), next},
		{watch.Gone(), waiting},
	}
}

// onPool wakes those that wait for an address, and those that cannot use theirs, for another pool
// or another spec. Which other claims have its addresses matters only to those that it has
// refused: it answers the others in their turn.
func onPool(waiting, refused, unfit handler.MapFunc) []trigger {
	return []trigger{
		{watch.Whenever(anotherSpec), waiting},
		{watch.Whenever(anotherSpec), unfit},
		{updates(anotherState), refused},
	}
}

// updates lets through nothing but changes of an object that matter.
func updates[T client.Object](different func(before, after T) bool) predicate.Funcs {
	changes := watch.Whenever(different)
	changes.CreateFunc = func(event.CreateEvent) bool { return false }
	changes.DeleteFunc = func(event.DeleteEvent) bool { return false }
	return changes
}

// saysMore reports whether more has changed than the finalizers of the claim: its provider adds
// one first, in a write of its own.
func saysMore(before, after client.Object) bool {
	return ippool.AnswerOf(before) != ippool.AnswerOf(after) || !before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) || !reflect.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
}

// anotherState lets through pools that may answer otherwise than before.
func anotherState(before, after *ipamv1alpha1.IPPool) bool {
	return ippool.State(before) != ippool.State(after)
}

// refusedBy is the pool that has refused a claim.
func refusedBy(object client.Object) []string {
	if claim, ok := object.(*ipamv1alpha1.IPClaim); ok && ippool.AnswerOf(claim).Problem != "" {
		return []string{claim.Spec.Pool.Name}
	}
	return nil
}

func indexClaims(object client.Object) func(context.Context, client.FieldIndexer) error {
	return func(ctx context.Context, indexer client.FieldIndexer) error {
		return errors.Join(
			indexer.IndexField(ctx, object, byOwner, ownerNames),
			indexer.IndexField(ctx, object, byUnanswered, withoutAnswer),
			indexer.IndexField(ctx, object, byRefusal, refusedBy))
	}
}

// withoutAnswer is one key for all claims without an answer.
func withoutAnswer(object client.Object) []string {
	if ippool.Unanswered(object) {
		return []string{""}
	}
	return nil
}

// unanswered returns the claims of a namespace, of the kind by which a pool is asked, that wait for an
// answer and are no older than ippool.AnswerTime; whatever API group of pools they name, which ip-address-manager
// does not look at. They are not to be changed.
func unanswered(ctx context.Context, reader client.Reader, namespace string, of ippool.Pool, now time.Time) ([]client.Object, error) {
	_, list := claimKind(of.Metal3())
	claims, err := items(ctx, reader, list, append(by(namespace, byUnanswered, ""), client.UnsafeDisableDeepCopy)...)
	return slices.DeleteFunc(claims, func(claim client.Object) bool {
		return !now.Before(claim.GetCreationTimestamp().Add(ippool.AnswerTime))
	}), err
}

// ownerNames is the Metal3Data that controls a claim or, where that reference was lost, the one that a
// claim with our finalizer was made for.
func ownerNames(object client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(object)
	switch {
	case owner != nil && owner.Kind == dataKind:
		return []string{owner.Name}
	case owner == nil && controllerutil.ContainsFinalizer(object, infrav1.DataFinalizer):
		if name, known := ippool.DataOf(object); known {
			return []string{name}
		}
	}
	return nil
}

func toOwner(_ context.Context, object client.Object) []ctrl.Request {
	return watch.Requests(object.GetNamespace(), ownerNames(object)...)
}
