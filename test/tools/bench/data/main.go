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

// Command data measures how the provider manager makes the data of many machines
// at once, beside a real ip-address-manager, and what it costs.
//
//	go run ./tools/bench/data --size=full --json=data.json
//
// The API server is real, both managers are processes of their own; Machines,
// Metal3Machines and their bound HostClaims are made by this process and stay as
// they are. docs/benchmarks.md says what the figures mean.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

func main() { benchmark().Main() }

func benchmark() program.Benchmark {
	return program.Benchmark{
		Name: "data", Package: ".", Measure: measure,
		Paces: map[string]program.Pace{
			"full":   {Idle: time.Minute, Quiet: 2 * time.Second, Patience: 10 * time.Minute},
			"medium": {Idle: 10 * time.Second, Quiet: time.Second, Patience: 5 * time.Minute},
			"small":  {Idle: time.Second, Quiet: time.Second, Patience: 2 * time.Minute},
		},
	}
}

// plan says how much of everything is measured.
type plan struct {
	// pools is how many there are, perPool how many addresses each has. There are
	// as many machines as addresses.
	pools, perPool int
	// renderings says for how long, or how often, the data of a machine is rendered,
	// as go test -benchtime takes it.
	renderings string
}

// plans are the amounts of each size.
var plans = map[string]plan{
	"full":   {pools: 10, perPool: 100, renderings: "1s"},
	"medium": {pools: 5, perPool: 50, renderings: "300ms"},
	"small":  {pools: 2, perPool: 25, renderings: "20x"},
}

func (p plan) machines() int { return p.pools * p.perPool }

// bench is one run.
type bench struct {
	plan
	*program.Run

	site *site.Site
	// manager is the provider manager, ipam the ip-address-manager.
	manager, ipam *site.Manager
	*watcher
}

func measure(ctx context.Context, run *program.Run) (err error) {
	b := &bench{plan: plans[run.Size], Run: run, watcher: newWatcher()}
	b.site, err = site.Open(run.Server, site.Counting{
		Resources: []string{
			"metal3datas", "metal3dataclaims", "metal3datatemplates", "metal3machines", "clusters", "machines",
			"hostclaims", "hardwaredata", "ippools", "ipclaims", "ipaddressclaims", "ipaddresses",
			"secrets", "namespaces", "events", "customresourcedefinitions",
		},
		Ours: []string{"POST metal3dataclaims"},
	})
	if err != nil {
		return err
	}
	if err := run.Server.InstallRoles(ctx, harness.ProviderAccount()); err != nil {
		return err
	}
	if b.manager, err = b.StartManager(ctx, b.site, harness.ProviderAccount()); err == nil {
		b.ipam, err = b.StartPools(ctx, b.site, "--kube-api-qps=200", "--kube-api-burst=400")
	}
	if err := errors.Join(err, b.watch(ctx, b.site)); err != nil {
		return errors.Join(err, b.stop())
	}
	err = program.InTurn(ctx, b.rendering, b.templateForEachPool, b.templateForAll, b.idleness, b.memory)
	return errors.Join(err, b.stop())
}

// stop ends what was started.
func (b *bench) stop() error {
	var problems error
	for _, m := range []*site.Manager{b.manager, b.ipam} {
		if m != nil {
			problems = errors.Join(problems, m.Stop())
		}
	}
	return problems
}

// idleness watches the manager while nothing happens.
func (b *bench) idleness(ctx context.Context) error {
	if err := b.site.Quiet(ctx, b.Quiet); err != nil {
		return err
	}
	return b.WatchIdle(ctx, b.manager, fmt.Sprintf("reconciles in %s with %d Metal3Data", b.Idle, 2*b.machines()))
}

// memory looks at the manager as it is.
func (b *bench) memory(context.Context) error {
	return b.AddMemory(b.manager, fmt.Sprintf("memory of the manager, %d Metal3Data", 2*b.machines()), "  at most until then")
}
