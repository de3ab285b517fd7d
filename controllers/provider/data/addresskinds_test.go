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

func TestMayGiveMore(t *testing.T) {
	type allocations = map[string]ipamv1alpha1.IPAddressStr
	pool := func(change func(*ipamv1alpha1.IPPool)) *ipamv1alpha1.IPPool {
		p := &ipamv1alpha1.IPPool{
			ObjectMeta: metav1.ObjectMeta{UID: "1", Generation: 1, ResourceVersion: "7"},
			Status:     ipamv1alpha1.IPPoolStatus{Allocations: allocations{"nodes-0": "10.0.0.1", "nodes-1": "10.0.0.2"}},
		}
		change(p)
		return p
	}
	has := func(a allocations) func(*ipamv1alpha1.IPPool) {
		return func(p *ipamv1alpha1.IPPool) { p.Status.Allocations = a }
	}
	tests := map[string]struct {
		changed func(*ipamv1alpha1.IPPool)
		want    bool
	}{
		"another pool of its name is looked at":     {func(p *ipamv1alpha1.IPPool) { p.UID = "2" }, true},
		"a pool that grows is looked at":            {func(p *ipamv1alpha1.IPPool) { p.Generation++ }, true},
		"a pool that got an address back is":        {has(allocations{"nodes-1": "10.0.0.2"}), true},
		"one whose address went to another is":      {has(allocations{"nodes-2": "10.0.0.1", "nodes-1": "10.0.0.2"}), true},
		"one that gave a holder another address is": {has(allocations{"nodes-0": "10.0.0.3", "nodes-1": "10.0.0.2"}), true},
		"a pool that only gave an address is not": {
			has(allocations{"nodes-0": "10.0.0.1", "nodes-1": "10.0.0.2", "nodes-2": "10.0.0.3"}), false,
		},
		"a pool that only notes something for itself is not": {func(p *ipamv1alpha1.IPPool) { p.ResourceVersion = "8" }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			update := event.UpdateEvent{ObjectOld: pool(func(*ipamv1alpha1.IPPool) {}), ObjectNew: pool(tc.changed)}
			if got := mayGiveMore().Update(update); got != tc.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
}
