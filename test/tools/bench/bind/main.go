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

// Command bind measures how the hostclaim manager binds hosts to claims: many at
// once, one that becomes free under waiting claims, one by one in pools of several
// sizes, and what the manager costs while nothing happens.
//
//	go run ./tools/bench/bind --size=full --json=bind.json
//
// The API server is real, the manager is a process of its own, the hosts are
// played by hostsim in this process. docs/benchmarks.md says what the figures mean.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

func main() { benchmark().Main() }

func benchmark() program.Benchmark {
	return program.Benchmark{
		Name: "bind", Package: "./cmd/hostclaim-manager", Measure: measure,
		Paces: map[string]program.Pace{
			"full":   {Idle: 10 * time.Minute, Quiet: time.Second, Patience: 10 * time.Minute},
			"medium": {Idle: 10 * time.Second, Quiet: time.Second, Patience: 10 * time.Minute},
			"small":  {Idle: time.Second, Quiet: 200 * time.Millisecond, Patience: time.Minute},
		},
	}
}

// plan says how much of everything is measured.
type plan struct {
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

// plans are the amounts of each size.
var plans = map[string]plan{
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

// bench is one run.
type bench struct {
	plan
	*program.Run
	*room

	manager *site.Manager
	// hosts is how many there are, bound how many of them have a claim.
	hosts, bound int
}

func measure(ctx context.Context, run *program.Run) error {
	return started(ctx, run, func(ctx context.Context, b *bench) error { return b.measureAll(ctx) })
}

// started calls a function with a cluster without hosts in which the manager is at work.
// Everything in it ends with the function.
func started(ctx context.Context, run *program.Run, do func(context.Context, *bench) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{plan: plans[run.Size], Run: run}
	if b.room, err = open(ctx, run.Server); err != nil {
		return err
	}
	if err := b.startManager(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.manager.Stop()) }()
	return do(ctx, b)
}

func (b *bench) startManager(ctx context.Context) error {
	started, err := b.StartManager(ctx, b.Site, harness.HostClaimAccount())
	if err == nil {
		b.manager = started
	}
	return err
}

// measureAll does everything once, in an order that lets the pool only grow: the
// crowd comes before its last size, and what depends on the size most comes last.
func (b *bench) measureAll(ctx context.Context) error {
	last := len(b.pools) - 1
	for _, size := range b.pools[:last] {
		if err := b.oneByOne(ctx, size); err != nil {
			return err
		}
	}
	if err := program.InTurn(ctx, b.crowd, b.idleness); err != nil {
		return err
	}
	if err := b.oneByOne(ctx, b.pools[last]); err != nil {
		return err
	}
	return program.InTurn(ctx, b.lateOneByOne, b.lateTogether, b.memory)
}

// grow adds hosts until there are so many, and waits until all clients know them.
func (b *bench) grow(ctx context.Context, size int) error {
	begun := time.Now()
	if err := b.addHosts(ctx, b.hosts, size); err != nil {
		return err
	}
	program.Say("%d hosts made in %s", max(size-b.hosts, 0), time.Since(begun).Round(time.Millisecond))
	b.hosts = max(size, b.hosts)
	return b.Site.Quiet(ctx, b.Pace.Quiet)
}
