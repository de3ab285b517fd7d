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
	"fmt"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
)

// hybrid is the story of a cluster on two kinds of compute.
type hybrid struct{ *script }

// RunHybrid plays the story of a cluster with its control plane on virtual machines and its workers on servers. It leaves
// the dev cluster on success, and none on error.
func RunHybrid(ctx context.Context, o Options) error {
	return run(ctx, o, manager.WithKubeVirt(manager.All()), func(ctx context.Context, s *script) error {
		s.pool = story.Pool{Namespace: "infra", Servers: 2, Tenants: []string{"tenant-a"}}
		play := &hybrid{s}
		return play.tell(ctx, []scene{
			{"register 2 servers in namespace infra", play.registerServers},
			{"let tenant a in, and offer it virtual machines by a HostClaimClass", play.letIn},
			{"the tenant creates a cluster: 3 virtual machines, 2 servers", play.createCluster},
			{"its workers change their class in a rolling update", play.becomeVirtual},
		}, play.hints)
	})
}

func (p *hybrid) letIn(ctx context.Context, _ func(string)) error {
	ports, err := cluster.FreeEndpoints(1)
	if err != nil {
		return err
	}
	tenant, err := story.AddTenant(ctx, p.world.Client, p.Cluster, "tenant-a")
	if err != nil {
		return err
	}
	p.a = &actor{tenant, story.Cluster{Name: "a", ControlPlanes: 3, Workers: 2, Port: ports[0], Subnet: 101}}
	return story.OfferVirtualMachines(ctx, p.world.Client, tenant.Namespace)
}

func (p *hybrid) createCluster(ctx context.Context, note func(string)) error {
	if err := p.a.cluster.CreateHybrid(ctx, p.Repo, p.a.Tenant); err != nil {
		return err
	}
	return p.a.waitRunning(ctx, p.world, note)
}

func (p *hybrid) becomeVirtual(ctx context.Context, note func(string)) error {
	if err := p.a.cluster.WorkersOnVirtualMachines(ctx, p.a.Tenant); err != nil {
		return err
	}
	note("until the servers are clean and free")
	if err := p.pool.WaitFree(ctx, p.world, p.pool.Servers); err != nil {
		return err
	}
	return p.a.waitRunning(ctx, p.world, note)
}

// hints returns the commands to look around and to stop.
func (p *hybrid) hints() string {
	return fmt.Sprintf(`
Look around, as the administrator:
  export PATH=%[2]s:$PATH
  export KUBECONFIG=%[1]s
  kubectl get hostclaimclasses
  kubectl get machines,hostclaims,virtualmachines,virtualmachineinstances,datavolumes -n %[3]s
  kubectl get baremetalhosts -n %[4]s
Logs: %[5]s; what servers and virtual machines do stands in hostsim.log
Stop: %[6]s
`, console.Word(cluster.AdminKubeconfig(p.Dir)), console.Word(p.path), p.a.Namespace, p.pool.Namespace, p.Group.LogFile("*"),
		stack.StopCommand(p.Repo, p.Dir))
}
