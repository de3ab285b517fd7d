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

package stack

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
)

// Pair is two dev clusters that know of each other only by a kubeconfig.
type Pair struct {
	// Tenants has Cluster API and the provider manager, and no hosts.
	Tenants *Stack
	// Hosts has baremetal-operator and the hostclaim manager, and no Cluster API.
	Hosts *Stack
}

// HostsDir is the state folder of the cluster with the hosts, inside that of the
// cluster of the tenants.
func HostsDir(dir string) string {
	return filepath.Join(dir, "hosts")
}

// UpPair builds, cleans and starts both. The managers are given by the side; those
// of the options do not count.
func UpPair(ctx context.Context, o Options) (*Pair, error) {
	o.Managers = manager.All()
	if err := o.prepare(ctx); err != nil {
		return nil, err
	}
	if err := o.Repo.Build(ctx, o.Out, components.Tenant); err != nil {
		return nil, err
	}
	hosts := o
	hosts.Dir, hosts.Managers = HostsDir(o.Dir), manager.BesideHosts()
	o.Managers = manager.BesideTenants()
	pair := &Pair{}
	var err error
	o.Out.Line("the cluster with the hosts:")
	if pair.Hosts, err = start(ctx, hosts); err != nil {
		return nil, err
	}
	o.Out.Line("the cluster of the tenants:")
	if pair.Tenants, err = start(ctx, o); err != nil {
		return nil, errors.Join(err, pair.Hosts.Group.Stop())
	}
	return pair, nil
}

// Stop ends both.
func (p *Pair) Stop() error {
	return errors.Join(p.Tenants.Group.Stop(), p.Hosts.Group.Stop())
}

// Guard returns a context that also ends when any process of either does.
func (p *Pair) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, first := p.Tenants.Group.Guard(ctx)
	ctx, second := p.Hosts.Group.Guard(ctx)
	return ctx, func() {
		second()
		first()
	}
}

// Kubeconfigs are those of the administrators of the two clusters.
func (p *Pair) Kubeconfigs() (tenants, hosts string) {
	return cluster.AdminKubeconfig(p.Tenants.Dir), cluster.AdminKubeconfig(p.Hosts.Dir)
}
