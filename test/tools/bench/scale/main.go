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

// Command scale measures what many machines cost: in many small clusters and in one large one, all
// at once, while nothing happens, when a manager starts anew, when each machine is replaced, when
// the leaders of both managers die in the middle of it, and when all go.
//
// Both managers, ip-address-manager and the API server are real, the hosts are played by
// hostsim in this process. Cluster API is played: machines are made as it would.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

func main() { benchmark().Main() }

func benchmark() program.Benchmark {
	return program.Benchmark{
		Name: "scale", Measure: measure,
		Paces: map[string]program.Pace{
			"full":   {Idle: time.Minute, Quiet: 4 * time.Second, Patience: 20 * time.Minute},
			"medium": {Idle: 20 * time.Second, Quiet: 4 * time.Second, Patience: 10 * time.Minute},
			"small":  {Idle: time.Second, Quiet: time.Second, Patience: 2 * time.Minute},
		},
	}
}

// shape is how many clusters there are, and how many machines each of them has.
type shape struct{ clusters, each int }

func (s shape) machines() int { return s.clusters * s.each }

func (s shape) String() string {
	if s.clusters == 1 {
		return fmt.Sprintf("%d machines in one cluster", s.each)
	}
	return fmt.Sprintf("%d machines in %d clusters", s.machines(), s.clusters)
}

// shapes are measured one after the other, the smallest first: the others are compared with it.
var shapes = map[string][]shape{
	"full":   {{1, 25}, {100, 10}, {1, 1000}},
	"medium": {{1, 25}, {20, 10}, {1, 200}},
	"small":  {{1, 2}, {2, 2}},
}

// Targets of the figures.
const (
	requestsToRun    = 45
	requestsToDelete = 25
	growth           = 1.1
	memory           = 150 // MiB
	millicores       = 20
	settled          = 30 // seconds
	writesOfRestart  = 50
)

// bench is one run.
type bench struct {
	*program.Run
	*town.Town

	// seen notes what happens to machines.
	seen *site.Timeline
	// requests are those of both managers for each machine of the first shape.
	requests float64
}

func measure(ctx context.Context, run *program.Run) (err error) {
	b := &bench{Run: run, seen: site.NewTimeline()}
	program.Say("building and starting the managers")
	flags := append([]string{"--leader-elect", "--leader-election-namespace=" + town.Infra}, run.ManagerArgs...)
	if b.Town, err = town.Open(ctx, run.Server, run.Folder, flags...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	pools, err := run.StartPools(ctx, b.Site, "--kube-api-qps=200", "--kube-api-burst=400")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pools.Stop()) }()
	if err := errors.Join(b.watch(ctx), b.PlayHosts(ctx)); err != nil {
		return err
	}
	return b.measureAll(ctx)
}

func (b *bench) measureAll(ctx context.Context) error {
	all := shapes[b.Size]
	most := 0
	for _, s := range all {
		most = max(most, s.machines())
	}
	if err := b.addHosts(ctx, most+most/10+1); err != nil {
		return err
	}
	for n, s := range all {
		c := &crowd{bench: b, shape: s, name: fmt.Sprintf("crowd-%d", n)}
		if err := program.InTurn(ctx, c.furnish, c.arrive, c.rest, c.restart, c.roll, c.leave); err != nil {
			return err
		}
	}
	c := &crowd{bench: b, shape: all[1], name: "leaderless"}
	return program.InTurn(ctx, c.furnish, c.loseLeaders)
}
