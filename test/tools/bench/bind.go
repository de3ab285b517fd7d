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

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// bindPlan is how much of everything is measured.
type bindPlan struct {
	// pools are sizes of the pool at which claims are bound one by one, in ascending
	// order, in turn with as many in a pool of the size beside. Sequential is how many are
	// bound, explained how many find nothing, and how many are bound first and not counted.
	beside                int
	pools                 []int
	sequential, explained int
	// crowdClaims come at once when crowdHosts are free, before the last pool.
	crowdHosts, crowdClaims int
	// late hosts become free under waiting claims, one each lateEvery; then as many
	// again all together.
	late      int
	lateEvery time.Duration
}

// bindPlans are the amounts of each size.
var bindPlans = map[string]bindPlan{
	"full": {
		beside: 100, pools: []int{1000, 10000}, sequential: 50, explained: 20, crowdHosts: 2000, crowdClaims: 1000,
		late: 200, lateEvery: 500 * time.Millisecond,
	},
	"medium": {
		beside: 100, pools: []int{1000}, sequential: 50, explained: 20, crowdHosts: 400, crowdClaims: 200,
		late: 50, lateEvery: 200 * time.Millisecond,
	},
	"small": {
		beside: 10, pools: []int{60}, sequential: 3, explained: 2, crowdHosts: 20, crowdClaims: 10,
		late: 3, lateEvery: 10 * time.Millisecond,
	},
}

// bindBench is one run.
type bindBench struct {
	bindPlan
	*run
	*room

	manager *site.Manager
	// hosts is how many there are, bound how many of them have a claim.
	hosts, bound int
}

// measureBinds measures how the hostclaim manager binds hosts to claims: many at once, one that becomes free under
// waiting claims, one by one in pools of several sizes, and what the manager costs while nothing happens.
func measureBinds(ctx context.Context, r *run) error {
	return started(ctx, r, func(ctx context.Context, b *bindBench) error { return b.measureAll(ctx) })
}

// started calls a function with a cluster without hosts in which the manager is at work.
// Everything in it ends with the function.
func started(ctx context.Context, r *run, do func(context.Context, *bindBench) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bindBench{bindPlan: bindPlans[r.size], run: r}
	if b.room, err = openRoom(ctx, r.server); err != nil {
		return err
	}
	if b.class, err = b.addClass(ctx); err != nil {
		return err
	}
	if err := b.startManager(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.manager.Stop()) }()
	return do(ctx, b)
}

// addClass makes the class of the claims, and returns its labels; none without one.
func (b *bindBench) addClass(ctx context.Context) (map[string]string, error) {
	if b.run.class == "" {
		return nil, nil //nolint:nilnil // they have none
	}
	return map[string]string{infrav1.ClassLabel: b.run.class}, b.Create(ctx, &hostclaimv1.HostClaimClass{
		ObjectMeta: metav1.ObjectMeta{Name: b.run.class},
		Spec: hostclaimv1.HostClaimClassSpec{
			ControllerName: hostclaimv1.BareMetalControllerName, NamespaceSelector: &metav1.LabelSelector{},
		},
	})
}

// startManager starts the hostclaim manager with its default flags and the rights of its account.
func (b *bindBench) startManager(ctx context.Context) error {
	p := site.Program{Name: "manager", User: harness.HostClaimAccount().User(), Args: append([]string{"--webhook-port=0"}, b.managerArgs...)}
	var err error
	if p.Path, err = site.Build(ctx, b.folder, p.Name, "./cmd/hostclaim-manager"); err != nil {
		return err
	}
	started, err := b.StartManager(ctx, p, b.folder)
	if err == nil {
		b.manager = started
	}
	return err
}

// measureAll does everything once, in an order that lets the pool only grow: the
// crowd comes before its last size, and what depends on the size most comes last.
func (b *bindBench) measureAll(ctx context.Context) error {
	last := len(b.pools) - 1
	for _, size := range b.pools[:last] {
		if err := b.oneByOne(ctx, size); err != nil {
			return err
		}
	}
	if err := inTurn(ctx, b.crowd, b.idleness); err != nil {
		return err
	}
	if err := b.oneByOne(ctx, b.pools[last]); err != nil {
		return err
	}
	return inTurn(ctx, b.lateOneByOne, b.lateTogether, b.memory)
}

