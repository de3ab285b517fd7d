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

// Command bench measures the figures of docs/benchmarks.md, one scenario in a run:
//
//	go run ./tools/bench scale --size=small
//
// Servers and managers are real, and the managers that are measured are processes of their own. Hosts are
// played by hostsim in this process, except in the scenario rollout, which has a whole dev cluster.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// scenario is what one run measures.
type scenario struct {
	// paces are those of the sizes full, medium and small.
	paces map[string]pace
	// ownCluster reports whether measure starts the API server that it measures on.
	ownCluster bool
	// measure does the work. Its context ends with it.
	measure func(ctx context.Context, r *run) error
}

func scenarios() map[string]scenario {
	minute := paces(time.Minute, 20*time.Second, 20*time.Minute)
	return map[string]scenario{
		"bind":       {paces: paces(10*time.Minute, 10*time.Second, 10*time.Minute), measure: measureBinds},
		"scale":      {paces: minute, measure: measureScale},
		"remote":     {paces: minute, measure: measureRemote},
		"neighbours": {paces: minute, measure: measureNeighbors},
		"rollout":    {paces: minute, measure: measureRollout, ownCluster: true},
	}
}

// pace is how long a run waits.
type pace struct {
	// idle is how long nothing happens.
	idle time.Duration
	// quiet is how long nothing must happen before a part counts as over, and patience how long
	// any one step may take.
	quiet, patience time.Duration
}

func paces(full, medium, patience time.Duration) map[string]pace {
	return map[string]pace{
		"full":   {idle: full, quiet: 4 * time.Second, patience: patience},
		"medium": {idle: medium, quiet: 4 * time.Second, patience: patience},
		"small":  {idle: time.Second, quiet: 500 * time.Millisecond, patience: 5 * time.Minute},
	}
}

// options are the command line.
type options struct {
	size string
	// idleFor is how long to watch an idle manager; 0 leaves it to the size.
	idleFor time.Duration
	// class is the name of a class of servers that the claims of bind have; empty for none.
	class string
	// managerArgs go to the managers as they are.
	managerArgs []string
	// rollout are the flags of that scenario alone.
	rollout rolloutFlags
}

// run is one run of a scenario.
type run struct {
	options
	pace

	// server is nil if the scenario has a cluster of its own.
	server *harness.Server
	// folder is for logs and programs; it stays only if something goes wrong.
	folder  string
	figures *Report
}

