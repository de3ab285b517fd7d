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

package tenant

import (
	"fmt"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// What a server reports when something goes wrong names its BMC, and worse.
func TestErrorTextsReachNoTenantWithBMCAddress(t *testing.T) {
	const address, password = "redfish://192.0.2.77/redfish/v1", "hunter2"
	w := newWorld(t)
	w.policy(nil)
	key := w.host("host-0")
	claim := w.attack("machine", withImage(goodURL, ""))
	w.ready(claim)
	host := w.readHost(key)
	host.Status.ErrorType, host.Status.ErrorMessage = bmov1alpha1.PowerManagementError, "cannot log on to "+address+" with "+password
	host.Status.OperationalStatus = bmov1alpha1.OperationalStatusError
	w.SetStatus(host, host.Status)
	w.expect(claim, "Ready", "False/"+bmov1alpha1.ErrorReason)

	facts, events := &bmov1alpha1.HardwareDataList{}, &eventsv1.EventList{}
	w.OK(mallory.List(w.Ctx, facts, client.InNamespace(w.mallory)))
	w.OK(mallory.List(w.Ctx, events, client.InNamespace(w.mallory)))
	w.G.Expect(facts.Items).To(gomega.HaveLen(1))
	w.G.Expect(events.Items).NotTo(gomega.BeEmpty())
	all := fmt.Sprintf("%+v %+v %+v", claim, facts.Items, events.Items)
	for _, part := range []string{address, "192.0.2.77", "redfish", password, "bmc"} {
		w.G.Expect(all).NotTo(gomega.ContainSubstring(part))
	}
	w.G.Expect(harness.Message(claim.Status.Conditions, "Ready")).To(gomega.ContainSubstring("power management error"))
}

// A selector is compared with every host on everybody's time, and what a tenant
// writes comes back in messages.
func TestHugeSelectorsAndLongTextsDoNotStallOthers(t *testing.T) {
	w := newWorld(t)
	w.policy(nil)
	for i := range 5 {
		w.host(fmt.Sprintf("host-%d", i))
	}
	const claims = 10
	values := make([]string, 4)
	for i := range values {
		values[i] = fmt.Sprintf("%063d", i)
	}
	large := func(n int) edit {
		return func(c *bmov1alpha1.HostClaim) {
			for range n {
				c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
					bmov1alpha1.HostSelectorRequirement{Key: strings.Repeat("k", 60), Operator: "notin", Values: values})
			}
			c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
				bmov1alpha1.HostSelectorRequirement{Key: strings.Repeat("x", 60), Operator: "in", Values: values})
		}
	}
	for n, because := range map[int]string{32: "at most 32 are allowed", 2000: "at most 524288 are allowed"} {
		w.refused(mallory.Create(w.Ctx, builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "too-large"}, large(n))), because)
	}
	for i := range claims {
		w.attack(fmt.Sprintf("large-%d", i), large(31), func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = strings.Repeat("d", 256) })
	}
	long := w.attack("long", withImage("https://good.example/"+strings.Repeat("x", 100_000), strings.Repeat("s", 100_000)))
	begin := time.Now()
	w.bound(w.defend("machine"))
	t.Logf("bound after %s, beside %d claims of the largest size", time.Since(begin).Round(time.Millisecond), claims)
	w.expect(long, synchronized, "False/"+bmov1alpha1.BadUserDataSecretReason)
	for i := range claims {
		claim := builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: fmt.Sprintf("large-%d", i)})
		w.expect(claim, associated, noHost)
		w.G.Expect(len(harness.Message(claim.Status.Conditions, associated))).To(gomega.BeNumerically("<=", 1024))
	}
}

