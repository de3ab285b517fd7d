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

// Command remote measures machines whose hosts are in another cluster: many
// identities with a few machines each.
//
// There are two API servers: one with machines and the provider manager, and one
// with claims, where every identity has a namespace and credentials of hack/tenant.
// The hostclaim manager is played, so that what is measured is the provider manager
// and its connections.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

func main() { benchmark().Main() }

func benchmark() program.Benchmark {
	return program.Benchmark{
		Name: "remote", Package: ".", Measure: measure,
		Paces: map[string]program.Pace{
			"full":   {Idle: time.Minute, Quiet: 2 * time.Second, Patience: 10 * time.Minute},
			"medium": {Idle: 10 * time.Second, Quiet: time.Second, Patience: 5 * time.Minute},
			"small":  {Idle: time.Second, Quiet: 300 * time.Millisecond, Patience: 2 * time.Minute},
		},
	}
}

// plan says how much of everything is measured.
type plan struct {
	// identities is how many there are, each how many machines every one has.
	identities, each int
	// changes is how many claims are changed one after the other.
	changes int
}

// plans are the amounts of each size.
var plans = map[string]plan{
	"full":   {identities: 100, each: 10, changes: 300},
	"medium": {identities: 25, each: 10, changes: 100},
	"small":  {identities: 4, each: 3, changes: 5},
}

func (p plan) machines() int { return p.identities * p.each }

// key is the n-th machine; those of one identity do not follow one another.
func (p plan) key(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace(n % p.identities), Name: fmt.Sprintf("machine-%03d", n/p.identities)}
}

// namespace is that of an identity, of the same name in both clusters.
func namespace(identity int) string {
	return fmt.Sprintf("bench-%03d", identity)
}

// with says of how much a figure is.
func (p plan) with() string {
	return fmt.Sprintf("%d identities with %d machines each", p.identities, p.each)
}

// bench is one run.
type bench struct {
	plan
	*program.Run

	// tenants is the cluster with the machines, hosts the one with the claims.
	tenants, hosts *site.Site
	manager        *site.Manager
	player         *player
	// others are the watches of other clients in the cluster with the claims, by resource.
	others map[string]float64
	*watcher
}

// machineController is the name of the controller of Metal3Machines.
const machineController = "metal3machine"

// watched are the resources that a connection may watch.
var watched = [...]string{"hostclaims", "hardwaredata", "secrets"}

// measure starts the second API server for as long as it works.
func measure(ctx context.Context, run *program.Run) error {
	err := errors.New("there was no second API server to measure on")
	var server harness.Server
	server.Run(program.Task(func() error {
		err = measureOn(ctx, run, &server)
		return err
	}))
	return err
}

func measureOn(ctx context.Context, run *program.Run, server *harness.Server) (err error) {
	// Watches would hold up the end of the server.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{plan: plans[run.Size], Run: run, watcher: newWatcher()}
	counting := site.Counting{Resources: []string{"metal3machines", "hostclaims", "hardwaredata", "secrets"}}
	if b.tenants, err = site.Open(run.Server, counting); err != nil {
		return err
	}
	if b.hosts, err = site.Open(server, counting); err != nil {
		return err
	}
	b.player = newPlayer(b.hosts)
	if err := errors.Join(b.player.start(ctx), b.watch(ctx, b.tenants), b.startManager(ctx)); err != nil {
		return err
	}
	if b.others, err = b.watches(ctx); err != nil {
		return errors.Join(err, b.manager.Stop())
	}
	err = program.InTurn(ctx, b.begin, b.connections, b.oneAtATime, b.allAtOnce, b.rotation, b.idleness, b.memory)
	return errors.Join(err, b.manager.Stop())
}

// startManager runs the provider manager. The clusters of the benchmark are on loopback.
func (b *bench) startManager(ctx context.Context) (err error) {
	if err := b.Server.InstallRoles(ctx, harness.ProviderAccount()); err != nil {
		return err
	}
	b.manager, err = b.StartManager(ctx, b.tenants, harness.ProviderAccount(), "--identity-denied-addresses=", "--workload-denied-addresses=")
	return err
}

// quietAll returns when both API servers have nothing to do.
func (b *bench) quietAll(ctx context.Context) error {
	return errors.Join(b.tenants.Quiet(ctx, b.Quiet), b.hosts.Quiet(ctx, b.Quiet))
}

// connections counts what the manager keeps open, while all machines are Ready.
func (b *bench) connections(ctx context.Context) error {
	connected, err := b.manager.Connections(ctx)
	if err != nil {
		return err
	}
	number := float64(b.identities)
	b.Figures.Add("connections for each identity", connected/number, "", 1)
	open, err := b.watches(ctx)
	for _, resource := range watched {
		b.Figures.Add("  watches on "+resource+" there for each identity", (open[resource]-b.others[resource])/number, "", 1)
	}
	return err
}

// watches counts those in the cluster with the claims.
func (b *bench) watches(ctx context.Context) (map[string]float64, error) {
	open := map[string]float64{}
	for _, resource := range watched {
		var err error
		if open[resource], err = b.hosts.Watches(ctx, resource); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// idleness watches the machine controller while nothing happens. Cluster API's own
// cache of workload clusters, of which there are none here, goes on looking for them.
func (b *bench) idleness(ctx context.Context) error {
	if err := b.quietAll(ctx); err != nil {
		return err
	}
	return b.WatchIdle(ctx, b.manager, fmt.Sprintf("passes of %s in %s", machineController, b.Idle), machineController)
}

// memory looks at the manager as it is.
func (b *bench) memory(context.Context) error {
	return b.AddMemory(b.manager, "memory of the manager, "+b.with(), "  at most until then", 400, 400)
}
