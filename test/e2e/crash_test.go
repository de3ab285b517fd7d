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

package e2e

import (
	"context"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
)

// TestKilledManagersLoseNothing kills both leaders while a machine is on its
// way, without a chance to put anything in order or to give their leases back.
// Once their successors have waited for the leases, the machine goes on by
// itself. It runs before the parallel tests, which it would disturb.
func TestKilledManagersLoseNothing(t *testing.T) {
	pool := story.Pool{Namespace: "crash-infra", Servers: 1, Tenants: []string{"crash"}}
	must(t, pool.Register(t.Context(), lab.admin))
	must(t, pool.WaitAvailable(limited(t), lab.world, ignoreNotes))
	ports, err := cluster.FreePorts(1)
	must(t, err)
	a := newActor(t, "crash", story.Cluster{Name: "c", ControlPlanes: 1, Port: ports[0], Subnet: 111})
	must(t, a.cluster.Create(t.Context(), lab.Repo, a.Tenant))

	must(t, lab.world.Until(limited(t), func(ctx context.Context) (string, error) {
		machines, err := lab.world.Machines(ctx, a.Namespace)
		if err != nil || len(machines) == 1 && machines[0].Claim != nil {
			return "", err
		}
		return "the machine of " + a.Namespace + " has no claim", nil
	}))
	leaders := []string{components.ProviderManager, components.HostClaimManager}
	for _, name := range leaders {
		must(t, kill(name))
	}
	m := a.machines(t)[0]
	t.Logf("killed the managers while %s %s", m.Name(), m.Step())
	if m.Provisioned() {
		t.Error("the machine was provisioned already")
	}
	group, ctx := errgroup.WithContext(t.Context())
	for _, name := range leaders {
		group.Go(func() error { return lab.Running[name].Start(ctx, lab.Cluster) })
	}
	must(t, group.Wait())
	a.runs(t)
	for _, m := range a.machines(t) {
		conditionsHold(t, m)
	}
}

// kill ends a process in the middle of whatever it does.
func kill(name string) error {
	process := lab.Running[name].Process
	if err := syscall.Kill(process.PID, syscall.SIGKILL); err != nil {
		return err
	}
	<-process.Exited()
	// It is dead already; this only strikes it off the list of what must be ended.
	return lab.Group.StopOne(name)
}