// grow adds hosts until there are so many, and waits until all clients know them.
func (b *bindBench) grow(ctx context.Context, size int) error {
	begun := time.Now()
	if err := b.addHosts(ctx, b.hosts, size); err != nil {
		return err
	}
	say("%d hosts made in %s", max(size-b.hosts, 0), time.Since(begun).Round(time.Millisecond))
	b.hosts = max(size, b.hosts)
	return b.Quiet(ctx, b.quiet)
}

const (
	// infra is the namespace of all hosts.
	infra = "bench-infra"
	// tenants is how many namespaces the claims are spread over.
	tenants = 10
)

// lateLabel is on the hosts whose times are noted.
const lateLabel = "late"

// room is a cluster with hosts and tenants, and a policy that lets them come together.
type room struct {
	*site.Site
	// claimed and freed note what happens to claims and to hosts.
	claimed, freed *site.Timeline
	// class are the labels of claims, which name their class; nil for none.
	class map[string]string
}

// openRoom prepares the cluster of the server: namespaces, a policy that admits every
// tenant, the rights of the manager, and hostsim. It ends with ctx.
func openRoom(ctx context.Context, server *harness.Server) (*room, error) {
	opened, err := site.Open(server, site.Counting{
		Resources: []string{"hostclaims", "baremetalhosts", "hostdeploypolicies", "hardwaredata", "secrets", "namespaces", "events"},
		Ours:      []string{"POST hostclaims", "DELETE hostclaims", "PATCH baremetalhosts/status"},
	})
	if err != nil {
		return nil, err
	}
	r := &room{Site: opened, claimed: site.NewTimeline(), freed: site.NewTimeline()}
	if err := errors.Join(r.furnish(ctx), r.PlayHosts(ctx)); err != nil {
		return nil, err
	}
	if err := r.Follow(ctx, &bmov1alpha1.HostClaimList{}, r.see); err != nil {
		return nil, err
	}
	return r, r.Follow(ctx, &bmov1alpha1.BareMetalHostList{}, r.see, client.HasLabels{lateLabel})
}

// tenant is the namespace of the n-th claim.
func tenant(n int) string {
	return fmt.Sprintf("bench-tenant-%d", n%tenants)
}

func (r *room) furnish(ctx context.Context) error {
	account := harness.HostClaimAccount()
	if err := r.Server.InstallRoles(ctx, account); err != nil {
		return fmt.Errorf("install the roles: %w", err)
	}
	rights := map[string]string{infra: "hostclaim-host-secrets"}
	var names []string
	for n := range tenants {
		names = append(names, tenant(n))
		rights[tenant(n)] = "hostclaim-source-secrets"
	}
	for namespace, role := range rights {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := errors.Join(r.Create(ctx, ns), r.Server.Bind(ctx, account, namespace, role)); err != nil {
			return err
		}
	}
	return r.Create(ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "tenants"},
		Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: names}},
	})
}

func (r *room) see(object any, now time.Time) {
	switch o := object.(type) {
	case *bmov1alpha1.HostClaim:
		key := client.ObjectKeyFromObject(o)
		switch c := meta.FindStatusCondition(o.Status.Conditions, bmov1alpha1.AssociatedCondition); {
		case c == nil:
		case c.Status == metav1.ConditionTrue:
			r.claimed.Note(bound, key, now)
			if host := o.Status.BareMetalHost; host != nil {
				r.freed.Note(taken, types.NamespacedName{Namespace: host.Namespace, Name: host.Name}, now)
			}
		case c.Status == metav1.ConditionFalse:
			r.claimed.Note(explained, key, now)
		}
	case *bmov1alpha1.BareMetalHost:
		if o.Status.Provisioning.State == bmov1alpha1.StateAvailable {
			r.freed.Note(available, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, now)
		}
	}
}

// newClaim is a claim for a host with the labels; it asks for no image and no
// power, so that what is measured is its bind.
func (r *room) newClaim(prefix string, n int, labels map[string]string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant(n), Name: fmt.Sprintf("%s-%05d", prefix, n), Labels: r.class},
		Spec:       bmov1alpha1.HostClaimSpec{HostSelector: bmov1alpha1.HostSelector{MatchLabels: labels}},
	}
}

