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
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// InTurn measures one part after the other.
func InTurn(ctx context.Context, parts ...func(context.Context) error) error {
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Say prints how far the benchmark is.
func Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// onServer calls a function while the run has an API server.
func (r *Run) onServer(do func() error) error {
	r.Server = &harness.Server{}
	err := errors.New("there was no API server to measure on")
	r.Server.Run(Task(func() error {
		err = do()
		return err
	}))
	return err
}

// Beside calls a function with a run that has an API server of its own, and writes to the
// same report. What is measured there and here in turn finds the same machine: how fast a
// processor is may change from minute to minute.
func (r *Run) Beside(do func(*Run) error) (err error) {
	beside := *r
	if beside.Folder, err = os.MkdirTemp(r.Folder, "beside-"); err != nil {
		return err
	}
	return beside.onServer(func() error { return do(&beside) })
}

// StartManager starts the manager that is measured with its default flags and the
// rights of its account. It is built if the command line names no program.
func (r *Run) StartManager(ctx context.Context, s *site.Site, account harness.Account, args ...string) (_ *site.Manager, err error) {
	if r.Manager == "" {
		if r.Manager, err = site.Build(ctx, r.Folder, "manager", r.Package); err != nil {
			return nil, err
		}
	}
	args = slices.Concat([]string{"--webhook-port=0"}, args, r.ManagerArgs)
	return r.Start(ctx, s, site.Program{Name: "manager", Path: r.Manager, User: account.User(), Args: args})
}

// Start starts a program, and waits until its controllers are at work.
func (r *Run) Start(ctx context.Context, s *site.Site, p site.Program) (*site.Manager, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	return s.StartManager(ctx, p, r.Folder)
}

// Cost is what something has cost.
type Cost struct {
	// Requests are those that the API server has answered, by name, for each of the
	// things that were done; Sum is the sum.
	Requests map[string]float64
	Sum      float64
	// Work is what each of the managers has done.
	Work []site.Work
}

// Cost measures what it costs to do a number of things, from when they are done until
// the API server is quiet.
func (r *Run) Cost(
	ctx context.Context, s *site.Site, number int, do func(context.Context) error, managers ...*site.Manager,
) (c Cost, err error) {
	requests, err := s.Requests(ctx)
	if err != nil {
		return c, err
	}
	before, err := work(ctx, managers)
	if err != nil {
		return c, err
	}
	if err := InTurn(ctx, do, func(ctx context.Context) error { return s.Quiet(ctx, r.Quiet) }); err != nil {
		return c, err
	}
	if c.Work, err = work(ctx, managers); err != nil {
		return c, err
	}
	for i := range before {
		c.Work[i] = c.Work[i].Since(before[i])
	}
	c.Requests, c.Sum, err = s.RequestsSince(ctx, requests, number)
	return c, err
}

func work(ctx context.Context, managers []*site.Manager) ([]site.Work, error) {
	all := make([]site.Work, len(managers))
	for i, m := range managers {
		var err error
		if all[i], err = m.Work(ctx); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// WatchIdle notes how many passes the controllers of a manager make while nothing
// happens, of which there should be none. Without names all controllers count.
func (r *Run) WatchIdle(ctx context.Context, m *site.Manager, name string, controllers ...string) error {
	before, err := m.Work(ctx)
	if err != nil {
		return err
	}
	Say("idle for %s", r.Idle)
	select {
	case <-time.After(r.Idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := m.Work(ctx)
	r.Figures.Add(name, after.Since(before).PassesOf(controllers...), "", 0)
	return err
}

// AddMemory notes what a manager holds now and the most that it ever held, which may
// have a target each.
func (r *Run) AddMemory(m *site.Manager, now, peak string, targets ...float64) error {
	holds, most, err := m.Memory()
	r.Figures.Add(now, holds, "MiB", targets...)
	r.Figures.Add(peak, most, "MiB", targets[min(1, len(targets)):]...)
	return err
}
