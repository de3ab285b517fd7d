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
	"os"
	"path/filepath"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
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
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/audit"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// namespace has the cluster and its hosts: other providers know of no others.
const namespace = "rollout"

// bench is one run.
type bench struct {
	settings
	*program.Run

	stack    *stack.Stack
	world    *world.World
	tenant   *story.Tenant
	pool     story.Pool
	cluster  story.Cluster
	log      *audit.Log
	managers []measured
	lives    *lives
	phases   []phase
}

// measured is a manager whose costs are of interest.
type measured struct {
	*site.Manager

	name, user string
}

// up starts the dev cluster.
func (b *bench) up(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	ours := manager.Own()
	if b.other != "" {
		ours = []manager.Manager{manager.Other(b.command(), b.manifests)}
		b.Figures.Facts["manager"] = b.other
	}
	b.stack, err = stack.Up(ctx, stack.Options{
		Repo: repo, Dir: filepath.Join(b.Folder, "devcluster"), Audit: true, Out: console.New(os.Stderr),
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
	b.log = audit.Open(cluster.AuditLog(b.stack.Dir))
	return nil
}

// watch begins to note what happens to machines.
func (b *bench) watch(ctx context.Context) (err error) {
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

// register makes the namespace and its hosts. The cluster is created with the rights of
// the administrator, since the role of tenants is installed by our managers only.
func (b *bench) register(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	if b.tenant, err = story.AddTenant(ctx, b.world.Client, b.stack.Cluster, namespace); err != nil {
		return err
	}
	b.tenant.Client = b.world.Client
	ports, err := cluster.FreePorts(1)
	if err != nil {
		return err
	}
	b.cluster = story.Cluster{Name: "bench", ControlPlanes: 1, Workers: b.workers, Port: ports[0], Subnet: 101}
	b.pool = story.Pool{Namespace: namespace, Servers: b.hosts, Tenants: []string{namespace}}
	program.Say("registering %d hosts", b.hosts)
	if err := b.pool.Register(ctx, b.world.Hosts); err != nil {
		return err
	}
	return b.pool.WaitAvailable(ctx, b.world, quietly)
}

// quietly is for steps that would tell how far they are.
func quietly(string) {}
