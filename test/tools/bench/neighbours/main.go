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

// Command neighbours measures how long the machines of an honest tenant wait for their
// hosts beside hostile tenants: a slow, a flooding, a hoarding, a lying and a streaming one.
//
// The API server and both managers are real, and the managers are processes of their
// own. The API servers of the hostile tenants are played in this process.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

func main() { benchmark().Main() }

func benchmark() program.Benchmark {
	return program.Benchmark{
		Name: "neighbours", Measure: measure,
		Paces: map[string]program.Pace{
			"full":   {Quiet: time.Second, Patience: 10 * time.Minute},
			"medium": {Quiet: time.Second, Patience: 5 * time.Minute},
			"small":  {Quiet: 100 * time.Millisecond, Patience: time.Minute},
		},
	}
}

// plan says how much of everything is measured.
type plan struct {
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

// plans are the amounts of each size.
var plans = map[string]plan{
	"full":   {machines: 200, crowd: 1000, contexts: 12, remote: 15, claims: 5000, secrets: 50, streams: 8},
	"medium": {machines: 50, crowd: 1000, contexts: 12, remote: 15, claims: 1000, secrets: 50, streams: 8},
	"small":  {machines: 3, crowd: 5, contexts: 2, remote: 2, claims: 30, secrets: 5, streams: 2},
}

const (
	honest = "honest"
	// memoryLimit is that of both managers in their manifests, in MiB.
	memoryLimit = 1024
)

// bench is one run.
type bench struct {
	plan
	*program.Run
	*town.Town

	// served is how many machines of the honest tenant have their hosts.
	served int
}

func measure(ctx context.Context, run *program.Run) (err error) {
	b := &bench{plan: plans[run.Size], Run: run}
	program.Say("building and starting the managers")
	if b.Town, err = town.Open(ctx, run.Server, run.Folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Tenant(ctx, honest); err != nil {
		return err
	}
	return program.InTurn(ctx, b.first,
		b.beside("slow", b.slow), b.beside("flooding", b.flooding), b.beside("hoarding", b.hoarding), b.beside("lying", b.lying),
		b.beside("streaming", b.streaming),
		b.crowded)
}

// first serves the machine that opens the watches on the namespace of the tenant. It is
// not counted.
func (b *bench) first(ctx context.Context) error {
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
func (b *bench) beside(name string, arrive neighbor) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, b.Patience)
		defer cancel()
		alone, err := b.serve(ctx, "before a "+name+" tenant came")
		if err != nil {
			return err
		}
		program.Say("a %s tenant arrives", name)
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
		b.Figures.Add("  processors that the provider manager took", after.Since(before).CPU.Seconds()/time.Since(begun).Seconds(), "")
		b.Figures.Add("  p99 over that of the tenant alone", p99/alone, "times", 1.5)
		if err := b.memory(""); err != nil {
			return err
		}
		return errors.Join(b.Evict(ctx, name), b.Town.Quiet(ctx, b.Run.Quiet))
	}
}

// serve makes machines of the honest tenant one after the other, notes how long they
// wait for their hosts, and returns the 99th percentile in milliseconds.
func (b *bench) serve(ctx context.Context, beside string) (float64, error) {
	var status, bound []time.Duration
	for range b.machines {
		waited, err := b.serveMachine(ctx, b.served)
		if err != nil {
			return 0, err
		}
		b.served++
		status, bound = append(status, waited.Status), append(bound, waited.Bound)
	}
	b.Figures.AddTimes("created until first status, "+beside, status, time.Millisecond)
	b.Figures.AddTimes("created until bound, "+beside, bound, time.Millisecond)
	return b.Figures.Figures[len(b.Figures.Figures)-1].Value, nil
}

func (b *bench) serveMachine(ctx context.Context, n int) (town.Waited, error) {
	return b.Serve(ctx, types.NamespacedName{Namespace: honest, Name: fmt.Sprintf("machine-%05d", n)})
}

// crowded lets many machines of the honest tenant come at once.
func (b *bench) crowded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	program.Say("%d machines of the honest tenant arrive", b.crowd)
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
func (b *bench) memory(with string) error {
	_, provider, err := b.Provider.Memory()
	_, hostClaim, other := b.HostClaim.Memory()
	b.Figures.Add("  memory of the provider manager, at most"+with, provider, "MiB", memoryLimit)
	b.Figures.Add("  memory of the hostclaim manager, at most"+with, hostClaim, "MiB", memoryLimit)
	return errors.Join(err, other)
}
