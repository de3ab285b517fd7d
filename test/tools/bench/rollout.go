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
	"path/filepath"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// rolloutFlags are the flags of this benchmark.
type rolloutFlags struct {
	rolloutPlan

	// other is the command line of another provider's manager, and manifests the folder
	// of its kustomization; empty for ours.
	other, manifests string
}

// rolloutPlan is how much of everything there is; 0 leaves it to the size.
type rolloutPlan struct {
	// workers there are beside one machine of the control plane, and hosts in the
	// beginning.
	workers, hosts int
	// late is how many hosts come one by one, while as many machines wait for them.
	late int
}

// rolloutPlans are the amounts of each size.
var rolloutPlans = map[string]rolloutPlan{
	"full":   {workers: 24, hosts: 30, late: 5},
	"medium": {workers: 8, hosts: 11, late: 3},
	"small":  {workers: 3, hosts: 5, late: 1},
}

func (s *rolloutFlags) add(fs *flag.FlagSet) {
	fs.IntVar(&s.workers, "workers", 0, "Workers beside one machine of the control plane, at most 70; 0 leaves it to the size.")
	fs.IntVar(&s.hosts, "hosts", 0, "Hosts in the beginning, more than machines; 0 leaves it to the size.")
	fs.IntVar(&s.late, "late", 0, "Hosts that come one by one while machines wait; 0 leaves it to the size.")
	fs.StringVar(&s.other, "other", "", "Command line of another provider's manager to run in the place of ours.")
	fs.StringVar(&s.manifests, "other-manifests", "", "Absolute path of the kustomization of that provider.")
}

// settle fills in what the flags leave to the size.
func (s rolloutFlags) settle(size string) (rolloutFlags, error) {
	of := rolloutPlans[size]
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
func (s rolloutFlags) machines() int { return 1 + s.workers }

// command is the command line of the other provider in words.
func (s rolloutFlags) command() []string { return strings.Fields(s.other) }

// measureRollout measures what a machine costs over its life, on a dev cluster with everything real but the hardware: a
// cluster is created, left alone, grown while hosts come one by one, rolled twice and deleted. Requests are those of the
// API server's audit log. The manager of another provider can take the place of ours.
func measureRollout(ctx context.Context, r *run) (err error) {
	s, err := r.rollout.settle(r.size)
	if err != nil {
		return err
	}
	b := &rolloutBench{rolloutFlags: s, run: r}
	if err := b.up(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Group.Stop()) }()
	ctx, cancel := b.stack.Group.Guard(ctx)
	defer cancel()
	return inTurn(ctx, b.watch, b.register,
		b.phase("create", b.machines(), b.create),
		b.phase("idle", 1, func(ctx context.Context) error {
			_, err := b.rest(ctx)
			return err
		}),
		b.phase("hosts come one by one", b.hosts-b.machines()+b.late, b.grow),
		b.phase("shrink", b.hosts-b.machines()+b.late, b.shrink),
		b.phase("roll all workers", b.workers, b.roll),
		b.phase("roll all workers on their servers", b.workers, b.rollOnServers),
		b.phase("delete", b.machines(), b.remove),
		b.report)
}

// rolloutNamespace has the cluster and its hosts: other providers know of no others.
const rolloutNamespace = "rollout"

// rolloutBench is one run.
type rolloutBench struct {
	rolloutFlags
	*run

	stack    *stack.Stack
	world    *world.World
	tenant   *story.Tenant
	pool     story.Pool
	cluster  story.Cluster
	log      *auditLog
	managers measuredManagers
	lives    *lives
	phases   []phase
}

// up starts the dev cluster.
func (b *rolloutBench) up(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	ours := manager.Own()
	if b.other != "" {
		ours = []manager.Manager{manager.Other(b.command(), b.manifests)}
		b.figures.Facts["manager"] = b.other
	}
	b.stack, err = stack.Up(ctx, stack.Options{
		Repo: repo, Dir: filepath.Join(b.folder, "devcluster"), Audit: true, Out: console.New(os.Stderr),
		Managers: append(append(manager.ThirdParty(), ours...), manager.HostSim()),
	})
	if err != nil {
		return err
	}
	for _, m := range ours {
		running := b.stack.Running[m.Component]
		b.managers = append(b.managers, measured{
			Manager: site.Attach(running.Process.PID, fmt.Sprintf("127.0.0.1:%d", running.Metrics)),
			name:    m.Component,
			user:    "system:serviceaccount:" + running.Namespace + ":" + running.ServiceAccount,
		})
	}
	b.log = openLog(cluster.AuditLog(b.stack.Dir))
	return nil
}

// watch begins to note what happens to machines.
func (b *rolloutBench) watch(ctx context.Context) (err error) {
	if b.world, err = world.Open(ctx, b.stack.Admin); err != nil {
		return err
	}
	c, err := client.NewWithWatch(b.stack.Admin, client.Options{Scheme: b.world.Scheme()})
	if err != nil {
		return err
	}
	b.lives = newLives()
	look := &site.Site{WithWatch: c}
	for _, list := range []client.ObjectList{
		&clusterv1.MachineList{}, &bmov1alpha1.HostClaimList{}, &bmov1alpha1.BareMetalHostList{}, &infrav1.Metal3DataList{},
	} {
		if err := look.Follow(ctx, list, b.lives.see); err != nil {
			return err
		}
	}
	return nil
}

