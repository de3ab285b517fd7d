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
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/bind/room"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// bench is one run.
type bench struct {
	plan
	*program.Run

	program site.Program
	site    *room.Room
	manager *site.Manager
	// hosts is how many there are, bound how many of them have a claim.
	hosts, bound int
}

func measure(ctx context.Context, run *program.Run) (err error) {
	b := &bench{plan: plans[run.Size], Run: run}
	b.idle = cmp.Or(run.Idle, b.idle)
	b.program = site.Program{
		Name: "hostclaim-manager", Path: run.Manager, User: harness.HostClaimAccount().User(),
		Args: append([]string{"--webhook-port=0"}, run.ManagerArgs...),
	}
	if run.Manager == "" {
		if b.program.Path, err = site.Build(ctx, run.Folder, b.program.Name, "./cmd/hostclaim-manager"); err != nil {
			return err
		}
	}
	if b.site, err = room.Open(ctx, run.Server); err != nil {
		return err
	}
	if err := b.startManager(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.manager.Stop()) }()
	return b.measureAll(ctx)
}

func (b *bench) startManager(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	started, err := b.site.StartManager(ctx, b.program, b.Folder)
	if err == nil {
		b.manager = started
	}
	return err
}

// measureAll does everything once, in an order that lets the pool only grow: the
// crowd comes before its last size, and what depends on the size most comes last.
func (b *bench) measureAll(ctx context.Context) error {
	var cost []float64
	last := len(b.pools) - 1
	for i, size := range b.pools {
		if i == last {
			if err := program.InTurn(ctx, b.crowd, b.idleness); err != nil {
				return err
			}
		}
		median, err := b.oneByOne(ctx, size)
		if err != nil {
			return err
		}
		cost = append(cost, median)
	}
	b.Figures.Expect(fmt.Sprintf("cost of a bind, worst pool over best, %d to %d hosts", b.pools[0], b.pools[last]),
		slices.Max(cost)/slices.Min(cost), "times", 1.5)
	return program.InTurn(ctx, b.lateOneByOne, b.lateTogether, b.memory)
}

// grow adds hosts until there are so many, and waits until everybody knows them.
func (b *bench) grow(ctx context.Context, size int) error {
	begun := time.Now()
	if err := b.site.AddHosts(ctx, b.hosts, size); err != nil {
		return err
	}
	program.Say("%d hosts made in %s", max(size-b.hosts, 0), time.Since(begun).Round(time.Millisecond))
	b.hosts = max(size, b.hosts)
	return b.site.Quiet(ctx, b.quiet)
}
