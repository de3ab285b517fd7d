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
	"errors"
	"fmt"
	"reflect"
	"time"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/optionalcrd"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/requests"
)

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

// addressCRDs are the names of these CRDs.
func addressCRDs() []string {
	return []string{ipClaimCRD, ipPoolCRD, ipAddressClaimCRD}
}

// addressKinds are the optional kinds. A claim wakes the Metal3Data that owns it, also one
// that does not exist any more: its claims are to be released. A claim that goes wakes the
// Metal3Datas that wait for an address, one that is answered those whose turn it is then, and a pool
// those that may get another answer.
func addressKinds(wakes poolMapper) []addressKind {
	owners := optionalcrd.Events{Handler: onClaim(wakes.waitingForAddress, wakes.nextInTurn)}
	pools := optionalcrd.Events{Handler: onPool(wakes.waitingForAddress, wakes.refused, wakes.withUnfitAddress), Predicates: []predicate.Predicate{requests.Whenever(anotherState)}}
	return []addressKind{
		{optionalcrd.Kind{Object: &ipamv1alpha1.IPClaim{}, CRD: ipClaimCRD, Index: indexIPClaims}, owners},
		{optionalcrd.Kind{Object: &capipamv1.IPAddressClaim{}, CRD: ipAddressClaimCRD, Index: indexClaims(&capipamv1.IPAddressClaim{})}, owners},
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
func watchAddressKinds(ctx context.Context, mgr manager.Manager, c controller.Controller, wakes mapper) (availability, error) {
	out := servedKinds{}
	for _, kind := range addressKinds(poolMapper{wakes, out}) {
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
func onClaim(waiting, next handler.MapFunc) handler.EventHandler {
	owner, others, turn := handler.EnqueueRequestsFromMapFunc(toOwner), handler.EnqueueRequestsFromMapFunc(waiting), handler.EnqueueRequestsFromMapFunc(next)
	return handler.Funcs{
		CreateFunc: owner.Create,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if saysMore(e) {
				owner.Update(ctx, e, queue)
			}
			if ippool.Unanswered(e.ObjectOld) && !ippool.Unanswered(e.ObjectNew) {
				turn.Update(ctx, e, queue)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			owner.Delete(ctx, e, queue)
			others.Delete(ctx, e, queue)
		},
	}
}

// onPool wakes those that wait for an address, and those that cannot use theirs, for another pool
// or another spec. Who else has its addresses matters to those only that it has refused: it
// answers the others in their turn.
func onPool(waiting, refused, unfit handler.MapFunc) handler.EventHandler {
	all, again, mended := handler.EnqueueRequestsFromMapFunc(waiting), handler.EnqueueRequestsFromMapFunc(refused), handler.EnqueueRequestsFromMapFunc(unfit)
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			all.Create(ctx, e, queue)
			mended.Create(ctx, e, queue)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			again.Update(ctx, e, queue)
			if requests.Whenever(anotherSpec).Update(e) {
				all.Update(ctx, e, queue)
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

// anotherState lets through pools that may answer otherwise than before.
func anotherState(before, after *ipamv1alpha1.IPPool) bool {
	return ippool.State(before) != ippool.State(after)
}

func indexIPClaims(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &ipamv1alpha1.IPClaim{}, byRefusal, refusedBy); err != nil {
		return fmt.Errorf("index IPClaims by refusal: %w", err)
	}
	return indexClaims(&ipamv1alpha1.IPClaim{})(ctx, indexer)
}

// refusedBy is the pool that has refused a claim.
func refusedBy(object client.Object) []string {
	if claim, ok := object.(*ipamv1alpha1.IPClaim); ok && ippool.FromIPClaim(claim).Problem != "" {
		return []string{claim.Spec.Pool.Name}
	}
	return nil
}

func indexClaims(object client.Object) func(context.Context, client.FieldIndexer) error {
	return func(ctx context.Context, indexer client.FieldIndexer) error {
		return errors.Join(indexer.IndexField(ctx, object, byOwner, ownerNames), indexer.IndexField(ctx, object, byUnanswered, withoutAnswer))
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
	var list client.ObjectList = &capipamv1.IPAddressClaimList{}
	if of.Metal3() {
		list = &ipamv1alpha1.IPClaimList{}
	}
	if err := reader.List(ctx, list, append(by(namespace, byUnanswered, ""), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list %T without an answer: %w", list, err)
	}
	var claims []client.Object
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if claim, ok := o.(client.Object); ok && now.Before(claim.GetCreationTimestamp().Add(ippool.AnswerTime)) {
			claims = append(claims, claim)
		}
		return nil
	})
	return claims, err
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

func toOwner(_ context.Context, object client.Object) []reconcile.Request {
	var woken []reconcile.Request
	for _, name := range ownerNames(object) {
		woken = append(woken, reconcile.Request{
			NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name},
		})
	}
	return woken
}
