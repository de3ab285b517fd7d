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
	"reflect"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/optionalcrd"
)

// Names of the CRDs of the kinds that may be installed late.
const (
	ipClaimCRD        = "ipclaims.ipam.metal3.io"
	ipPoolCRD         = "ippools.ipam.metal3.io"
	ipAddressClaimCRD = "ipaddressclaims.ipam.cluster.x-k8s.io"
)

// byOwner is the name of the field index on claims by the name of the
// Metal3Data that controls them.
const byOwner = "hostclaim.data"

// addressCRDs are the names of these CRDs.
func addressCRDs() []string {
	return []string{ipClaimCRD, ipPoolCRD, ipAddressClaimCRD}
}

// addressKinds are the optional kinds. A claim wakes the Metal3Data that owns it, also one
// that does not exist any more: its claims are to be released. A pool, and a
// claim that goes, wake the Metal3Datas that wait for an address.
func addressKinds(waiting, unfit handler.MapFunc) []addressKind {
	owners := optionalcrd.Events{Handler: onClaim(waiting)}
	pools := optionalcrd.Events{Handler: onPool(waiting, unfit), Predicates: []predicate.Predicate{mayGiveMore()}}
	return []addressKind{
		{optionalcrd.Kind{Object: &ipamv1alpha1.IPClaim{}, CRD: ipClaimCRD, Index: indexByOwner(&ipamv1alpha1.IPClaim{})}, owners},
		{optionalcrd.Kind{Object: &capipamv1.IPAddressClaim{}, CRD: ipAddressClaimCRD, Index: indexByOwner(&capipamv1.IPAddressClaim{})}, owners},
		{optionalcrd.Kind{Object: &ipamv1alpha1.IPPool{}, CRD: ipPoolCRD}, pools},
	}
}

// addressKind is one of them with its events.
type addressKind struct {
	optionalcrd.Kind
	optionalcrd.Events
}

// servedKinds are the kinds that are watched when they are served, each for itself.
type servedKinds map[reflect.Type]*optionalcrd.Kinds

// watchAddressKinds wakes the controller for events of each kind that is served, now or later.
func watchAddressKinds(
	ctx context.Context, mgr manager.Manager, c controller.Controller, waiting, unfit handler.MapFunc,
) (availability, error) {
	out := servedKinds{}
	for _, kind := range addressKinds(waiting, unfit) {
		kinds := optionalcrd.New(mgr, kind.Kind)
		if err := kinds.Watch(ctx, c, kind.Events); err != nil {
			return nil, err
		}
		out[reflect.TypeOf(kind.Object)] = kinds
	}
	return out, nil
}

// Available says whether the kind of the object is served, and may be read.
func (s servedKinds) Available(ctx context.Context, object client.Object) (bool, error) {
	kinds, found := s[reflect.TypeOf(object)]
	if !found {
		return false, fmt.Errorf("%T is no kind of address management", object)
	}
	return kinds.Available(ctx)
}

// onClaim wakes the owner of a claim that says anything new. A claim that goes may
// have been in the way of another one of its name, so all that wait for an address
// look again.
func onClaim(waiting handler.MapFunc) handler.EventHandler {
	owner, others := handler.EnqueueRequestsFromMapFunc(toOwner), handler.EnqueueRequestsFromMapFunc(waiting)
	return handler.Funcs{
		CreateFunc: owner.Create,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if saysMore(e) {
				owner.Update(ctx, e, queue)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			owner.Delete(ctx, e, queue)
			others.Delete(ctx, e, queue)
		},
	}
}

// onPool wakes those that wait for an address, and for another pool or another spec also those that
// cannot use theirs: who else has its addresses is nothing to them.
func onPool(waiting, unfit handler.MapFunc) handler.EventHandler {
	all, mended := handler.EnqueueRequestsFromMapFunc(waiting), handler.EnqueueRequestsFromMapFunc(unfit)
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			all.Create(ctx, e, queue)
			mended.Create(ctx, e, queue)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			all.Update(ctx, e, queue)
			if specChanges().Update(e) {
				mended.Update(ctx, e, queue)
			}
		},
		DeleteFunc: all.Delete,
	}
}

// saysMore says whether more has changed than the finalizers of the claim: its provider adds
// one first, in a write of its own.
func saysMore(e event.UpdateEvent) bool {
	said := func(o client.Object) any {
		copied := o.DeepCopyObject()
		if accessor, err := meta.Accessor(copied); err == nil {
			accessor.SetFinalizers(nil)
			accessor.SetResourceVersion("")
		}
		return copied
	}
	return !reflect.DeepEqual(said(e.ObjectOld), said(e.ObjectNew))
}

// mayGiveMore lets through pools that come or go, and those that may have an address to give
// which they had not before. One that only gave addresses wakes none: it answers each claim in
// turn, and those that it refused gain nothing.
func mayGiveMore() predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*ipamv1alpha1.IPPool)
			after, okToo := e.ObjectNew.(*ipamv1alpha1.IPPool)
			return ok && okToo && ippool.MayGiveMore(before, after)
		},
	}
}

func indexByOwner(object client.Object) func(context.Context, client.FieldIndexer) error {
	return func(ctx context.Context, indexer client.FieldIndexer) error {
		if err := indexer.IndexField(ctx, object, byOwner, ownerNames); err != nil {
			return fmt.Errorf("index %T by owner: %w", object, err)
		}
		return nil
	}
}

func ownerNames(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owner.Kind == "Metal3Data" {
		return []string{owner.Name}
	}
	return nil
}

func toOwner(_ context.Context, object client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range ownerNames(object) {
		requests = append(requests, reconcile.Request{
			NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name},
		})
	}
	return requests
}