// Hundreds of claims that cannot be answered take their turns, and the one of
// another tenant, which can, takes its own.
func TestHoardOfClaimsDelaysAnotherTenantNoLongerThanItsTurn(t *testing.T) {
	const hoard = 150
	w := newWorld(t)
	w.policy(nil)
	var group errgroup.Group
	group.SetLimit(10)
	for i := range hoard {
		group.Go(func() error {
			return mallory.Create(w.Ctx, builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: fmt.Sprintf("hoard-%d", i)}, func(c *bmov1alpha1.HostClaim) {
				c.Spec.HostSelector.MatchLabels = map[string]string{"no": "host"}
			}))
		})
	}
	w.OK(group.Wait())
	victim := w.defend("machine")
	begin := time.Now()
	w.host("host-0")
	w.bound(victim)
	t.Logf("bound %s after the host had come, beside %d claims that wait", time.Since(begin).Round(time.Millisecond), hoard)

	// A host that comes free goes on to the next claim that it suits, without a
	// turn for each of those that it does not.
	next := w.defend("next")
	w.expect(next, associated, noHost)
	w.OK(alice.Delete(w.Ctx, victim))
	begin = time.Now()
	w.AwaitGone(victim)
	w.bound(next)
	t.Logf("the next one was bound %s after the host was asked back", time.Since(begin).Round(time.Millisecond))
}

// One tenant has both hosts and a backlog of claims, and another one begins to ask when all
// of those wait: from then on each gets every second host that becomes free. Counted is who
// gets a host, not when.
func TestBacklogOfOneTenantGetsEverySecondHost(t *testing.T) {
	const backlog, asked, freed = 30, 6, 8
	w := newWorld(t)
	w.policy(nil)
	claims := map[types.UID]*bmov1alpha1.HostClaim{}
	keep := func(claim *bmov1alpha1.HostClaim) *bmov1alpha1.HostClaim {
		claims[claim.UID] = claim
		return claim
	}
	both := []client.ObjectKey{w.host("host-0"), w.host("host-1")}
	for i := range both {
		w.bound(keep(w.attack(fmt.Sprint("first-", i))))
	}
	var waiting []*bmov1alpha1.HostClaim
	for i := range backlog {
		waiting = append(waiting, keep(w.attack(fmt.Sprint("backlog-", i))))
	}
	for i := range asked {
		waiting = append(waiting, keep(w.defend(fmt.Sprint("machine-", i))))
	}
	for _, claim := range waiting {
		w.expect(claim, associated, noHost)
	}

	got := map[string]int{}
	for i := range freed {
		host := both[i%len(both)]
		former := claims[w.readHost(host).Spec.ConsumerRef.UID]
		w.OK(server.Client.Delete(w.Ctx, former))
		var next *bmov1alpha1.HostClaim
		w.G.Eventually(func() bool {
			ref := w.readHost(host).Spec.ConsumerRef
			if ref != nil {
				next = claims[ref.UID]
			}
			return next != nil && next != former
		}).Should(gomega.BeTrue(), "the host that was freed is bound again")
		w.bound(next)
		got[next.Namespace]++
	}
	// A bind that fails ends a turn as well, so the turns may be off by one.
	w.G.Expect(got[w.alice]).To(gomega.BeNumerically("~", freed/2, 1), "of %d hosts: %v", freed, got)
}

// What a tenant can do over and over again must not fill the namespace of the
// infrastructure with events.
func TestEventsFloodIsBounded(t *testing.T) {
	w := newWorld(t)
	w.policy(nil)
	w.host("host-0")
	claim := w.attack("machine", withImage(goodURL, ""))
	w.ready(claim)
	waiting := w.attack("waiting")
	for i := range 50 {
		w.OK(change(w, mallory, claim, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = i%2 == 1 }))
		w.OK(change(w, mallory, waiting, func(c *bmov1alpha1.HostClaim) {
			c.Spec.HostSelector.MatchLabels = map[string]string{"n": fmt.Sprint(i)}
		}))
	}
	// How many of the changes the manager sees, and so whether they pass the limit on
	// power changes, depends on the speed of the machine.
	w.G.Eventually(func() string {
		w.Read(claim)
		return harness.Condition(claim.Status.Conditions, "Ready")
	}).Should(gomega.BeElementOf("True/Provisioned", "False/"+infrav1.PowerChangesLimitedReason))
	for _, namespace := range []string{w.infra, w.mallory} {
		events, old := &eventsv1.EventList{}, &corev1.EventList{}
		w.OK(server.Client.List(w.Ctx, events, client.InNamespace(namespace)))
		w.OK(server.Client.List(w.Ctx, old, client.InNamespace(namespace)))
		w.G.Expect(len(events.Items)).To(gomega.BeNumerically("<", 20), namespace)
		w.G.Expect(len(old.Items)).To(gomega.BeNumerically("<", 20), namespace)
	}
}
