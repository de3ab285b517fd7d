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
	"slices"
	"strings"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// shape is how many clusters there are, and how many machines each of them has.
type shape struct{ clusters, each int }

func (s shape) machines() int { return s.clusters * s.each }

func (s shape) String() string {
	if s.clusters == 1 {
		return fmt.Sprintf("%d machines in one cluster", s.each)
	}
	return fmt.Sprintf("%d machines in %d clusters", s.machines(), s.clusters)
}

// scaleShapes are the shapes by size. They start with the smallest cluster, which the others are compared with.
var scaleShapes = map[string][]shape{
	"full":   {{1, 25}, {100, 10}, {1, 1000}},
	"medium": {{1, 25}, {20, 10}, {1, 200}},
	"small":  {{1, 2}, {2, 2}},
}

// Targets. Those of requests are the ones of the scenario rollout.
const (
	requestsToRun    = 45
	requestsToDelete = 25
	growth           = 1.1
	memory           = 150 // MiB
	millicores       = 20
	settled          = 30 // seconds
	writesOfRestart  = 50
)

const (
	dataTemplate = "nodes"
	// nodes takes one address of a pool for each machine.
	nodes = `
metaData:
  indexes: [{key: index, prefix: node-}]
networkData:
  links: {ethernets: [{id: e0, type: phy, macAddress: {fromHostInterface: ens1f0np0}}]}
  networks: {ipv4: [{id: n0, link: e0, ipAddressFromIPPool: nodes, routes: [{network: 0.0.0.0, gateway: {fromIPPool: nodes}}]}]}
`
	// polled is the controller of Cluster API's cache of workload clusters, of which there are none
	// here: it goes on looking for them.
	polled = "clustercache"
)

// measureScale measures what many machines cost, with their data and addresses: in many small clusters and in one large
// one, all at once, while nothing happens, when a manager starts anew, when each machine is replaced, when both leaders
// die, and when all go.
func measureScale(ctx context.Context, r *run) (err error) {
	shapes := scaleShapes[r.size]
	b, err := newCrowdBench(ctx, r, "--leader-elect", "--leader-election-namespace="+town.Infra)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	pools, err := b.StartPools(ctx, r.folder, "--kube-api-qps=200", "--kube-api-burst=400")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pools.Stop()) }()
	if err := b.PlayHosts(ctx); err != nil {
		return err
	}
	most := slices.MaxFunc(shapes, func(a, b shape) int { return a.machines() - b.machines() }).machines()
	hosts := most + most/10 + 1
	say("registering %d hosts", hosts)
	if err := site.InParallel(ctx, 0, hosts, func(ctx context.Context, n int) error {
		return b.AddHost(ctx, site.NewHost(town.Infra, fmt.Sprintf("server-%05d", n), nil))
	}); err != nil {
		return err
	}
	for n, s := range shapes {
		c := &crowd{crowdBench: b, shape: s, name: fmt.Sprintf("crowd-%d", n)}
		if err := inTurn(ctx, c.furnish, c.arrive, c.rest, c.restart, c.roll, c.leave); err != nil {
			return err
		}
	}
	c := &crowd{crowdBench: b, shape: shapes[1], name: "leaderless"}
	return inTurn(ctx, c.furnish, c.loseLeaders)
}

// crowdBench is a cluster with both managers, ip-address-manager and hosts. Cluster API is played: machines are
// made as it would.
type crowdBench struct {
	*run
	*town.Town

	managers measuredManagers
	// seen notes what happens to machines, and addresses what happens to IPClaims.
	seen, addresses *site.Timeline
	// requests are those of both managers for each machine of the first shape.
	requests float64
	// memoryTarget is the most that a manager should hold, in MiB.
	memoryTarget float64

	mu sync.Mutex
	// isReady holds the machines that are Ready, and leftReady counts how often one stopped being so.
	isReady   map[types.NamespacedName]bool
	leftReady int
}

func newCrowdBench(ctx context.Context, r *run, flags ...string) (_ *crowdBench, err error) {
	b := &crowdBench{run: r, seen: site.NewTimeline(), addresses: site.NewTimeline(), isReady: map[types.NamespacedName]bool{}, memoryTarget: memory}
	say("building and starting the managers")
	if b.Town, err = town.Open(ctx, r.server, r.folder, append(flags, r.managerArgs...)...); err != nil {
		return nil, err
	}
	b.managers = measuredManagers{
		{Manager: b.Provider, name: "provider manager", controller: "metal3machine"},
		{Manager: b.HostClaim, name: "hostclaim manager", controller: "hostclaim"},
	}
	return b, b.watch(ctx)
}

