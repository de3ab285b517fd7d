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
	"testing"

	"github.com/google/go-cmp/cmp"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "tenant", Name: name}}
}

func claim(owners ...metav1.OwnerReference) *ipamv1alpha1.IPClaim {
	return &ipamv1alpha1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "server-pool", OwnerReferences: owners}}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func TestOnClaim(t *testing.T) {
	owned := claim(metav1.OwnerReference{Kind: "Metal3Data", Name: "nodes-0", Controller: ptr.To(true)})
	created := func(o client.Object) func(context.Context, handler.EventHandler, queue) {
		return func(ctx context.Context, h handler.EventHandler, q queue) {
			h.Create(ctx, event.CreateEvent{Object: o}, q)
		}
	}
	updated := func(o *ipamv1alpha1.IPClaim, change func(*ipamv1alpha1.IPClaim)) func(context.Context, handler.EventHandler, queue) {
		return func(ctx context.Context, h handler.EventHandler, q queue) {
			after := o.DeepCopy()
			after.ResourceVersion += "0"
			change(after)
			h.Update(ctx, event.UpdateEvent{ObjectOld: o, ObjectNew: after}, q)
		}
	}
	answer := func(c *ipamv1alpha1.IPClaim) { c.Status.Address = &corev1.ObjectReference{Name: "pool-10-0-0-1"} }
	hold := func(c *ipamv1alpha1.IPClaim) { c.Finalizers = append(c.Finalizers, "provider") }
	dying := func(c *ipamv1alpha1.IPClaim) { c.DeletionTimestamp = ptr.To(metav1.Now()) }
	deleted := func(o client.Object) func(context.Context, handler.EventHandler, queue) {
		return func(ctx context.Context, h handler.EventHandler, q queue) {
			h.Delete(ctx, event.DeleteEvent{Object: o}, q)
		}
	}
	tests := map[string]struct {
		happens func(context.Context, handler.EventHandler, queue)
		want    []reconcile.Request
	}{
		"a claim that comes wakes its owner":                          {created(owned), []reconcile.Request{request("nodes-0")}},
		"a claim that is answered wakes its owner":                    {updated(owned, answer), []reconcile.Request{request("nodes-0")}},
		"a claim that is deleted wakes its owner":                     {updated(owned, dying), []reconcile.Request{request("nodes-0")}},
		"a claim to which its provider adds a finalizer wakes none":   {updated(owned, hold), nil},
		"a claim that goes wakes its owner and those that wait":       {deleted(owned), []reconcile.Request{request("nodes-0"), request("waiting")}},
		"the claim of a user wakes none while it stays":               {updated(claim(), answer), nil},
		"the claim of a user wakes those that wait when it goes away": {deleted(claim()), []reconcile.Request{request("waiting")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			waiting := func(context.Context, client.Object) []reconcile.Request {
				return []reconcile.Request{request("waiting")}
			}
			tc.happens(t.Context(), onClaim(waiting), q)
			var got []reconcile.Request
			for q.Len() > 0 {
				r, _ := q.Get()
				q.Done(r)
				got = append(got, r)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStateChanges(t *testing.T) {
	pool := func(generation int64, version string) *ipamv1alpha1.IPPool {
		return &ipamv1alpha1.IPPool{ObjectMeta: metav1.ObjectMeta{Generation: generation, ResourceVersion: version}}
	}
	tests := map[string]struct {
		after *ipamv1alpha1.IPPool
		want  bool
	}{
		"a pool that grows is looked at":                     {pool(2, "8"), true},
		"a pool that only notes something for itself is not": {pool(1, "8"), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := stateChanges().Update(event.UpdateEvent{ObjectOld: pool(1, "7"), ObjectNew: tc.after}); got != tc.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
}
