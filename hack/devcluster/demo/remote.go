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
	"strings"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// RunRemote plays the story of a tenant whose servers are in another cluster. As Run it leaves both
// clusters on success, and none on error.
func RunRemote(ctx context.Context, o Options) error {
	path, err := o.Repo.Clients(ctx, o.Out)
	if err != nil {
		return err
	}
	pair, err := stack.UpPair(ctx, stack.Options{Repo: o.Repo, Dir: o.Dir, Out: o.Out})
	if err != nil {
		return err
	}
	if err := tellRemote(ctx, o, pair, path); err != nil {
		o.Out.Text("Logs: " + pair.Tenants.Group.LogFile("*") + " " + pair.Hosts.Group.LogFile("*"))
		return errors.Join(err, pair.Stop())
	}
	return nil
}

// remote is the story of two clusters.
type remote struct {
	*script

	onboarding story.Onboarding
}

func tellRemote(ctx context.Context, o Options, pair *stack.Pair, path string) error {
	ctx, cancel := pair.Guard(ctx)
	defer cancel()
	w, err := world.OpenPair(ctx, pair.Tenants.Admin, pair.Hosts.Admin)
	if err != nil {
		return err
	}
	tenants, hosts := pair.Kubeconfigs()
	play := &remote{
		script: &script{
			Stack:    pair.Tenants,
			hosts:    pair.Hosts,
			path:     path,
			out:      o.Out,
			world:    w,
			narrator: newNarrator(w, o.Out),
			pool:     story.Pool{Namespace: "infra", Servers: 4, Tenants: []string{"blue"}},
		},
		onboarding: story.Onboarding{
			Repo: o.Repo, Hosts: hosts, Management: tenants,
			Claims: "blue", Namespace: "clusters", Secret: "hosts", Servers: 4, Expiry: 24 * time.Hour,
		},
	}
	return play.tell(ctx, []scene{
		{"register 4 servers in the cluster with the hosts", play.registerServers},
		{"let the tenant in by hack/tenant", play.letIn},
		{"the tenant creates a cluster of 3+1 machines with an identityRef", play.createCluster},
		{"renew the tenant's credential", play.renew},
		{"the tenant gives its worker back with the new credential", play.shrink},
	}, play.hints)
}

// letIn prepares the tenant's namespace in its own cluster, and has the program of
// the infrastructure team do the rest.
func (p *remote) letIn(ctx context.Context, _ func(string)) error {
	ports, err := cluster.FreeEndpoints(1)
	if err != nil {
		return err
	}
	tenant, err := story.OwnerOf(ctx, p.world.Client, p.Cluster, p.onboarding.Namespace)
	if err != nil {
		return err
	}
	p.a = &actor{tenant, story.Cluster{
		Name: "a", ControlPlanes: 3, Workers: 1, Port: ports[0], Subnet: 101, Identity: p.onboarding.Secret,
	}}
	return p.onboard(ctx)
}

// renew issues another token. That no machine notices, the next scene shows.
func (p *remote) renew(ctx context.Context, note func(string)) error {
	if err := p.onboard(ctx); err != nil {
		return err
	}
	return p.a.waitRunning(ctx, p.world, note)
}

func (p *remote) onboard(ctx context.Context) error {
	said, err := p.onboarding.Run(ctx)
	if err != nil {
		return err
	}
	for line := range strings.Lines(said) {
		p.out.Line("hack/tenant: %s", strings.TrimSpace(line))
	}
	return nil
}

func (p *remote) createCluster(ctx context.Context, note func(string)) error {
	if err := p.a.cluster.Create(ctx, p.Repo, p.a.Tenant); err != nil {
		return err
	}
	return p.a.waitRunning(ctx, p.world, note)
}

func (p *remote) shrink(ctx context.Context, note func(string)) error {
	var err error
	if p.a.cluster, err = p.a.cluster.ScaleWorkers(ctx, p.a.Tenant, p.a.cluster.Workers-1); err != nil {
		return err
	}
	if err := p.a.waitRunning(ctx, p.world, note); err != nil {
		return err
	}
	return p.pool.WaitFree(ctx, p.world, p.pool.Servers-p.a.cluster.ControlPlanes)
}

// hints returns the commands to look around in either cluster and to stop.
func (p *remote) hints() string {
	return fmt.Sprintf(`
Look around where the tenant works; there is no host and no claim:
  export PATH=%[2]s:$PATH
  export KUBECONFIG=%[1]s
  kubectl get clusters,machines,metal3machines -A
  kubectl get secret %[3]s -n %[4]s -o yaml
and where the hosts are; there is no cluster and no machine:
  export KUBECONFIG=%[5]s
  kubectl get hostclaims,hardwaredata -n %[6]s
  kubectl get baremetalhosts -n %[7]s
  kubectl metal3 pool -n %[7]s
  kubectl get role,rolebinding,resourcequota -n %[6]s   # nothing counts a quota in a dev cluster
The tokens of this demo are good for a day.
Logs: %[8]s %[9]s
Stop: %[10]s
`, console.Word(p.onboarding.Management), console.Word(p.path), p.onboarding.Secret, p.onboarding.Namespace, console.Word(p.onboarding.Hosts),
		p.onboarding.Claims, p.pool.Namespace, p.Group.LogFile("*"), p.hosts.Group.LogFile("*"), stack.StopCommand(p.Repo, p.Dir))
}