func (b *crowdBench) watch(ctx context.Context) error {
	var err error
	for _, list := range []client.ObjectList{
		&infrav1.Metal3MachineList{}, &bmov1alpha1.HostClaimList{},
		&infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{}, &ipamv1alpha1.IPClaimList{},
	} {
		err = errors.Join(err, b.Follow(ctx, list, b.see))
	}
	return err
}

// see notes what an object shows. All but IPClaims have the name of their machine, or name what has it.
func (b *crowdBench) see(object any, now time.Time) {
	switch o := object.(type) {
	case site.Gone:
		if m, ok := o.Object.(*infrav1.Metal3Machine); ok {
			b.seen.Note(gone, client.ObjectKeyFromObject(m), now)
		}
	case *infrav1.Metal3Machine:
		b.seeMachine(o, now)
	case *bmov1alpha1.HostClaim:
		if meta.IsStatusConditionTrue(o.Status.Conditions, bmov1alpha1.AssociatedCondition) {
			b.seen.Note(bound, client.ObjectKeyFromObject(o), now)
		}
	case *infrav1.Metal3DataClaim:
		b.seen.Note(dataAsked, client.ObjectKeyFromObject(o), now)
	case *infrav1.Metal3Data:
		key := types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Claim.Name}
		b.seen.Note(dataMade, key, now)
		if conditions.IsTrue(o, infrav1.ReadyCondition) {
			b.seen.Note(rendered, key, now)
		}
	case *ipamv1alpha1.IPClaim:
		b.addresses.Note(asked, client.ObjectKeyFromObject(o), now)
		if o.Status.Address != nil {
			b.addresses.Note(answered, client.ObjectKeyFromObject(o), now)
		}
	}
}

func (b *crowdBench) seeMachine(m *infrav1.Metal3Machine, now time.Time) {
	key, is := client.ObjectKeyFromObject(m), conditions.IsTrue(m, infrav1.ReadyCondition)
	b.mu.Lock()
	if b.isReady[key] && !is {
		b.leftReady++
	}
	b.isReady[key] = is
	b.mu.Unlock()
	if is {
		b.seen.Note(ready, key, now)
	}
	if c := conditions.Get(m, infrav1.HostClaimReadyCondition); c != nil && c.Message != "" {
		b.seen.Note(site.Mark(c.Message), key, now)
	}
}

// crowd is the machines of one shape, in a namespace for each cluster.
type crowd struct {
	*crowdBench
	shape

	// name starts that of each namespace.
	name string
	// generation is how often the machines were replaced.
	generation int
	// identity is the Secret with the way to the cluster of the claims; empty for this one.
	identity string
}

// furnish makes the namespaces with their Clusters and, for each Cluster, a template of data and a pool of addresses.
func (c *crowd) furnish(ctx context.Context) error {
	say("%s", c.shape)
	return site.InParallel(ctx, 0, c.clusters, func(ctx context.Context, n int) error {
		template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(n), Name: dataTemplate}}
		if err := yaml.UnmarshalStrict([]byte(nodes), &template.Spec); err != nil {
			return err
		}
		if err := c.Tenant(ctx, template.Namespace); err != nil || c.identity != "" {
			return err
		}
		return errors.Join(c.Create(ctx, template), c.Create(ctx, &ipamv1alpha1.IPPool{
			ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: dataTemplate},
			Spec: ipamv1alpha1.IPPoolSpec{
				ClusterName: ptr.To(town.ClusterName), NamePrefix: dataTemplate, Prefix: 16,
				Gateway: ptr.To(ipamv1alpha1.IPAddressStr("10.0.0.1")),
				Pools:   []ipamv1alpha1.Pool{{Start: ptr.To(ipamv1alpha1.IPAddressStr("10.0.1.0")), End: ptr.To(ipamv1alpha1.IPAddressStr("10.0.31.255"))}},
			},
		}))
	})
}

func (c *crowd) namespace(n int) string { return fmt.Sprintf("%s-%03d", c.name, n) }

// key is the n-th machine of a generation; those that follow each other are in different clusters.
func (c *crowd) key(n, generation int) types.NamespacedName {
	return types.NamespacedName{Namespace: c.namespace(n % c.clusters), Name: fmt.Sprintf("machine-%04d-%d", n/c.clusters, generation)}
}

