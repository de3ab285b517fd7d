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

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// stepTimeout ends a step that does not get on: it takes seconds as a rule.
const stepTimeout = 5 * time.Minute

// Options are where the demo runs.
type Options struct {
	Repo components.Repo
	Dir  string
	Out  *console.Printer
}

// Run starts a dev cluster and plays the story on it. On success the cluster stays, to look around
// in; on error it is ended.
func Run(ctx context.Context, o Options) error {
	return run(ctx, o, manager.All(), func(ctx context.Context, play *script) error {
		play.pool = story.Pool{Namespace: "infra", Servers: 8, Tenants: []string{"tenant-a", "tenant-b"}}
		return play.tell(ctx, []scene{
			{"register 8 servers in namespace infra", play.registerServers},
			{"let tenants a and b in", play.addTenants},
			{"tenants create their clusters: a 3+2, b 1+1 machines", play.createClusters},
			{"b asks for two more workers, and one server is free", play.growB},
			{"a gives a worker back, and b gets its server", play.shrinkA},
			{"register two more servers, which are left for you", play.leaveServers},
		}, play.hints)
	})
}

// run starts a dev cluster with these managers, and tells a story of one cluster.
func run(ctx context.Context, o Options, managers []manager.Manager, story func(context.Context, *script) error) error {
	path, err := o.Repo.Clients(ctx, o.Out)
	if err != nil {
		return err
	}
	s, err := stack.Up(ctx, stack.Options{Repo: o.Repo, Dir: o.Dir, Managers: managers, Out: o.Out})
	if err != nil {
		return err
	}
	if err := begin(ctx, o, s, path, story); err != nil {
		o.Out.Text("Logs: " + s.Group.LogFile("*"))
		return errors.Join(err, s.Group.Stop())
	}
	return nil
}

// script is the story with everything that its scenes share.
type script struct {
	*stack.Stack

	// hosts is where the servers are: the same, but for the story of two clusters.
	hosts *stack.Stack
	// path has the folders of kubectl and clusterctl.
	path string

	out      *console.Printer
	world    *world.World
	narrator *narrator
	pool     story.Pool
	a, b     *actor
}

// actor is a tenant and its cluster.
type actor struct {
	*story.Tenant

	cluster story.Cluster
}

func begin(ctx context.Context, o Options, s *stack.Stack, path string, story func(context.Context, *script) error) error {
	// Watches and narration end with the story, and the story with any process.
	ctx, cancel := s.Group.Guard(ctx)
	defer cancel()
	w, err := world.Open(ctx, s.Admin)
	if err != nil {
		return err
	}
	return story(ctx, &script{Stack: s, hosts: s, path: path, out: o.Out, world: w, narrator: newNarrator(w, o.Out)})
}

// scene is one step of the story.
type scene struct {
	title string
	play  func(context.Context, func(string)) error
}

// tell plays the scenes and prints the final report.
func (p *script) tell(ctx context.Context, scenes []scene, hints func() string) error {
	started := time.Now()
	go p.narrator.run(ctx)
	for _, s := range scenes {
		if err := p.scene(ctx, s.title, s.play); err != nil {
			return fmt.Errorf("%s: %w", s.title, p.explain(err))
		}
	}
	if err := p.curtain(context.WithoutCancel(ctx), time.Since(started)); err != nil {
		return err
	}
	p.out.Text(hints())
	return nil
}

func (p *script) scene(ctx context.Context, title string, play func(context.Context, func(string)) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stepTimeout, fmt.Errorf("not done after %s", stepTimeout))
	defer cancel()
	task := p.out.Task(title)
	err := play(ctx, func(text string) { task.Note("%s", text) })
	task.Done(err)
	return err
}

func (p *script) registerServers(ctx context.Context, note func(string)) error {
	if err := p.pool.Register(ctx, p.world.Hosts); err != nil {
		return err
	}
	return p.pool.WaitAvailable(ctx, p.world, note)
}

func (p *script) addTenants(ctx context.Context, _ func(string)) error {
	ports, err := cluster.FreeEndpoints(2)
	if err != nil {
		return err
	}
	a, err := story.AddTenant(ctx, p.world.Client, p.Cluster, "tenant-a")
	if err != nil {
		return err
	}
	b, err := story.AddTenant(ctx, p.world.Client, p.Cluster, "tenant-b")
	if err != nil {
		return err
	}
	p.a = &actor{a, story.Cluster{Name: "a", ControlPlanes: 3, Workers: 2, Port: ports[0], Subnet: 101}}
	p.b = &actor{b, story.Cluster{Name: "b", ControlPlanes: 1, Workers: 1, Port: ports[1], Subnet: 102}}
	return nil
}

func (p *script) createClusters(ctx context.Context, note func(string)) error {
	for _, actor := range []*actor{p.a, p.b} {
		if err := actor.cluster.Create(ctx, p.Repo, actor.Tenant); err != nil {
			return err
		}
	}
	for _, actor := range []*actor{p.a, p.b} {
		if err := actor.waitRunning(ctx, p.world, note); err != nil {
			return err
		}
	}
	return nil
}

func (p *script) growB(ctx context.Context, note func(string)) error {
	var err error
	if p.b.cluster, err = p.b.cluster.ScaleWorkers(ctx, p.b.Tenant, p.b.cluster.Workers+2); err != nil {
		return err
	}
	note("one machine must wait")
	machine, reason, err := story.WaitForShortage(ctx, p.world, p.pool, p.b.Namespace)
	if err != nil {
		return err
	}
	p.out.Line("tenant b sees why %s waits: %s", machine.Name(), reason)
	return nil
}

func (p *script) shrinkA(ctx context.Context, note func(string)) error {
	var err error
	if p.a.cluster, err = p.a.cluster.ScaleWorkers(ctx, p.a.Tenant, p.a.cluster.Workers-1); err != nil {
		return err
	}
	if err := p.a.waitRunning(ctx, p.world, note); err != nil {
		return err
	}
	return p.b.waitRunning(ctx, p.world, note)
}

// leaveServers registers two free servers: one for docs/claims-by-hand.md and two for the
// cluster of docs/tenant-quick-start.md, if the claim is given back before. The policy
// stays as it is: the guides write their own.
func (p *script) leaveServers(ctx context.Context, note func(string)) error {
	var err error
	if p.pool, err = p.pool.Grow(ctx, p.world.Hosts, 2); err != nil {
		return err
	}
	note("until they are available")
	return p.pool.WaitFree(ctx, p.world, 2)
}

func (a *actor) waitRunning(ctx context.Context, w *world.World, note func(string)) error {
	return a.cluster.WaitRunning(ctx, w, a.Namespace, func(text string) { note(a.Namespace + ": " + text) })
}
