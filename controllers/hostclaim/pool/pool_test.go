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

package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

var born = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// host returns a free host of namespace infra, or of another one when given.
func host(name string, labels ...string) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		h.Labels[l] = ""
	}
	h.Status.Provisioning.State = bmov1alpha1.StateAvailable
	return h
}

func inUse(name string) *bmov1alpha1.BareMetalHost {
	h := host(name)
	h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "somebody"}
	return h
}

func hostKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "infra", Name: name}
}

func claimKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "tenant", Name: name}
}

// waiterFor returns a claim that is as many seconds old as wished and asks for
// hosts with the labels.
func waiterFor(t *testing.T, name string, age int, labels ...string) Waiter {
	t.Helper()
	claim := &bmov1alpha1.HostClaim{}
	for _, l := range labels {
		claim.Spec.HostSelector.MatchExpressions = append(claim.Spec.HostSelector.MatchExpressions,
			bmov1alpha1.HostSelectorRequirement{Key: l, Operator: "exists"})
	}
	criteria, err := selection.Parse(claim)
	if err != nil {
		t.Fatal(err)
	}
	return Waiter{
		Claim: claimKey(name), UID: types.UID(name), Created: born.Add(-time.Duration(age) * time.Second),
		Criteria: criteria, Namespaces: []string{"infra"},
	}
}

// newPool returns a pool and a function that says which claims were woken since
// it was last asked.
func newPool(t *testing.T) (*Pool, func() []string) {
	t.Helper()
	p := New()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := p.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	return p, func() []string {
		var out []string
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
			out = append(out, request.Name)
		}
		return out
	}
}

// pick returns the name of the host that a claim gets; empty for none.
func pick(t *testing.T, p *Pool, w Waiter) string {
	t.Helper()
	h, found := p.Pick(w.Criteria, w.Namespaces)
	if !found {
		return ""
	}
	return h.Name
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPickGivesFreeHostsInOrderAndEachOnce(t *testing.T) {
	p, _ := newPool(t)
	for _, name := range []string{"c", "a", "d", "b"} {
		p.Observe(host(name))
	}
	p.Observe(inUse("d"))
	w := waiterFor(t, "claim", 0)
	expect(t, "first", pick(t, p, w), "a")
	expect(t, "second", pick(t, p, w), "b")
	p.Return(hostKey("a"))
	expect(t, "after a was returned", pick(t, p, w), "a")
	expect(t, "then", pick(t, p, w), "c")
	expect(t, "then nothing", pick(t, p, w), "")
	p.Drop(hostKey("a"))
	expect(t, "nothing after a was dropped", pick(t, p, w), "")
	p.Observe(host("a"))
	expect(t, "a when it is free again", pick(t, p, w), "a")
	p.Return(hostKey("never-seen"))
	expect(t, "nothing of another namespace", pick(t, p, Waiter{Namespaces: []string{"elsewhere"}}), "")
}

func TestFreeHostWakesTheOldestClaimThatItSuits(t *testing.T) {
	p, woken := newPool(t)
	p.Enter(waiterFor(t, "young", 1))
	p.Enter(waiterFor(t, "old", 3))
	p.Enter(waiterFor(t, "picky", 4, "gpu"))
	p.Enter(waiterFor(t, "middle", 2))
	expect(t, "waiting", p.Waiting(), []types.NamespacedName{
		claimKey("picky"), claimKey("old"), claimKey("middle"), claimKey("young"),
	})
	p.Observe(host("a"))
	expect(t, "woken by a", woken(), []string{"old"})
	p.Observe(host("a"))
	expect(t, "woken by a once more", woken(), []string(nil))
	p.Observe(host("b"))
	expect(t, "woken by b while old is at work", woken(), []string{"middle"})
	p.Observe(host("c", "gpu"))
	expect(t, "woken by a host with gpu", woken(), []string{"picky"})
}

func TestHostThatAClaimDoesNotTakeGoesToTheNext(t *testing.T) {
	p, woken := newPool(t)
	for i, name := range []string{"third", "second", "first"} {
		p.Enter(waiterFor(t, name, i))
	}
	p.Observe(host("a"))
	expect(t, "woken", woken(), []string{"first"})
	p.Enter(waiterFor(t, "first", 2)) // its pass begins and knows of the offer
	p.Stay(claimKey("first"))
	expect(t, "woken when first stays without", woken(), []string{"second"})
	p.Leave(claimKey("second"))
	expect(t, "woken when second goes", woken(), []string{"third"})
	p.Stay(claimKey("third"))
	expect(t, "woken when nobody is left", woken(), []string(nil))
	p.Stay(claimKey("third"))
	p.Stay(claimKey("unknown"))
	p.Leave(claimKey("unknown"))
	expect(t, "woken by claims without an offer", woken(), []string(nil))
	p.Observe(host("a"))
	expect(t, "woken when the host is seen again", woken(), []string{"first"})
}

func TestTakenHostIsOfferedToNobody(t *testing.T) {
	p, woken := newPool(t)
	p.Observe(host("a"))
	taker := waiterFor(t, "taker", 2)
	expect(t, "picked", pick(t, p, taker), "a")
	p.Enter(waiterFor(t, "other", 1))
	p.Observe(host("a"))
	expect(t, "woken while a is taken", woken(), []string(nil))
	p.Return(hostKey("a"))
	expect(t, "woken when a comes back", woken(), []string{"other"})
	p.Observe(inUse("a"))
	p.Stay(claimKey("other"))
	p.Observe(host("a"))
	expect(t, "woken when a is free once more", woken(), []string{"other"})
}

func TestNobodyIsWokenBeforeTheQueueIsThere(t *testing.T) {
	p := New()
	p.Enter(waiterFor(t, "claim", 0))
	p.Observe(host("a"))
	expect(t, "picked all the same", pick(t, p, waiterFor(t, "claim", 0)), "a")
}

func TestClaimsOfOneSecondAreOrderedByUID(t *testing.T) {
	p, woken := newPool(t)
	p.Enter(waiterFor(t, "b", 1))
	p.Enter(waiterFor(t, "a", 1))
	p.Observe(host("h"))
	expect(t, "woken", woken(), []string{"a"})
}