func (c *crowd) keys() []types.NamespacedName {
	keys := make([]types.NamespacedName, c.machines())
	for n := range keys {
		keys[n] = c.key(n, c.generation)
	}
	return keys
}

// add makes the n-th machine of this generation.
func (c *crowd) add(ctx context.Context, n int) error {
	key := c.key(n, c.generation)
	c.seen.Note(created, key, time.Now())
	return c.Machine(ctx, key, func(m *infrav1.Metal3Machine) {
		if c.identity != "" {
			m.Spec.IdentityRef = &infrav1.IdentityReference{Name: c.identity}
		} else {
			m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: dataTemplate}
		}
	})
}

// remove deletes the n-th machine of a generation as Cluster API does: its Machine goes when the
// Metal3Machine is gone.
func (c *crowd) remove(ctx context.Context, n, generation int) error {
	key := c.key(n, generation)
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
	if err := c.Delete(ctx, &infrav1.Metal3Machine{ObjectMeta: meta}); err != nil {
		return err
	}
	if _, err := c.seen.Await(ctx, gone, key); err != nil {
		return err
	}
	return c.Delete(ctx, &clusterv1.Machine{ObjectMeta: meta})
}

// replace removes the n-th machine of the generation before, and waits for the one that takes its place.
func (c *crowd) replace(ctx context.Context, n int) error {
	if err := c.remove(ctx, n, c.generation-1); err != nil {
		return err
	}
	if err := c.add(ctx, n); err != nil {
		return err
	}
	_, err := c.seen.Await(ctx, ready, c.key(n, c.generation))
	return err
}

// arrive lets all machines come at once.
func (c *crowd) arrive(ctx context.Context) error {
	before := c.addresses.Objects(answered)
	sent, err := c.part(ctx, "until all are Ready", requestsToRun, c.come)
	if err != nil {
		return err
	}
	if c.requests == 0 {
		c.requests = sent
	}
	c.figures.Add("  requests of all managers, compared with the smallest cluster", sent/c.requests, "times", growth)
	keys, add := c.keys(), func(name string, took []time.Duration) { c.figures.AddTimes("  "+name, took, time.Second) }
	add("created until bound", c.seen.Between(created, bound, keys))
	add("created until Ready", c.seen.Between(created, ready, keys))
	if c.identity != "" {
		return nil
	}
	add("Metal3DataClaim until its Metal3Data", c.seen.Between(dataAsked, dataMade, keys))
	add("Metal3Data until it is ready", c.seen.Between(dataMade, rendered, keys))
	claims := slices.DeleteFunc(c.addresses.Objects(answered), func(key types.NamespacedName) bool { return slices.Contains(before, key) })
	add("ip-address-manager: claim on a pool until its address", c.addresses.Between(asked, answered, claims))
	return nil
}

func (c *crowd) come(ctx context.Context) error {
	if err := site.InParallel(ctx, 0, c.machines(), c.add); err != nil {
		return err
	}
	_, err := c.seen.Await(ctx, ready, c.keys()...)
	var never *site.NeverError
	m := &infrav1.Metal3Machine{}
	if errors.As(err, &never) && c.Get(context.WithoutCancel(ctx), never.Object, m) == nil {
		err = fmt.Errorf("%w: %v", err, m.Status.Conditions)
	}
	return err
}

// roll replaces each machine, as many at a time as are created at a time.
func (c *crowd) roll(ctx context.Context) error {
	c.generation++
	_, err := c.part(ctx, "until each is replaced", requestsToRun+requestsToDelete, func(ctx context.Context) error {
		return site.InParallel(ctx, 0, c.machines(), c.replace)
	})
	return err
}

// leave lets all machines go at once.
func (c *crowd) leave(ctx context.Context) error {
	_, err := c.part(ctx, "until all are gone", requestsToDelete, func(ctx context.Context) error {
		all, ctx := errgroup.WithContext(ctx)
		for n := range c.machines() {
			all.Go(func() error { return c.remove(ctx, n, c.generation) })
		}
		return all.Wait()
	})
	return err
}

