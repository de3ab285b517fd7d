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

// Command rollout measures what a machine costs over its life, on a dev cluster with
// everything real but the hardware: a cluster is created, left alone, grown while hosts
// come one by one, rolled twice and deleted.
//
// Requests are those of the API server's audit log. The manager of another provider can
// take the place of ours.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
)

func main() { benchmark().Main() }

func benchmark() program.Benchmark {
	var s settings
	return program.Benchmark{
		Name: "rollout", OwnCluster: true, Flags: s.addFlags,
		Measure: func(ctx context.Context, run *program.Run) error { return measure(ctx, run, s) },
		Paces: map[string]program.Pace{
			"full":   {Idle: time.Minute, Quiet: 3 * time.Second, Patience: 15 * time.Minute},
			"medium": {Idle: 30 * time.Second, Quiet: 3 * time.Second, Patience: 10 * time.Minute},
			"small":  {Idle: 10 * time.Second, Quiet: 2 * time.Second, Patience: 5 * time.Minute},
		},
	}
}

// settings are the flags of this benchmark.
type settings struct {
	plan

	// other is the command line of another provider's manager, and manifests the folder
	// of its kustomization; empty for ours.
	other, manifests string
}

// plan says how much of everything there is; 0 leaves it to the size.
type plan struct {
	// workers there are beside one machine of the control plane, and hosts in the
	// beginning.
	workers, hosts int
	// late is how many hosts come one by one, while as many machines wait for them.
	late int
}

// plans are the amounts of each size.
var plans = map[string]plan{
	"full":   {workers: 24, hosts: 30, late: 5},
	"medium": {workers: 8, hosts: 11, late: 3},
	"small":  {workers: 3, hosts: 5, late: 1},
}

func (s *settings) addFlags(fs *flag.FlagSet) {
	fs.IntVar(&s.workers, "workers", 0, "Workers beside one machine of the control plane, at most 70; 0 leaves it to the size.")
	fs.IntVar(&s.hosts, "hosts", 0, "Hosts in the beginning, more than machines; 0 leaves it to the size.")
	fs.IntVar(&s.late, "late", 0, "Hosts that come one by one while machines wait; 0 leaves it to the size.")
	fs.StringVar(&s.other, "other", "", "Command line of another provider's manager to run in the place of ours.")
	fs.StringVar(&s.manifests, "other-manifests", "", "Absolute path of the kustomization of that provider.")
}

// settle fills in what the flags leave to the size.
func (s settings) settle(size string) (settings, error) {
	of := plans[size]
	for value, standard := range map[*int]int{&s.workers: of.workers, &s.hosts: of.hosts, &s.late: of.late} {
		if *value == 0 {
			*value = standard
		}
	}
	if s.hosts <= s.machines() {
		return s, fmt.Errorf("--hosts=%d must be more than the %d machines: a roll needs one to spare", s.hosts, s.machines())
	}
	if (s.other == "") != (s.manifests == "") {
		return s, errors.New("--other needs --other-manifests, and the other way round")
	}
	return s, nil
}

// machines is how many the cluster has but while it is grown.
func (s settings) machines() int { return 1 + s.workers }

// command is the command line of the other provider in words.
func (s settings) command() []string { return strings.Fields(s.other) }

func measure(ctx context.Context, run *program.Run, s settings) (err error) {
	if s, err = s.settle(run.Size); err != nil {
		return err
	}
	b := &bench{settings: s, Run: run}
	if err := b.up(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Group.Stop()) }()
	ctx, cancel := b.stack.Group.Guard(ctx)
	defer cancel()
	return program.InTurn(ctx, b.watch, b.register,
		b.phase("create", b.machines(), b.create),
		b.phase("idle", 1, b.idle),
		b.phase("hosts come one by one", b.hosts-b.machines()+b.late, b.grow),
		b.phase("shrink", b.hosts-b.machines()+b.late, b.shrink),
		b.phase("roll all workers", b.workers, b.roll),
		b.phase("roll all workers on their servers", b.workers, b.rollOnServers),
		b.phase("delete", b.machines(), b.remove),
		b.report)
}
