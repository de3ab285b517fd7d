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

// Package program is what the programs of all benchmarks have in common: command
// line, API server, manager, costs and the report, a table for people and JSON for
// programs.
package program

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// Benchmark is one program.
type Benchmark struct {
	Name string
	// Package is the main package of the manager that is measured.
	Package string
	// Paces are the paces of the sizes full, medium and small.
	Paces map[string]Pace
	// OwnCluster says that Measure starts the cluster that it measures on.
	OwnCluster bool
	// Flags adds flags of this benchmark alone; nil for none.
	Flags func(*flag.FlagSet)
	// Measure does the work. Its context ends with it.
	Measure func(ctx context.Context, run *Run) error
}

// Pace is how long a run waits.
type Pace struct {
	// Idle is how long nothing happens.
	Idle time.Duration
	// Quiet is how long nothing must happen before a part is taken to be over, and
	// Patience how long any one thing is waited for.
	Quiet, Patience time.Duration
}

// Options are the command line.
type Options struct {
	// Size is one of those that the benchmark has a pace for.
	Size string
	// IdleFor is how long to watch an idle manager; 0 leaves it to the size.
	IdleFor time.Duration
	// Manager is the program of the manager; built if empty.
	Manager string
	// ManagerArgs go to the manager as they are.
	ManagerArgs []string
}

// Run is one run of a benchmark.
type Run struct {
	Options
	Pace

	// Package is the main package of the manager.
	Package string
	// Server is nil if the benchmark has a cluster of its own.
	Server *harness.Server
	// Folder is for logs and programs; it stays only if something goes wrong.
	Folder string
	// Figures is where results go.
	Figures *Report
}

// Main is the whole of a program.
func (b Benchmark) Main() {
	var o Options
	flag.StringVar(&o.Size, "size", "full", "One of full, medium, small; small is to see that it works.")
	flag.DurationVar(&o.IdleFor, "idle", 0, "How long to watch an idle manager; 0 leaves it to the size.")
	flag.StringVar(&o.Manager, "manager", "", "Program of the manager; built if not given.")
	jsonPath := flag.String("json", "", "File for the figures as JSON; without it they follow the table.")
	compare := flag.String("compare", "", "File with the JSON of an earlier run: what has changed since follows the table.")
	klog.InitFlags(nil)
	if b.Flags != nil {
		b.Flags(flag.CommandLine)
	}
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), b.Name+" [flags] [-- flags of the manager]")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.ManagerArgs = flag.Args()
	if err := flag.Set("v", "-1"); err == nil { // hostsim has a word for every step of every host
		ctrl.SetLogger(klog.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := b.report(ctx, o, *jsonPath, *compare)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report measures, and prints the figures and what has changed since an earlier run.
// That run is read first, so that no measurement is lost to a wrong path.
func (b Benchmark) report(ctx context.Context, o Options, jsonPath, compare string) error {
	var before *Report
	if compare != "" {
		var err error
		if before, err = ReadReport(compare); err != nil {
			return err
		}
	}
	figures, err := b.Do(ctx, o)
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

// Do starts an API server, unless the benchmark starts a cluster itself, and measures on it.
func (b Benchmark) Do(ctx context.Context, o Options) (*Report, error) {
	pace, found := b.Paces[o.Size]
	if !found {
		return nil, fmt.Errorf("unknown --size %q: there are full, medium and small", o.Size)
	}
	pace.Idle = cmp.Or(o.IdleFor, pace.Idle)
	run := &Run{Options: o, Pace: pace, Package: b.Package, Figures: &Report{Facts: map[string]string{
		"date":    time.Now().UTC().Format(time.DateOnly),
		"machine": fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, cpuModel()),
		"manager": strings.Join(o.ManagerArgs, " "),
	}}}
	if b.OwnCluster {
		return run.Figures, b.measure(ctx, run)
	}
	return run.Figures, run.onServer(func() error { return b.measure(ctx, run) })
}

func (b Benchmark) measure(ctx context.Context, run *Run) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if run.Folder, err = os.MkdirTemp("", "bench-"+b.Name+"-"); err != nil {
		return err
	}
	if err := b.Measure(ctx, run); err != nil {
		return fmt.Errorf("%w (logs: %s)", err, run.Folder)
	}
	return os.RemoveAll(run.Folder)
}

// Task is a function where harness.Server expects tests.
type Task func() error

// Run calls the function; its caller keeps the error.
func (t Task) Run() int {
	if t() != nil {
		return 1
	}
	return 0
}

// cpuModel is what the machine says of its processor.
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
