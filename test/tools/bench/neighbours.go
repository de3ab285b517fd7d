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
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/hostile"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// neighborPlan is how much of everything is measured.
type neighborPlan struct {
	// machines of the honest tenant are made one after the other beside each neighbor,
	// and crowd of them together at the end.
	machines, crowd int
	// contexts is how many the slow tenant has, and remote how many machines for each
	// of them; the lying one has ten times as many for its only context.
	contexts, remote int
	// claims are hoarded, and secrets look like copies. streams are the workload clusters of
	// the streaming one.
	claims, secrets, streams int
}

// neighborPlans are the amounts of each size.
var neighborPlans = map[string]neighborPlan{
	"full":   {machines: 200, crowd: 1000, contexts: 12, remote: 15, claims: 5000, secrets: 50, streams: 8},
	"medium": {machines: 50, crowd: 1000, contexts: 12, remote: 15, claims: 1000, secrets: 50, streams: 8},
	"small":  {machines: 3, crowd: 5, contexts: 2, remote: 2, claims: 30, secrets: 5, streams: 2},
}

const (
	honest = "honest"
	// memoryLimit is that of both managers in their manifests, in MiB.
	memoryLimit = 1024
)

// neighborBench is one run.
type neighborBench struct {
	neighborPlan
	*run
	*town.Town

	// served is how many machines of the honest tenant have their hosts.
	served int
}

// measureNeighbors measures how long the machines of an honest tenant wait for their hosts beside hostile tenants: a
// slow, a flooding, a hoarding, a lying and a streaming one. Their API servers are played in this process.
func measureNeighbors(ctx context.Context, r *run) (err error) {
	b := &neighborBench{neighborPlan: neighborPlans[r.size], run: r}
	say("building and starting the managers")
	if b.Town, err = town.Open(ctx, r.server, r.folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Tenant(ctx, honest); err != nil {
		return err
	}
	return inTurn(ctx, b.first,
		b.beside("slow", b.slow), b.beside("flooding", b.flooding), b.beside("hoarding", b.hoarding), b.beside("lying", b.lying),
		b.beside("streaming", b.streaming),
		b.crowded)
}

// first serves the machine that opens the watches on the namespace of the tenant. It is
// not counted.
func (b *neighborBench) first(ctx context.Context) error {
	b.served++
	_, err := b.serveMachine(ctx, 0)
	return err
}

// neighbor makes the objects of a hostile tenant, waits until they keep the managers
// busy, and returns what ends its API server.
type neighbor func(ctx context.Context, tenant string) (leave func(), err error)

// beside measures the honest tenant alone, then beside one hostile tenant, which goes in
// the end. The two follow each other, since the machine may be busy with something else
// that comes and goes.
func (b *neighborBench) beside(name string, arrive neighbor) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, b.patience)
		defer cancel()
		alone, err := b.serve(ctx, "before a "+name+" tenant came")
		if err != nil {
			return err
		}
		say("a %s tenant arrives", name)
		if err := errors.Join(b.Tenant(ctx, name), b.Provider.ForgetPeak(), b.HostClaim.ForgetPeak()); err != nil {
			return err
		}
		leave, err := arrive(ctx, name)
		defer leave()
		if err != nil {
			return err
		}
		begun := time.Now()
		before, err := b.Provider.Work(ctx)
		if err != nil {
			return err
		}
		p99, err := b.serve(ctx, "beside a "+name+" tenant")
		if err != nil {
			return err
		}
		after, err := b.Provider.Work(ctx)
		if err != nil {
			return err
		}
		b.figures.Add("  processors that the provider manager took", after.Since(before).CPU.Seconds()/time.Since(begun).Seconds(), "")
		b.figures.Add("  p99 over that of the tenant alone", p99/alone, "times", 1.5)
		if err := b.memory(""); err != nil {
			return err
		}
		return errors.Join(b.Evict(ctx, name), b.Quiet(ctx, b.quiet))
	}
}

// serve makes machines of the honest tenant one after the other, notes how long they
// wait for their hosts, and returns the 99th percentile in milliseconds.
func (b *neighborBench) serve(ctx context.Context, beside string) (float64, error) {
	var status, bound []time.Duration
	for range b.machines {
		waited, err := b.serveMachine(ctx, b.served)
		if err != nil {
			return 0, err
		}
		b.served++
		status, bound = append(status, waited.Status), append(bound, waited.Bound)
	}
	b.figures.AddTimes("created until first status, "+beside, status, time.Millisecond)
	b.figures.AddTimes("created until bound, "+beside, bound, time.Millisecond)
	return b.figures.Figures[len(b.figures.Figures)-1].Value, nil
}