// part measures what the managers do from when something begins until they are quiet, and returns the requests of
// all of them for each machine.
func (c *crowd) part(ctx context.Context, name string, target float64, do func(context.Context) error) (sent float64, err error) {
	say("%s, %s", c.shape, name)
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	each := float64(c.machines())
	before := make([]site.Waits, len(c.managers))
	for i, m := range c.managers {
		if before[i], err = m.Waits(ctx, m.controller); err != nil {
			return 0, err
		}
	}
	var took time.Duration
	begun := time.Now()
	spent, err := c.costOf(ctx, c.Site, c.machines(), func(ctx context.Context) error {
		defer func() { took = time.Since(begun) }()
		return do(ctx)
	}, c.managers.processes()...)
	if err != nil {
		return 0, err
	}
	for _, work := range spent.work {
		sent += work.Sent / each
	}
	c.figures.Add(fmt.Sprintf("%s, %s", c.shape, name), took.Seconds(), "s")
	c.figures.Add("  requests of all managers for each of them", sent, "", target)
	for i, m := range c.managers {
		work := spent.work[i]
		c.figures.Add("  "+m.name+", requests for each of them", work.Sent/each, "")
		c.figures.Add("    passes", (work.PassesOf()-work.PassesOf(polled))/each, "")
		c.addCPU("    processor time", work, c.machines())
		waits, err := m.Waits(ctx, m.controller)
		if err != nil {
			return 0, err
		}
		// The buckets are wide: no wait is longer than it was measured.
		c.figures.Add("    wait in the queue of "+m.controller+", p99", min(waits.Since(before[i]).Quantile(0.99), time.Since(begun)).Seconds(), "s")
	}
	c.figures.AddRequests("answered to them and to all others, for each of them", spent.requests, spent.sum)
	return sent, nil
}

// rest watches the managers while nothing happens.
func (c *crowd) rest(ctx context.Context) error {
	done, err := c.run.rest(ctx, c.managers.processes()...)
	if err != nil {
		return err
	}
	for i, m := range c.managers {
		delete(done[i].Passes, polled)
		c.figures.Add(fmt.Sprintf("%s, %s, passes in %s of rest", c.shape, m.name, c.idle), done[i].PassesOf(), "", 0)
		c.figures.AddPasses(done[i], 1, "")
		c.figures.Add("  processor", 1000*done[i].CPU.Seconds()/c.idle.Seconds(), "millicores", millicores)
		if err := c.addMemory(m.Manager, "  memory", c.memoryTarget); err != nil {
			return err
		}
	}
	return nil
}

// restart starts each manager anew, with everything in place.
func (c *crowd) restart(ctx context.Context) error {
	for _, m := range c.managers {
		say("the %s starts anew", m.name)
		before, err := c.Requests(ctx)
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := errors.Join(m.Restart(ctx), c.Quiet(ctx, c.quiet)); err != nil {
			return err
		}
		took := time.Since(begun) - c.quiet
		requests, _, err := c.RequestsSince(ctx, before, 1)
		if err != nil {
			return err
		}
		writes := 0.0
		for request, count := range requests {
			if !strings.HasPrefix(request, "GET ") && !strings.HasPrefix(request, "LIST ") {
				writes += count
			}
		}
		c.figures.Add(fmt.Sprintf("%s, the %s starts anew, until it is settled", c.shape, m.name), took.Seconds(), "s", settled)
		c.figures.Add("  writes", writes, "", writesOfRestart)
		if err := c.addMemory(m.Manager, "  memory", c.memoryTarget); err != nil {
			return err
		}
	}
	return nil
}

// loseLeaders lets both managers die when half of the machines that come at once are bound. Others
// take over when the leases of the dead ones are over.
func (c *crowd) loseLeaders(ctx context.Context) error {
	say("%s, and both leaders die", c.shape)
	waiting, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	begun := time.Now()
	all, waiting := errgroup.WithContext(waiting)
	all.Go(func() error { return c.come(waiting) })
	all.Go(func() error {
		if _, err := c.seen.Await(waiting, bound, c.keys()[:c.machines()/2]...); err != nil {
			return err
		}
		if err := errors.Join(c.Provider.Kill(), c.HostClaim.Kill()); err != nil {
			return err
		}
		return inTurn(waiting, c.Provider.Replace, c.HostClaim.Replace)
	})
	if err := all.Wait(); err != nil {
		return err
	}
	c.figures.Add(fmt.Sprintf("%s, until all are Ready although both leaders die", c.shape), time.Since(begun).Seconds(), "s")
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := c.List(ctx, hosts, client.InNamespace(town.Infra)); err != nil {
		return err
	}
	used := slices.DeleteFunc(hosts.Items, func(h bmov1alpha1.BareMetalHost) bool { return h.Spec.ConsumerRef == nil })
	c.figures.Add("  hosts taken that no machine has", float64(len(used)-c.machines()), "", 0)
	return nil
}
