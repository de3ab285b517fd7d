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

package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/report"
)

// Benchmark is one program.
type Benchmark struct {
	Name string
	// Sizes are what --size chooses from, the default first.
	Sizes []string
	// Measure does the work. Its context ends with it.
	Measure func(ctx context.Context, run *Run) error
}

// Options are the command line.
type Options struct {
	// Size is one of the benchmark's.
	Size string
	// Idle is how long to watch an idle manager; 0 leaves it to the size.
	Idle time.Duration
	// Manager is the program of the manager; built if empty.
	Manager string
	// ManagerArgs go to the manager as they are.
	ManagerArgs []string
}

// Run is one run of a benchmark.
type Run struct {
	Options

	Server *harness.Server
	// Folder is for logs and programs; it stays only if something goes wrong.
	Folder string
	// Figures is where results go.
	Figures *report.Report
}

// Main is the whole of a program.
func (b Benchmark) Main() {
	var o Options
	flag.StringVar(&o.Size, "size", b.Sizes[0], "One of "+strings.Join(b.Sizes, ", ")+"; small is to see that it works.")
	flag.DurationVar(&o.Idle, "idle", 0, "How long to watch an idle manager; 0 leaves it to the size.")
	flag.StringVar(&o.Manager, "manager", "", "Program of the manager; built if not given.")
	jsonPath := flag.String("json", "", "File for the figures as JSON; without it they follow the table.")
	klog.InitFlags(nil)
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), b.Name+" [flags] [-- flags of the manager]")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.ManagerArgs = flag.Args()
	if err := flag.Set("v", "-1"); err == nil { // hostsim has a word for every step of every host
		ctrl.SetLogger(klog.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	figures, err := b.Do(ctx, o)
	if err == nil {
		err = write(figures, *jsonPath)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func write(figures *report.Report, jsonPath string) error {
	if err := figures.WriteTable(os.Stdout); err != nil {
		return err
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

// Do starts an API server and measures on it.
func (b Benchmark) Do(ctx context.Context, o Options) (*report.Report, error) {
	if !slices.Contains(b.Sizes, o.Size) {
		return nil, fmt.Errorf("unknown --size %q: there are %s", o.Size, strings.Join(b.Sizes, ", "))
	}
	run := &Run{Options: o, Server: &harness.Server{}, Figures: &report.Report{Facts: map[string]string{
		"date":    time.Now().UTC().Format(time.DateOnly),
		"machine": fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, cpuModel()),
		"manager": strings.Join(o.ManagerArgs, " "),
	}}}
	err := errors.New("there was no API server to measure on")
	run.Server.Run(runner(func() int {
		err = b.measure(ctx, run)
		return 0
	}))
	return run.Figures, err
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

// runner is a function where harness.Server expects tests.
type runner func() int

// Run calls the function.
func (r runner) Run() int { return r() }

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