// addClaims makes claims as fast as the API server takes them, and returns their
// names and the moment before the first one.
func (r *room) addClaims(ctx context.Context, prefix string, count int, labels map[string]string) ([]types.NamespacedName, time.Time, error) {
	keys := make([]types.NamespacedName, count)
	begun := time.Now()
	err := site.InParallel(ctx, 0, count, func(ctx context.Context, n int) error {
		claim := r.newClaim(prefix, n, labels)
		keys[n] = client.ObjectKeyFromObject(claim)
		return r.Create(ctx, claim)
	})
	return keys, begun, err
}

// oneByOne binds claims one after the other in a pool of that size, in turn with claims
// in a small pool beside it, and then lets some find nothing.
func (b *bindBench) oneByOne(ctx context.Context, size int) error {
	if err := b.grow(ctx, size); err != nil {
		return err
	}
	err := b.onOtherServer(func(r *run) error {
		return started(ctx, r, func(ctx context.Context, small *bindBench) error {
			if err := small.grow(ctx, b.beside); err != nil {
				return err
			}
			return b.compared(ctx, small, size)
		})
	})
	if err != nil {
		return err
	}
	return b.inVain(ctx, size)
}

// compared binds a claim here and one in a small pool, and so on. The first ones are not
// counted: the small pool's API server and manager have just started.
func (b *bindBench) compared(ctx context.Context, small *bindBench, size int) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	if _, err := b.inTurn(ctx, small, fmt.Sprintf("first-%d", size), b.explained); err != nil {
		return err
	}
	var took [2][]time.Duration
	spent, err := b.costOf(ctx, b.Site, b.sequential, func(ctx context.Context) (err error) {
		took, err = b.inTurn(ctx, small, fmt.Sprintf("one-%d", size), b.sequential)
		return err
	}, b.manager, small.manager)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("one bind, %d hosts", size)
	median := b.figures.AddTimes(name, took[0], time.Millisecond)
	b.addCPU(name+", processor time of the manager", spent.work[0], b.sequential)
	b.figures.Add(name+", requests", spent.sum, "")
	name = fmt.Sprintf("  in turn with one among %d hosts", b.beside)
	base := b.figures.AddTimes(name, took[1], time.Millisecond)
	b.addCPU(name+", processor time of the manager", spent.work[1], b.sequential)
	b.figures.Add(fmt.Sprintf("  cost among %d compared with %d hosts", size, b.beside), median/base, "times", 1.2)
	return nil
}

// inTurn binds so many claims in this pool and as many in another one, each when the one
// before is bound, and returns how long each took, here and there.
func (b *bindBench) inTurn(ctx context.Context, other *bindBench, prefix string, count int) (all [2][]time.Duration, err error) {
	for n := range count {
		for i, at := range []*bindBench{b, other} {
			took, err := at.one(ctx, at.newClaim(prefix, n, nil), bound)
			if err != nil {
				return all, err
			}
			at.bound++
			all[i] = append(all[i], took)
		}
	}
	return all, nil
}

// one makes a claim and returns how long it took until it got its mark.
func (b *bindBench) one(ctx context.Context, claim *bmov1alpha1.HostClaim, mark site.Mark) (time.Duration, error) {
	begun := time.Now()
	if err := b.Create(ctx, claim); err != nil {
		return 0, err
	}
	at, err := b.claimed.Await(ctx, mark, client.ObjectKeyFromObject(claim))
	return at.Sub(begun), err
}

// inVain lets claims come, one after the other, that no host answers. The processor
// time is that of all passes over such a claim, its deletion included.
func (b *bindBench) inVain(ctx context.Context, size int) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	var all []time.Duration
	spent, err := b.costOf(ctx, b.Site, b.explained, func(ctx context.Context) error {
		for n := range b.explained {
			claim := b.newClaim(fmt.Sprintf("none-%d", size), n, map[string]string{"rack": "nowhere"})
			took, err := b.one(ctx, claim, explained)
			if err == nil {
				err = b.Delete(ctx, claim)
			}
			if err != nil {
				return err
			}
			all = append(all, took)
		}
		return nil
	}, b.manager)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("one claim told why it has no host, %d hosts", size)
	b.figures.AddTimes(name, all, time.Millisecond)
	b.addCPU(name+", processor time of the manager", spent.work[0], b.explained)
	return nil
}

