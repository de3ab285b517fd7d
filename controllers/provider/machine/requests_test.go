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

package machine

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/reuse"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// claimRequests counts live reads of claims and writes of them.
type claimRequests struct{ reads, writes int }

// count has the world count its requests for claims.
func (w *world) count() *claimRequests {
	n := &claimRequests{}
	w.Live = w.through(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, claim := o.(*bmov1alpha1.HostClaim); claim {
				n.reads++
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	w.Client = w.through(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			n.writes++
			return c.Apply(ctx, o, opts...)
		},
	})
	return n
}

// TestRequestsForAClaim shows that a claim is made without a look whether there is one, and that
// the passes which begin before the cache shows it ask for nothing.
func TestRequestsForAClaim(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.machine.Finalizers = []string{infrav1.MachineFinalizer} }))
	clock := clocktesting.NewFakePassiveClock(noon.Time)
	w.Clock = clock
	n := w.count()
	w.Claims.Client = w.through(blind())
	for pass, want := range []claimRequests{{0, 1}, {0, 1}, {0, 1}} {
		result, err := w.Reconcile(t.Context(), request(w.namespace, "m-1"))
		if err != nil {
			t.Fatal(err)
		}
		if pass > 0 && result.RequeueAfter != retry.CatchUp {
			t.Errorf("pass %d comes back after %s", pass, result.RequeueAfter)
		}
		if diff := cmp.Diff(want, *n, cmp.AllowUnexported(claimRequests{})); diff != "" {
			t.Errorf("after pass %d (-want +got):\n%s", pass, diff)
		}
		w.get(w.machine)
		if ref := w.machine.Status.HostClaim; ref == nil || ref.Name != claims.Name("m-1") {
			t.Errorf("after pass %d the machine names the claim %v", pass, ref)
		}
	}
	clock.SetTime(noon.Add(2 * time.Second)) // it may have been deleted unseen
	if _, err := w.Reconcile(t.Context(), request(w.namespace, "m-1")); err != nil || n.writes != 2 {
		t.Errorf("%d writes after the cache had its time, error %v", n.writes, err)
	}
}

// TestClaimIsDeletedOnce has the cache show a claim that was deleted as it was before.
func TestClaimIsDeletedOnce(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running, deleted))
	w.Clock = clocktesting.NewFakePassiveClock(noon.Time)
	w.get(w.claim)
	before, deletions := w.claim.DeepCopy(), 0
	w.Claims.Client = w.through(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if claims, ok := list.(*bmov1alpha1.HostClaimList); ok {
				claims.Items = []bmov1alpha1.HostClaim{*before.DeepCopy()}
			}
			return err
		},
	})
	w.Client = w.through(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			deletions++
			return c.Delete(ctx, o, opts...)
		},
	})
	for range 3 {
		if _, err := w.Reconcile(t.Context(), request(w.namespace, "m-1")); err != nil {
			t.Fatal(err)
		}
	}
	if deletions != 1 {
		t.Errorf("the claim was deleted %d times", deletions)
	}
}

// TestDeletionIsToldIfItLasts shows that the way back of a server costs a machine one write, and
// that one which takes its time is told.
func TestDeletionIsToldIfItLasts(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running))
	if _, err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.HoldReports = 3 * time.Second
	clock := clocktesting.NewFakePassiveClock(noon.Time)
	w.Clock = clock
	w.get(w.claim)
	held := w.claim.DeepCopy()
	held.Finalizers = []string{infrav1.HostClaimFinalizer}
	if err := w.server.Client.Patch(t.Context(), held, client.MergeFrom(w.claim)); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Client.Delete(t.Context(), w.machine); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		second int
		told   bool
	}{{0, false}, {2, false}, {3, true}} {
		clock.SetTime(noon.Add(time.Duration(step.second) * time.Second))
		if _, err := w.Reconcile(t.Context(), request(w.namespace, "m-1")); err != nil {
			t.Fatal(err)
		}
		w.get(w.machine)
		if told := decided(w.machine) == infrav1.DeprovisioningReason; told != step.told {
			t.Errorf("after %d s: told %t, want %t", step.second, told, step.told)
		}
	}
	if w.get(w.claim); w.claim.DeletionTimestamp == nil {
		t.Error("the claim is not being deleted")
	}
}

// TestDataIsAskedForOnce has the cache show the claim for data late.
func TestDataIsAskedForOnce(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running))
	clock := clocktesting.NewFakePassiveClock(noon.Time)
	w.Clock = clock
	w.Client = w.through(readsFail[*infrav1.Metal3DataClaim](errNotFound))
	d := w.dataSteps()
	p := &planned{
		scope: &scope{machine: w.machine, cluster: &clusterv1.Cluster{}},
		plan:  machines.Plan{Data: &machines.DataRequest{Template: "nodes"}},
	}
	if out := d.observe(t.Context(), p.scope).And(d.apply(t.Context(), p)); !out.Done() {
		t.Fatal(out.Err())
	}
	if out := d.observe(t.Context(), p.scope); !out.Behind() {
		t.Errorf("a pass that does not see it goes on: %v", out)
	}
	clock.SetTime(noon.Add(2 * time.Second)) // it may have been deleted unseen
	if out := d.observe(t.Context(), p.scope); !out.Done() {
		t.Errorf("a pass waits for ever: %v", out)
	}
}

// TestGoesAlone shows when no other machine waits for what becomes of a claim.
func TestGoesAlone(t *testing.T) {
	tests := map[string]struct {
		group reuse.Group
		plan  machines.ReleasePlan
		want  bool
	}{
		"a machine that hands no server on":         {want: true},
		"one whose group keeps servers":             {group: reuse.Group{Asked: true}},
		"one whose group goes as well":              {group: reuse.Group{Asked: true, Going: true}, want: true},
		"one whose server is reserved all the same": {group: reuse.Group{Asked: true, Going: true}, plan: machines.ReleasePlan{ReserveClaim: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scope{}
			s.observed.Group = tc.group
			if got := goesAlone(s, result{release: &tc.plan}); got != tc.want {
				t.Errorf("goesAlone() = %t, want %t", got, tc.want)
			}
		})
	}
}