// register makes the rolloutNamespace and its hosts. The cluster is created with the rights of
// the administrator, since the role of tenants is installed by our managers only.
func (b *rolloutBench) register(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	if b.tenant, err = story.AddTenant(ctx, b.world.Client, b.stack.Cluster, rolloutNamespace); err != nil {
		return err
	}
	b.tenant.Client = b.world.Client
	ports, err := cluster.FreeEndpoints(1)
	if err != nil {
		return err
	}
	b.cluster = story.Cluster{Name: "rollout", ControlPlanes: 1, Workers: b.workers, Port: ports[0], Subnet: 101}
	b.pool = story.Pool{Namespace: rolloutNamespace, Servers: b.hosts, Tenants: []string{rolloutNamespace}}
	say("registering %d hosts", b.hosts)
	if err := b.pool.Register(ctx, b.world.Hosts); err != nil {
		return err
	}
	return b.pool.WaitAvailable(ctx, b.world, quietly)
}

// quietly discards the progress that a step reports.
func quietly(string) {}

// phase is what a part of the run has cost.
type phase struct {
	name string
	// each is how many machines the costs are divided by.
	each int
	took time.Duration
	// requests are those of all clients, and work that of each audited manager.
	requests Counts
	work     []site.Work
	// machines are those that began to run in it.
	machines []types.NamespacedName
}

// phase does a part of the run, and notes what it has cost until the managers are quiet.
func (b *rolloutBench) phase(name string, each int, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, b.patience)
		defer cancel()
		say("%s", name)
		known, err := b.names(ctx)
		if err != nil {
			return err
		}
		before, err := workOf(ctx, b.managers.processes())
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
func (b *rolloutBench) account(ctx context.Context, p *phase, before []site.Work, known map[types.NamespacedName]bool) (err error) {
	if p.requests, err = b.settled(ctx); err != nil {
		return err
	}
	if p.work, err = workSince(ctx, b.managers.processes(), before); err != nil {
		return err
	}
	now, err := b.names(ctx)
	for name := range now {
		if !known[name] {
			p.machines = append(p.machines, name)
		}
	}
	return err
}

// settled counts requests until the audited managers send none for a while.
func (b *rolloutBench) settled(ctx context.Context) (Counts, error) {
	tick := time.NewTicker(max(b.quiet, 2*time.Second))
	defer tick.Stop()
	counts := Counts{}
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

// ofManagers are the requests of the audited managers.
func (b *rolloutBench) ofManagers(counts Counts) Counts {
	all := Counts{}
	for _, m := range b.managers {
		all = all.Plus(counts.Of(m.user))
	}
	return all
}

// names are those of the infrastructure machines.
func (b *rolloutBench) names(ctx context.Context) (map[types.NamespacedName]bool, error) {
	machines, err := b.world.Machines(ctx, rolloutNamespace)
	names := map[types.NamespacedName]bool{}
	for _, m := range machines {
		names[infrastructure(m.Machine)] = true
	}
	return names, err
}

func (b *rolloutBench) create(ctx context.Context) error {
	if err := b.cluster.Create(ctx, b.stack.Repo, b.tenant); err != nil {
		return err
	}
	return b.running(ctx)
}

func (b *rolloutBench) running(ctx context.Context) error {
	return b.cluster.WaitRunning(ctx, b.world, rolloutNamespace, quietly)
}

// grow has the cluster take all hosts and wait for more, which come one by one.
func (b *rolloutBench) grow(ctx context.Context) (err error) {
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
func (b *rolloutBench) shrink(ctx context.Context) (err error) {
	if b.cluster, err = b.cluster.ScaleWorkers(ctx, b.tenant, b.workers); err != nil {
		return err
	}
	return b.running(ctx)
}

// roll replaces all workers, one by one, as Cluster API does by default.
func (b *rolloutBench) roll(ctx context.Context) error {
	old := map[types.NamespacedName]bool{}
	machines, err := b.world.Machines(ctx, rolloutNamespace)
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
func (b *rolloutBench) rollOnServers(ctx context.Context) error {
	if err := b.cluster.KeepServers(ctx, b.tenant); err != nil {
		return err
	}
	return b.roll(ctx)
}

// allRun waits until that many machines run and none of the old ones is left.
func (b *rolloutBench) allRun(ctx context.Context, wanted int, old map[types.NamespacedName]bool) error {
	return b.world.Until(ctx, func(ctx context.Context) (string, error) {
		machines, err := b.world.Machines(ctx, rolloutNamespace)
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
func (b *rolloutBench) remove(ctx context.Context) error {
	o := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: rolloutNamespace, Name: b.cluster.Name}}
	if err := b.tenant.Client.Delete(ctx, o); err != nil {
		return err
	}
	return b.pool.WaitFree(ctx, b.world, b.pool.Servers)
}
