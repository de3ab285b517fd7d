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
	"os"
	"slices"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/bench/report"
	"github.com/metal3-io/cluster-api-provider-metal3/test/bench/site"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// bench is one run.
type bench struct {
	plan
	program string
	args    []string
	report  *report.Report
	err     error

	site    *site.Site
	manager *site.Manager
	folder  string
	// hosts is how many there are, bound how many of them have a claim.
	hosts, bound int
}

func (b *bench) run(ctx context.Context, server *harness.Server) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if b.folder, err = os.MkdirTemp("", "bench-bind-"); err != nil {
		return err
	}
	if b.program == "" {
		if b.program, err = site.BuildManager(ctx, b.folder); err != nil {
			return err
		}
	}
	if b.site, err = site.Open(ctx, server); err != nil {
		return err
	}
	if err := b.startManager(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.manager.Stop()) }()
	if err := b.measureAll(ctx); err != nil {
		return fmt.Errorf("%w (log of the manager: %s)", err, b.folder)
	}
	return os.RemoveAll(b.folder)
}

func (b *bench) startManager(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	started, err := b.site.StartManager(ctx, b.program, b.folder, b.args...)
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
			if err := inTurn(ctx, b.crowd, b.idleness); err != nil {
				return err
			}
		}
		median, err := b.oneByOne(ctx, size)
		if err != nil {
			return err
		}
		cost = append(cost, median)
	}
	b.report.Expect(fmt.Sprintf("cost of a bind, worst pool over best, %d to %d hosts", b.pools[0], b.pools[last]),
		slices.Max(cost)/slices.Min(cost), "times", 1.5)
	return inTurn(ctx, b.lateOneByOne, b.lateTogether, b.memory)
}

func inTurn(ctx context.Context, parts ...func(context.Context) error) error {
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// grow adds hosts until there are so many, and waits until everybody knows them.
func (b *bench) grow(ctx context.Context, size int) error {
	begun := time.Now()
	if err := b.site.AddHosts(ctx, b.hosts, size); err != nil {
		return err
	}
	b.say("%d hosts made in %s", max(size-b.hosts, 0), time.Since(begun).Round(time.Millisecond))
	b.hosts = max(size, b.hosts)
	return b.site.Quiet(ctx, b.quiet)
}

// say tells whoever waits how far it is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// requests returns what has been asked for since a count, per bind.
func (b *bench) requests(ctx context.Context, before map[string]float64, binds int) (map[string]float64, float64, error) {
	after, err := b.site.Requests(ctx)
	each, sum := map[string]float64{}, 0.0
	for name, count := range after {
		if made := (count - before[name]) / float64(binds); made > 0 {
			each[name] = made
			sum += made
		}
	}
	return each, sum, err
}