func (b *neighborBench) serveMachine(ctx context.Context, n int) (town.Waited, error) {
	return b.Serve(ctx, types.NamespacedName{Namespace: honest, Name: fmt.Sprintf("machine-%05d", n)})
}

// crowded lets many machines of the honest tenant come at once.
func (b *neighborBench) crowded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	say("%d machines of the honest tenant arrive", b.crowd)
	if err := errors.Join(b.Provider.ForgetPeak(), b.HostClaim.ForgetPeak()); err != nil {
		return err
	}
	if err := site.InParallel(ctx, b.served, b.served+b.crowd, func(ctx context.Context, n int) error {
		_, err := b.serveMachine(ctx, n)
		return err
	}); err != nil {
		return err
	}
	b.served += b.crowd
	return b.memory(fmt.Sprintf(", %d honest machines", b.served))
}

// memory notes the most that the managers have held since their peaks were forgotten.
func (b *neighborBench) memory(with string) error {
	_, provider, err := b.Provider.Memory()
	_, hostClaim, other := b.HostClaim.Memory()
	b.figures.Add("  memory of the provider manager, at most"+with, provider, "MiB", memoryLimit)
	b.figures.Add("  memory of the hostclaim manager, at most"+with, hostClaim, "MiB", memoryLimit)
	return errors.Join(err, other)
}

// slow has an API server that takes almost as long as a request may, for more machines
// than the provider manager works on at a time.
func (b *neighborBench) slow(ctx context.Context, tenant string) (func(), error) {
	var contexts []string
	for n := range b.contexts {
		contexts = append(contexts, fmt.Sprintf("hosts-%d", n))
	}
	server, err := b.HostileServer(ctx, tenant, hostile.Behavior{Delay: 4900 * time.Millisecond}, "hosts", contexts...)
	for _, name := range contexts {
		_, made := b.RemoteMachines(ctx, tenant, "hosts", name, b.remote)
		err = errors.Join(err, made)
	}
	return server.Close, errors.Join(err, until(ctx, func() bool { return server.Held() > 0 }))
}

// flooding has an API server whose watches add claims without end.
func (b *neighborBench) flooding(ctx context.Context, tenant string) (func(), error) {
	server, err := b.HostileServer(ctx, tenant, hostile.Behavior{Flood: 1000}, "hosts", "hosts")
	_, made := b.RemoteMachines(ctx, tenant, "hosts", "hosts", b.remote)
	return server.Close, errors.Join(err, made, until(ctx, func() bool { return server.Added() > 1000 }))
}

// streaming has workload clusters and a cluster with hosts that send valid events without end.
func (b *neighborBench) streaming(ctx context.Context, tenant string) (func(), error) {
	endless := hostile.Behavior{Stream: true}
	servers, err := b.WorkloadClusters(ctx, tenant, endless, b.streams)
	hosts, other := b.HostileServer(ctx, tenant, endless, "hosts", "hosts")
	servers = append(servers, hosts)
	_, made := b.RemoteMachines(ctx, tenant, "hosts", "hosts", b.remote)
	leave := func() {
		for _, server := range servers {
			server.Close()
		}
	}
	if err := errors.Join(err, other, made); err != nil {
		return leave, err
	}
	return leave, until(ctx, func() bool {
		slowed, err := b.Provider.Slowed(ctx)
		return err == nil && slices.Contains(slowed, tenant)
	})
}

// hoarding has claims that no host suits.
func (b *neighborBench) hoarding(ctx context.Context, tenant string) (func(), error) {
	return func() {}, b.WaitingClaims(ctx, tenant, b.claims)
}

// lying has an API server that refuses each write as a conflict, and Secrets that look
// like copies of the hostclaim manager's.
func (b *neighborBench) lying(ctx context.Context, tenant string) (func(), error) {
	server, err := b.HostileServer(ctx, tenant, hostile.Behavior{}, "hosts", "hosts")
	_, made := b.RemoteMachines(ctx, tenant, "hosts", "hosts", 10*b.remote)
	return server.Close, errors.Join(err, made, b.LikeCopies(ctx, tenant, b.secrets),
		until(ctx, func() bool { return server.Requests() > int64(b.remote) }))
}

// until waits until a count that nothing announces has come so far.
func until(ctx context.Context, reached func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
