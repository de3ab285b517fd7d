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
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/test/bench/report"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// options are the command line.
type options struct {
	size     string
	idle     time.Duration
	jsonPath string
	manager  string
	// managerArgs go to the manager as they are.
	managerArgs []string
}

func main() {
	var opts options
	flag.StringVar(&opts.size, "size", "full", "full, medium, or small to see that it works.")
	flag.DurationVar(&opts.idle, "idle", 0, "How long to watch an idle manager; 0 leaves it to the size.")
	flag.StringVar(&opts.jsonPath, "json", "", "File for the figures as JSON; without it they follow the table.")
	flag.StringVar(&opts.manager, "manager", "", "Program of the hostclaim manager; built if not given.")
	klog.InitFlags(nil)
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "bind [flags] [-- flags of the manager]")
		flag.PrintDefaults()
	}
	flag.Parse()
	opts.managerArgs = flag.Args()
	if err := flag.Set("v", "-1"); err == nil { // hostsim has a word for every step of every host
		ctrl.SetLogger(klog.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options) error {
	p, found := plans[opts.size]
	if !found {
		return fmt.Errorf("unknown --size %q: there are full, medium and small", opts.size)
	}
	if opts.idle > 0 {
		p.idle = opts.idle
	}
	figures, err := measure(ctx, p, opts.manager, opts.managerArgs...)
	if err != nil {
		return err
	}
	if err := figures.WriteTable(os.Stdout); err != nil {
		return err
	}
	out := os.Stdout
	if opts.jsonPath != "" {
		if out, err = os.Create(opts.jsonPath); err != nil {
			return err
		}
		defer func() { _ = out.Close() }()
	}
	return figures.WriteJSON(out)
}

// measure starts an API server and does what the plan says on it.
func measure(ctx context.Context, p plan, program string, args ...string) (*report.Report, error) {
	b := &bench{plan: p, program: program, args: args, report: &report.Report{Facts: map[string]string{
		"date":    time.Now().UTC().Format(time.DateOnly),
		"machine": fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, cpuModel()),
		"manager": strings.Join(args, " "),
	}}}
	var server harness.Server
	code := server.Run(onServer(func() error { return b.run(ctx, &server) }, &b.err))
	if b.err == nil && code != 0 {
		b.err = errors.New("there was no API server to measure on")
	}
	return b.report, b.err
}

// onServer lets a function run where harness.Server expects tests.
func onServer(do func() error, result *error) interface{ Run() int } {
	return runner(func() int {
		*result = do()
		return 0
	})
}

type runner func() int

// Run calls the function.
func (r runner) Run() int { return r() }
