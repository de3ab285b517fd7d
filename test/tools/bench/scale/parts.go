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
	"fmt"
	"slices"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/town"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// polled is the controller of Cluster API's cache of workload clusters, of which there are none
// here: it goes on looking for them.
const polled = "clustercache"

// measured is a manager with the controller whose queue tells how busy it is.
type measured struct {
	*site.Manager
	name, controller string
}

func (b *bench) managers() []measured {
	return []measured{{b.Provider, "provider manager", "metal3machine"}, {b.HostClaim, "hostclaim manager", "hostclaim"}}
}

// arrive lets all machines come at once.
func (c *crowd) arrive(ctx context.Context) error {
	sent, err := c.part(ctx, "until all are Ready", requestsToRun, c.come)
	if err != nil {
		return err
	}
	c.Figures.AddTimes("  created until bound", c.since(bound), time.Second)
	c.Figures.AddTimes("  created until Ready", c.since(ready), time.Second)
	if c.requests == 0 {
		c.requests = sent
	}
	c.Figures.Add("  requests of both managers, compared with the smallest cluster", sent/c.requests, "times", growth)
	return nil
}

func (c *crowd) come(ctx context.Context) error {
	if err := site.InParallel(ctx, 0, c.machines(), c.add); err != nil {
		return err
	}
	_, err := c.seen.Await(ctx, ready, c.keys()...)
	return err
}

// roll replaces each machine, several at a time.
func (c *crowd) roll(ctx context.Context) error {
	c.generation++
	_, err := c.part(ctx, "until each is replaced", requestsToRun+requestsToDelete, func(ctx context.Context) error {
		return site.InParallel(ctx, 0, c.machines(), c.replace)
	})
	return err
}

// leave deletes all machines at once.
func (c *crowd) leave(ctx context.Context) error {
	_, err := c.part(ctx, "until all are gone", requestsToDelete, func(ctx context.Context) error {
		all, ctx := errgroup.WithContext(ctx)
		for n := range c.machines() {
			all.Go(func() error { return c.remove(ctx, n, c.generation) })
		}
		return all.Wait()
	})
	return err
}

// part measures what something costs for each machine, and returns how many requests the managers
// have sent for it.
func (c *crowd) part(ctx context.Context, name string, target float64, do func(context.Context) error) (float64, error) {
	program.Say("%s, %s", c.shape, name)
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	managers, each := c.managers(), float64(c.machines())
	var before [2]site.Waits
	for i, m := range managers {
		var err error
		if before[i], err = m.Waits(ctx, m.controller); err != nil {
			return 0, err
		}
	}
	var took time.Duration
	measured := time.Now()
	cost, err := c.Cost(ctx, c.Site, c.machines(), func(ctx context.Context) error {
		begun := time.Now()
		defer func() { took = time.Since(begun) }()
		return do(ctx)
	}, c.Provider, c.HostClaim)
	if err != nil {
		return 0, err
	}
	sent := (cost.Work[0].Sent + cost.Work[1].Sent) / each
	c.Figures.Add(fmt.Sprintf("%s, %s", c.shape, name), took.Seconds(), "s")
	c.Figures.Add("  requests of both managers for each of them", sent, "", target)
	for i, m := range managers {
		work := cost.Work[i]
		c.Figures.Add("  "+m.name+", requests for each of them", work.Sent/each, "")
		c.Figures.Add("    passes", (work.PassesOf()-work.PassesOf(polled))/each, "")
		c.Figures.Add("    processor time", 1000*work.CPU.Seconds()/each, "ms")
		waits, err := m.Waits(ctx, m.controller)
		if err != nil {
			return 0, err
		}
		// The buckets are wide: no wait is longer than it was measured.
		c.Figures.Add("    wait in the queue of "+m.controller+", p99", min(waits.Since(before[i]).Quantile(0.99), time.Since(measured)).Seconds(), "s")
	}
	c.Figures.AddRequests("answered to them and to all others, for each of them", cost.Requests, cost.Sum)
	return sent, nil
}

// rest watches both managers while nothing happens.
func (c *crowd) rest(ctx context.Context) error {
	program.Say("idle for %s", c.Idle)
	managers := c.managers()
	var before [2]site.Work
	for i, m := range managers {
		var err error
		if before[i], err = m.Work(ctx); err != nil {
			return err
		}
	}
	select {
	case <-time.After(c.Idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	for i, m := range managers {
		after, err := m.Work(ctx)
		if err != nil {
			return err
		}
		work := after.Since(before[i])
		c.Figures.Add(fmt.Sprintf("%s, %s, passes in %s of rest", c.shape, m.name, c.Idle), work.PassesOf()-work.PassesOf(polled), "", 0)
		c.Figures.Add("  processor", 1000*work.CPU.Seconds()/c.Idle.Seconds(), "millicores", millicores)
		if err := c.AddMemory(m.Manager, "  memory", "  at most until then", memory); err != nil {
			return err
		}
	}
	return nil
}

// restart starts each manager anew, with everything in place.
func (c *crowd) restart(ctx context.Context) error {
	for _, m := range c.managers() {
		program.Say("the %s starts anew", m.name)
		before, err := c.Requests(ctx)
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := errors.Join(m.Restart(ctx), c.Site.Quiet(ctx, c.Run.Quiet)); err != nil {
			return err
		}
		took := time.Since(begun) - c.Run.Quiet
		requests, _, err := c.RequestsSince(ctx, before, 1)
		if err != nil {
			return err
		}
		writes := 0.0
		for request, count := range requests {
			if !strings.HasPrefix(request, "GET ") && !strings.HasPrefix(request, "LIST ") {
				writes += count
			}
		}
		c.Figures.Add(fmt.Sprintf("%s, the %s starts anew, until it is settled", c.shape, m.name), took.Seconds(), "s", settled)
		c.Figures.Add("  writes", writes, "", writesOfRestart)
		if err := c.AddMemory(m.Manager, "  memory", "  at most until then", memory); err != nil {
			return err
		}
	}
	return nil
}

// loseLeaders lets both managers die when half of the machines that come at once are bound. Others
// take over when the leases of the dead ones are over.
func (c *crowd) loseLeaders(ctx context.Context) error {
	program.Say("%s, and both leaders die", c.shape)
	waiting, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	begun := time.Now()
	all, waiting := errgroup.WithContext(waiting)
	all.Go(func() error { return c.come(waiting) })
	all.Go(func() error {
		if _, err := c.seen.Await(waiting, bound, c.keys()[:c.machines()/2]...); err != nil {
			return err
		}
		if err := errors.Join(c.Provider.Kill(), c.HostClaim.Kill()); err != nil {
			return err
		}
		return program.InTurn(waiting, c.Provider.Replace, c.HostClaim.Replace)
	})
	if err := all.Wait(); err != nil {
		return err
	}
	c.Figures.Add(fmt.Sprintf("%s, until all are Ready although both leaders die", c.shape), time.Since(begun).Seconds(), "s")
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := c.List(ctx, hosts, client.InNamespace(town.Infra)); err != nil {
		return err
	}
	taken := slices.DeleteFunc(hosts.Items, func(h bmov1alpha1.BareMetalHost) bool { return h.Spec.ConsumerRef == nil })
	c.Figures.Add("  hosts taken that no machine has", float64(len(taken)-c.machines()), "", 0)
	return nil
}
