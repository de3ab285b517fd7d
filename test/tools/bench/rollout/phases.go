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
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/audit"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// phase is what a part of the run has cost.
type phase struct {
	name string
	// each is how many machines the costs are divided by.
	each int
	took time.Duration
	// requests are those of all clients, and work that of each measured manager.
	requests audit.Counts
	work     []site.Work
	// machines are those that began to run in it.
	machines []types.NamespacedName
}

// phase does a part of the run, and notes what it has cost until the managers are quiet.
func (b *bench) phase(name string, each int, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, b.Patience)
		defer cancel()
		program.Say("%s", name)
		known, err := b.names(ctx)
		if err != nil {
			return err
		}
		before, err := b.work(ctx)
		if err != nil {
			return err
		}
		if _, err := b.log.Next(); err != nil {
			return err
		}
		p, began := phase{name: name, each: each}, time.Now()
		if err := do(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.took = time.Since(began)
		if err := b.account(ctx, &p, before, known); err != nil {
			return err
		}
		b.phases = append(b.phases, p)
		return nil
	}
}

// account waits until the managers are quiet and fills in what the phase has cost since
// the work before, and which machines were not known before.
func (b *bench) account(ctx context.Context, p *phase, before []site.Work, known map[types.NamespacedName]bool) (err error) {
	if p.requests, err = b.settled(ctx); err != nil {
		return err
	}
	if p.work, err = b.work(ctx); err != nil {
		return err
	}
	for i := range before {
		p.work[i] = p.work[i].Since(before[i])
	}
	now, err := b.names(ctx)
	for name := range now {
		if !known[name] {
			p.machines = append(p.machines, name)
		}
	}
	return err
}

// settled counts requests until the measured managers send none for a while.
func (b *bench) settled(ctx context.Context) (audit.Counts, error) {
	tick := time.NewTicker(b.Quiet)
	defer tick.Stop()
	counts := audit.Counts{}
	for {
		more, err := b.log.Next()
		if err != nil || b.ofManagers(more).Sum() == 0 {
			return counts.Plus(more), err
		}
		counts = counts.Plus(more)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the managers go on sending requests: %w", context.Cause(ctx))
		}
	}
}

// ofManagers are the requests of the measured managers.
func (b *bench) ofManagers(counts audit.Counts) audit.Counts {
	all := audit.Counts{}
	for _, m := range b.managers {
		all = all.Plus(counts.Of(m.user))
	}
	return all
}

func (b *bench) work(ctx context.Context) ([]site.Work, error) {
	all := make([]site.Work, len(b.managers))
	for i, m := range b.managers {
		var err error
		if all[i], err = m.Work(ctx); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// names are those of the infrastructure machines.
func (b *bench) names(ctx context.Context) (map[types.NamespacedName]bool, error) {
	machines, err := b.world.Machines(ctx, namespace)
	names := map[types.NamespacedName]bool{}
	for _, m := range machines {
		names[infrastructure(m.Machine)] = true
	}
	return names, err
}

func (b *bench) create(ctx context.Context) error {
	if err := b.cluster.Create(ctx, b.stack.Repo, b.tenant); err != nil {
		return err
	}
	return b.running(ctx)
}

func (b *bench) running(ctx context.Context) error {
	return b.cluster.WaitRunning(ctx, b.world, namespace, quietly)
}

func (b *bench) idle(ctx context.Context) error {
	select {
	case <-time.After(b.Idle):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// grow has the cluster take all hosts and wait for more, which come one by one.
func (b *bench) grow(ctx context.Context) (err error) {
	if b.cluster, err = b.cluster.ScaleWorkers(ctx, b.tenant, b.pool.Servers-1+b.late); err != nil {
		return err
	}
	if err := b.allRun(ctx, b.pool.Servers, nil); err != nil {
		return err
	}
	for range b.late {
		if b.pool, err = b.pool.Grow(ctx, b.world.Hosts, 1); err != nil {
			return err
		}
		if err := b.allRun(ctx, b.pool.Servers, nil); err != nil {
			return err
		}
	}
	return b.running(ctx)
}

// shrink gives the additional machines back.
func (b *bench) shrink(ctx context.Context) (err error) {
	if b.cluster, err = b.cluster.ScaleWorkers(ctx, b.tenant, b.workers); err != nil {
		return err
	}
	return b.running(ctx)
}

// roll replaces all workers, one by one, as Cluster API does by default.
func (b *bench) roll(ctx context.Context) error {
	old := map[types.NamespacedName]bool{}
	machines, err := b.world.Machines(ctx, namespace)
	if err != nil {
		return err
	}
	for _, m := range machines {
		if _, controlPlane := m.Machine.Labels[clusterv1.MachineControlPlaneLabel]; !controlPlane {
			old[infrastructure(m.Machine)] = true
		}
	}
	if err := b.cluster.RollWorkers(ctx, b.tenant); err != nil {
		return err
	}
	if err := b.allRun(ctx, b.machines(), old); err != nil {
		return err
	}
	return b.running(ctx)
}

// rollOnServers is roll where each worker takes over the server of the one before.
func (b *bench) rollOnServers(ctx context.Context) error {
	if err := b.cluster.KeepServers(ctx, b.tenant); err != nil {
		return err
	}
	return b.roll(ctx)
}

// allRun waits until that many machines run and none of the old ones is left.
func (b *bench) allRun(ctx context.Context, wanted int, old map[types.NamespacedName]bool) error {
	return b.world.Until(ctx, func(ctx context.Context) (string, error) {
		machines, err := b.world.Machines(ctx, namespace)
		running, left := 0, 0
		for _, m := range machines {
			switch {
			case old[infrastructure(m.Machine)]:
				left++
			case m.Running():
				running++
			}
		}
		if err != nil || (running >= wanted && left == 0) {
			return "", err
		}
		return fmt.Sprintf("%d of %d machines run, and %d of the old ones are left", running, wanted, left), nil
	})
}

// remove deletes the cluster until each host is free.
func (b *bench) remove(ctx context.Context) error {
	o := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: b.cluster.Name}}
	if err := b.tenant.Client.Delete(ctx, o); err != nil {
		return err
	}
	return b.pool.WaitFree(ctx, b.world, b.pool.Servers)
}
