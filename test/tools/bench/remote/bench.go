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
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// bench is one run.
type bench struct {
	plan
	*program.Run

	// tenants is the cluster with the machines, hosts the one with the claims.
	tenants, hosts *site.Site
	manager        *site.Manager
	player         *player
	// former are the watches in the cluster with the claims that are others', by resource.
	former map[string]float64
	*watcher
}

// machineController is the name of the controller of Metal3Machines.
const machineController = "metal3machine"

// watched are the resources that a connection may watch there.
var watched = [...]string{"hostclaims", "hardwaredata", "secrets"}

// task is a function where harness.Server expects tests.
type task func() error

// Run calls the function; what came of it is found where the task was made.
func (t task) Run() int {
	if err := t(); err != nil {
		return 1
	}
	return 0
}

// measure starts the second API server for as long as it works.
func measure(ctx context.Context, run *program.Run) error {
	err := errors.New("there was no second API server to measure on")
	var server harness.Server
	server.Run(task(func() error {
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
	b.idle = cmp.Or(run.Idle, b.idle)
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
	if b.former, err = b.watches(ctx); err != nil {
		return errors.Join(err, b.manager.Stop())
	}
	err = program.InTurn(ctx, b.begin, b.connections, b.oneAtATime, b.allAtOnce, b.rotation, b.idleness, b.memory)
	return errors.Join(err, b.manager.Stop())
}

// startManager runs the provider manager with its default flags and the rights of
// its account. The clusters of the benchmark are on loopback.
func (b *bench) startManager(ctx context.Context) (err error) {
	if err := b.Server.InstallRoles(ctx, harness.ProviderAccount()); err != nil {
		return err
	}
	p := site.Program{
		Name: "provider", Path: b.Manager, User: harness.ProviderAccount().User(),
		Args: append([]string{"--webhook-port=0", "--identity-denied-addresses="}, b.ManagerArgs...),
	}
	if p.Path == "" {
		if p.Path, err = site.Build(ctx, b.Folder, p.Name, "."); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	b.manager, err = b.tenants.StartManager(ctx, p, b.Folder)
	return err
}

// quietAll returns when both API servers have nothing to do.
func (b *bench) quietAll(ctx context.Context) error {
	return errors.Join(b.tenants.Quiet(ctx, b.quiet), b.hosts.Quiet(ctx, b.quiet))
}

// connections counts what the manager keeps open, while all machines are Ready.
func (b *bench) connections(ctx context.Context) error {
	connected, err := b.manager.Connections(ctx)
	if err != nil {
		return err
	}
	number := float64(b.identities)
	b.Figures.Expect("connections for each identity", connected/number, "", 1)
	open, err := b.watches(ctx)
	for _, resource := range watched {
		b.Figures.Expect("  watches on "+resource+" there for each identity", (open[resource]-b.former[resource])/number, "", 1)
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
	before, err := b.manager.ReconcilesOf(ctx, machineController)
	if err != nil {
		return err
	}
	program.Say("idle for %s", b.idle)
	select {
	case <-time.After(b.idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := b.manager.ReconcilesOf(ctx, machineController)
	b.Figures.Expect("passes of "+machineController+" in "+b.idle.String(), after-before, "", 0)
	return err
}

// memory looks at the manager as it is.
func (b *bench) memory(context.Context) error {
	now, peak, err := b.manager.Memory()
	b.Figures.Expect("memory of the manager, "+b.with(), now, "MiB", 400)
	b.Figures.Expect("  at most until then", peak, "MiB", 400)
	return err
}
