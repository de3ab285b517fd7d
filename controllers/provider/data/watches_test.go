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
	"slices"
	"testing"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "tenant", Name: name}}
}

func claim(owners ...metav1.OwnerReference) *ipamv1alpha1.IPClaim {
	return &ipamv1alpha1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "server-pool", OwnerReferences: owners}}
}

// created, updated and deleted are what can happen to an object.
func created(o client.Object) func(predicate.Funcs) bool {
	return func(p predicate.Funcs) bool { return p.Create(event.CreateEvent{Object: o}) }
}

func updated[T client.Object](before T, change func(T)) func(predicate.Funcs) bool {
	after, _ := before.DeepCopyObject().(T)
	after.SetResourceVersion(before.GetResourceVersion() + "0")
	change(after)
	return func(p predicate.Funcs) bool { return p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) }
}

func deleted(o client.Object) func(predicate.Funcs) bool {
	return func(p predicate.Funcs) bool { return p.Delete(event.DeleteEvent{Object: o}) }
}

// woken are the names of those that an event of an object wakes, sorted.
func woken(t *testing.T, o client.Object, happens func(predicate.Funcs) bool, triggers []trigger) []string {
	t.Helper()
	var got []string
	for _, trigger := range triggers {
		if happens(trigger.matters) {
			for _, r := range trigger.wakes(t.Context(), o) {
				got = append(got, r.Name)
			}
		}
	}
	slices.Sort(got)
	return got
}

// only is a map function that finds one request.
func only(name string) handler.MapFunc {
	return func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request(name)} }
}

func TestOnClaim(t *testing.T) {
	owned := claim(metav1.OwnerReference{Kind: "Metal3Data", Name: "nodes-0", Controller: ptr.To(true)})
	owned.Finalizers = []string{infrav1.DataFinalizer}
	answer := func(c *ipamv1alpha1.IPClaim) { c.Status.Address = &corev1.ObjectReference{Name: "pool-10-0-0-1"} }
	hold := func(c *ipamv1alpha1.IPClaim) { c.Finalizers = append(c.Finalizers, "provider") }
	dying := func(c *ipamv1alpha1.IPClaim) { c.DeletionTimestamp = ptr.To(metav1.Now()) }
	tests := map[string]struct {
		claim   *ipamv1alpha1.IPClaim
		happens func(predicate.Funcs) bool
		want    []string
	}{
		"a claim that comes wakes its owner":                          {owned, created(owned), []string{"nodes-0"}},
		"a claim that is answered wakes its owner and the next":       {owned, updated(owned, answer), []string{"next", "nodes-0"}},
		"a claim that is deleted wakes its owner and the next":        {owned, updated(owned, dying), []string{"next", "nodes-0"}},
		"a claim to which its provider adds a finalizer wakes none":   {owned, updated(owned, hold), nil},
		"a claim that goes wakes its owner and those that wait":       {owned, deleted(owned), []string{"nodes-0", "waiting"}},
		"the claim of a user wakes none while it stays":               {claim(), updated(claim(), answer), nil},
		"the claim of a user wakes those that wait when it goes away": {claim(), deleted(claim()), []string{"waiting"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tc.want, woken(t, tc.claim, tc.happens, onClaim(only("waiting"), only("next"))))
		})
	}
}

func TestOnPool(t *testing.T) {
	pool := &ipamv1alpha1.IPPool{
		ObjectMeta: metav1.ObjectMeta{UID: "1", Generation: 1, ResourceVersion: "7"},
		Status:     ipamv1alpha1.IPPoolStatus{Allocations: map[string]ipamv1alpha1.IPAddressStr{"nodes-0": "10.0.0.1"}},
	}
	tests := map[string]struct {
		happens func(predicate.Funcs) bool
		want    []string
	}{
		"a pool that comes":        {created(pool), []string{"unfit", "waiting"}},
		"a pool that goes":         {deleted(pool), []string{"unfit", "waiting"}},
		"another pool of its name": {updated(pool, func(p *ipamv1alpha1.IPPool) { p.UID = "2" }), []string{"refused", "unfit", "waiting"}},
		"a pool that grows":        {updated(pool, func(p *ipamv1alpha1.IPPool) { p.Generation++ }), []string{"refused", "unfit", "waiting"}},
		"a pool that gives an address": {
			updated(pool, func(p *ipamv1alpha1.IPPool) { p.Status.Allocations["nodes-1"] = "10.0.0.2" }), []string{"refused"},
		},
		"a pool that gets one back": {updated(pool, func(p *ipamv1alpha1.IPPool) { p.Status.Allocations = nil }), []string{"refused"}},
		"a pool that only notes the time": {
			updated(pool, func(p *ipamv1alpha1.IPPool) { p.Status.LastUpdated = ptr.To(metav1.Now()) }), nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tc.want, woken(t, pool, tc.happens, onPool(only("waiting"), only("refused"), only("unfit"))))
		})
	}
}