// crowd lets many claims come at once.
func (b *bindBench) crowd(ctx context.Context) error {
	if err := b.grow(ctx, b.crowdHosts+b.bound); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	var took time.Duration
	spent, err := b.costOf(ctx, b.Site, b.crowdClaims, func(ctx context.Context) error {
		claims, begun, err := b.addClaims(ctx, "crowd", b.crowdClaims, nil)
		if err != nil {
			return err
		}
		last, err := b.claimed.Await(ctx, bound, claims...)
		took = last.Sub(begun)
		return err
	}, b.manager)
	if err != nil {
		return err
	}
	b.bound += b.crowdClaims
	b.figures.Add(fmt.Sprintf("%d claims on %d hosts, until all are bound", b.crowdClaims, b.crowdHosts), took.Seconds(), "s", 40)
	b.addCPU("  processor time of the manager for each of them", spent.work[0], b.crowdClaims)
	b.figures.AddRequests("requests for each of them", spent.requests, spent.sum)
	return nil
}

// idleness watches the manager while nothing happens.
func (b *bindBench) idleness(ctx context.Context) error {
	if err := b.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	done, err := b.rest(ctx, b.manager)
	if err != nil {
		return err
	}
	b.figures.Add(fmt.Sprintf("reconciles in %s with %d bound claims", b.idle, b.bound), done[0].PassesOf(), "", 0)
	return nil
}

// memory looks at the manager as it is, and at one that has just started.
func (b *bindBench) memory(ctx context.Context) error {
	quiet := func(ctx context.Context) error { return b.Quiet(ctx, b.quiet) }
	name := fmt.Sprintf("memory of the manager, %d hosts, %d bound", b.hosts+2*b.late, b.bound)
	if err := errors.Join(quiet(ctx), b.addMemory(b.manager, name, 250)); err != nil {
		return err
	}
	if err := inTurn(ctx, b.manager.Restart, quiet); err != nil {
		return err
	}
	return b.addMemory(b.manager, "  after a restart", 250)
}

// lateOneByOne lets hosts become free under waiting claims at a steady pace. Of the
// requests only the live lists are noted: hostsim makes most of the others.
func (b *bindBench) lateOneByOne(ctx context.Context) error {
	var took []time.Duration
	spent, err := b.costOf(ctx, b.Site, b.late, func(ctx context.Context) (err error) {
		took, err = b.lateHosts(ctx, "steady", b.lateEvery)
		return err
	})
	b.figures.AddTimes(fmt.Sprintf("host becomes available among %d until it is claimed", b.hosts), took, time.Millisecond, 1000)
	b.figures.Add("    LIST baremetalhosts", spent.requests["LIST baremetalhosts"], "")
	return err
}

// lateTogether lets as many hosts become free as fast as hostsim can.
func (b *bindBench) lateTogether(ctx context.Context) error {
	took, err := b.lateHosts(ctx, "together", 0)
	b.figures.AddTimes(fmt.Sprintf("  the same with %d at once", b.late), took, time.Millisecond)
	return err
}

// lateHosts makes claims that wait for hosts of their own kind, then registers the
// hosts, and returns for each how long it was available before it was claimed.
func (b *bindBench) lateHosts(ctx context.Context, name string, every time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	labels := map[string]string{lateLabel: name}
	claims, _, err := b.addClaims(ctx, name, b.late, labels)
	if err != nil {
		return nil, err
	}
	if _, err := b.claimed.Await(ctx, explained, claims...); err != nil {
		return nil, err
	}
	if err := b.Quiet(ctx, b.quiet); err != nil {
		return nil, err
	}
	hosts := make([]types.NamespacedName, b.late)
	for n := range b.late {
		host := site.NewHost(infra, fmt.Sprintf("late-%s-%05d", name, n), labels)
		hosts[n] = client.ObjectKeyFromObject(host)
		if err := b.Create(ctx, host); err != nil {
			return nil, err
		}
		if every > 0 {
			<-time.After(every)
		}
	}
	if _, err := b.freed.Await(ctx, taken, hosts...); err != nil {
		return nil, err
	}
	b.bound += b.late
	took := make([]time.Duration, b.late)
	for n, host := range hosts {
		took[n] = b.freed.At(taken, host).Sub(b.freed.At(available, host))
	}
	return took, nil
}

// addHosts makes free hosts, those from the first number to before the last.
func (r *room) addHosts(ctx context.Context, first, last int) error {
	return site.InParallel(ctx, first, last, func(ctx context.Context, n int) error {
		labels := map[string]string{"rack": fmt.Sprintf("rack-%03d", n/40)}
		return r.AddHost(ctx, site.NewHost(infra, fmt.Sprintf("host-%05d", n), labels))
	})
}