func main() {
	var o options
	fs := flag.CommandLine
	fs.StringVar(&o.size, "size", "full", "One of full, medium, small; small is to see that it works.")
	fs.DurationVar(&o.idleFor, "idle", 0, "How long to watch an idle manager; 0 leaves it to the size.")
	fs.StringVar(&o.class, "class", "", "Scenario bind: give the claims a class of servers of this name.")
	jsonPath := fs.String("json", "", "File for the figures as JSON; without it they follow the table.")
	compare := fs.String("compare", "", "File with the JSON of an earlier run: what has changed since follows the table.")
	o.rollout.add(fs)
	klog.InitFlags(nil)
	fs.Usage = func() {
		names := slices.Sorted(maps.Keys(scenarios()))
		fmt.Fprintln(fs.Output(), "bench "+strings.Join(names, "|")+" [flags] [-- flags of the managers]")
		fs.PrintDefaults()
	}
	name, flags := "", os.Args[1:]
	if len(flags) > 0 && !strings.HasPrefix(flags[0], "-") {
		name, flags = flags[0], flags[1:]
	}
	_ = fs.Parse(flags) // it exits with an error
	o.managerArgs = fs.Args()
	if err := flag.Set("v", "-1"); err == nil { // hostsim logs each step of each host
		ctrl.SetLogger(klog.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := report(ctx, name, o, *jsonPath, *compare); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report measures and prints.
func report(ctx context.Context, name string, o options, jsonPath, compare string) error {
	var before *Report
	if compare != "" {
		var err error
		if before, err = ReadReport(compare); err != nil {
			return err
		}
	}
	figures, err := measure(ctx, name, o)
	if err != nil {
		return err
	}
	if err := figures.WriteTable(os.Stdout); err != nil {
		return err
	}
	if before != nil {
		if err := figures.WriteChanges(os.Stdout, before); err != nil {
			return err
		}
	}
	if jsonPath == "" {
		return figures.WriteJSON(os.Stdout)
	}
	out, err := os.Create(jsonPath)
	if err != nil {
		return err
	}
	return errors.Join(figures.WriteJSON(out), out.Close())
}

// measure plays the scenario of a name.
func measure(ctx context.Context, name string, o options) (*Report, error) {
	s, found := scenarios()[name]
	if !found {
		return nil, fmt.Errorf("no scenario %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(scenarios())), ", "))
	}
	p, found := s.paces[o.size]
	if !found {
		return nil, fmt.Errorf("unknown --size %q: there are full, medium and small", o.size)
	}
	p.idle = cmp.Or(o.idleFor, p.idle)
	r := &run{options: o, pace: p, figures: &Report{Facts: map[string]string{
		"date":    time.Now().UTC().Format(time.DateOnly),
		"machine": fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, cpuModel()),
		"manager": strings.Join(o.managerArgs, " "),
	}}}
	play := func() (err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if r.folder, err = os.MkdirTemp("", "bench-"+name+"-"); err != nil {
			return err
		}
		if err := s.measure(ctx, r); err != nil {
			return fmt.Errorf("%w (logs: %s)", err, r.folder)
		}
		return os.RemoveAll(r.folder)
	}
	if s.ownCluster {
		return r.figures, play()
	}
	return r.figures, r.onServer(play)
}

// onServer calls a function while the run has an API server.
func (r *run) onServer(do func() error) error {
	r.server = &harness.Server{}
	err := errors.New("there was no API server to measure on")
	r.server.Run(task(func() error {
		err = do()
		return err
	}))
	return err
}

// onOtherServer calls a function with a run that has an API server of its own, and writes to the same report.
func (r *run) onOtherServer(do func(*run) error) (err error) {
	other := *r
	if other.folder, err = os.MkdirTemp(r.folder, "beside-"); err != nil {
		return err
	}
	return other.onServer(func() error { return do(&other) })
}

// task runs on an API server as the tests of a package do.
type task func() error

// Run returns an exit code.
func (t task) Run() int {
	if t() != nil {
		return 1
	}
	return 0
}

// What timelines note of machines, in the order of a machine's life. A provider without claims has fewer.
const (
	created     site.Mark = "created"
	bootstrap   site.Mark = "bootstrap data"
	claimed     site.Mark = "claim"
	bound       site.Mark = "bound"
	facts       site.Mark = "facts"
	rendered    site.Mark = "data"
	image       site.Mark = "image"
	provisioned site.Mark = "provisioned"
	node        site.Mark = "Node"
)

// What timelines note of other objects, or of machines besides.
const (
	// available is a host that may be taken, taken one that was.
	available site.Mark = "available"
	taken     site.Mark = "taken"
	// explained is a claim with a condition for why it has no host.
	explained site.Mark = "explained"
	// ready is a machine that was Ready, gone one that was deleted.
	ready site.Mark = "ready"
	gone  site.Mark = "gone"
	// dataAsked is a machine with a Metal3DataClaim, dataMade one with a Metal3Data.
	dataAsked site.Mark = "asking for data"
	dataMade  site.Mark = "given a Metal3Data"
	// asked is an IPClaim, answered one with an address.
	asked    site.Mark = "asked for"
	answered site.Mark = "given an address"
)

// inTurn measures one part after the other.
func inTurn(ctx context.Context, parts ...func(context.Context) error) error {
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// say prints how far the benchmark is.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// cost is what something has cost.
type cost struct {
	// requests are those that the API server has answered, by name, for each of the
	// things that were done; sum is the sum.
	requests map[string]float64
	sum      float64
	// work is what each of the managers has done.
	work []site.Work
}

// costOf measures what it costs to do a number of things, from when they are done until the API server is quiet.
func (r *run) costOf(ctx context.Context, s *site.Site, number int, do func(context.Context) error, managers ...*site.Manager) (c cost, err error) {
	requests, err := s.Requests(ctx)
	if err != nil {
		return c, err
	}
	before, err := workOf(ctx, managers)
	if err != nil {
		return c, err
	}
	if err := inTurn(ctx, do, func(ctx context.Context) error { return s.Quiet(ctx, r.quiet) }); err != nil {
		return c, err
	}
	if c.work, err = workSince(ctx, managers, before); err != nil {
		return c, err
	}
	c.requests, c.sum, err = s.RequestsSince(ctx, requests, number)
	return c, err
}

// measured is a manager whose costs are of interest.
type measured struct {
	*site.Manager

	name string
	// controller is the one whose queue shows how busy the manager is, and user its account in the audit log; each is
	// set where it is read.
	controller, user string
}

type measuredManagers []measured

func (all measuredManagers) processes() (processes []*site.Manager) {
	for _, m := range all {
		processes = append(processes, m.Manager)
	}
	return processes
}

func workOf(ctx context.Context, managers []*site.Manager) ([]site.Work, error) {
	all := make([]site.Work, len(managers))
	for i, m := range managers {
		var err error
		if all[i], err = m.Work(ctx); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func workSince(ctx context.Context, managers []*site.Manager, before []site.Work) ([]site.Work, error) {
	all, err := workOf(ctx, managers)
	for i := range all {
		all[i] = all[i].Since(before[i])
	}
	return all, err
}

// rest lets nothing happen and returns what the managers do meanwhile.
func (r *run) rest(ctx context.Context, managers ...*site.Manager) ([]site.Work, error) {
	before, err := workOf(ctx, managers)
	if err != nil {
		return nil, err
	}
	say("idle for %s", r.idle)
	select {
	case <-time.After(r.idle):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return workSince(ctx, managers, before)
}

// addMemory notes what a manager holds now, which may have a target, and the most that it ever held.
func (r *run) addMemory(m *site.Manager, now string, target ...float64) error {
	holds, most, err := m.Memory()
	r.figures.Add(now, holds, "MiB", target...)
	r.figures.Add("  at most until then", most, "MiB")
	return err
}

// addCPU notes the processor time of a manager for each of a number of things.
func (r *run) addCPU(name string, work site.Work, number int) {
	r.figures.Add(name, 1000*work.CPU.Seconds()/float64(number), "ms")
}

// cpuModel names the processor.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