func TestRefusedBy(t *testing.T) {
	asked := func(status ipamv1alpha1.IPClaimStatus) *ipamv1alpha1.IPClaim {
		return &ipamv1alpha1.IPClaim{Spec: ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool"}}, Status: status}
	}
	tests := map[string]struct {
		claim *ipamv1alpha1.IPClaim
		want  []string
	}{
		"a claim that is not answered":           {asked(ipamv1alpha1.IPClaimStatus{}), nil},
		"one that has an address and an error":   {asked(ipamv1alpha1.IPClaimStatus{Address: &corev1.ObjectReference{Name: "a"}, ErrorMessage: ptr.To("x")}), nil},
		"one that was refused belongs to a pool": {asked(ipamv1alpha1.IPClaimStatus{ErrorMessage: ptr.To("Exhausted")}), []string{"pool"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, refusedBy(tc.claim)) })
	}
}

// TestWhatOfAnObjectMatters has predicates judge changes of which some matter to no Metal3Data.
func TestWhatOfAnObjectMatters(t *testing.T) {
	claim := func(uid types.UID, generation int64, version string) *infrav1.Metal3DataClaim {
		return &infrav1.Metal3DataClaim{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation, ResourceVersion: version}}
	}
	tests := map[string]struct {
		after               *infrav1.Metal3DataClaim
		ofTemplate, ofClaim bool
	}{
		"another object of its name": {claim("2", 1, "8"), true, true},
		"another spec":               {claim("1", 2, "8"), true, false},
		"more in its status":         {claim("1", 1, "8"), false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := event.UpdateEvent{ObjectOld: claim("1", 1, "7"), ObjectNew: tc.after}
			if got := watch.Whenever(anotherSpec).Update(e); got != tc.ofTemplate {
				t.Errorf("of a template: %v", got)
			}
			if got := watch.Whenever(nothingElse).Update(e); got != tc.ofClaim {
				t.Errorf("of a claim: %v", got)
			}
		})
	}
}

// TestAClaimOfAnotherKindThanItsPool gives back a claim on a pool of ip-address-manager that is made
// by Cluster API's contract, which any tenant may do in the name of a Metal3Data.
func TestAClaimOfAnotherKindThanItsPool(t *testing.T) {
	claim := &capipamv1.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: server.Namespace(t), Name: "nodes-0-pool", Finalizers: []string{infrav1.DataFinalizer},
		},
		Spec: capipamv1.IPAddressClaimSpec{PoolRef: capipamv1.IPPoolReference{Name: "pool", Kind: "IPPool", APIGroup: "ipam.metal3.io"}},
	}
	expect.NoError(t, server.Client.Create(t.Context(), claim))
	r := &Reconciler{Client: server.Client, Live: server.Client}
	expect.NoError(t, r.releaseClaim(t.Context(), addressClaim{claim}))
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); !apierrors.IsNotFound(err) {
		t.Errorf("the claim stays: %v", err)
	}
}

// A claim on a pool that was given back costs no request.
func TestReleased(t *testing.T) {
	now := metav1.Now()
	tests := map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"a claim that is held":              {metav1.ObjectMeta{Finalizers: []string{infrav1.DataFinalizer}}, false},
		"one that is not held, and is left": {metav1.ObjectMeta{}, false},
		"one that is deleted and held":      {metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{infrav1.DataFinalizer}}, false},
		"one that its pool has to let go":   {metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{"ipclaim.ipam.metal3.io"}}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tc.want, (addressClaim{&ipamv1alpha1.IPClaim{ObjectMeta: tc.meta}}).released())
		})
	}
}
