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
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
)

// explain adds to an error which machines are stuck and why.
func (p *script) explain(err error) error {
	// The story's context may be over; the machines are in memory.
	machines, listErr := p.world.Machines(context.Background())
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	var stuck strings.Builder
	for _, machine := range machines {
		if !machine.Running() {
			fmt.Fprintf(&stuck, "\n  %s %s (%s)", machine.Name(), machine.Step(), machine.Stuck())
		}
	}
	if stuck.Len() == 0 {
		return err
	}
	return fmt.Errorf("%w\nmachines that do not run:%s", err, stuck.String())
}

// curtain prints what came of it all.
func (p *script) curtain(ctx context.Context, took time.Duration) error {
	machines, err := p.world.Machines(ctx)
	if err != nil {
		return err
	}
	var rows []row
	var slowest time.Duration
	for _, machine := range machines {
		ready, provisioned := p.narrator.times(machine.UID())
		slowest = max(slowest, provisioned)
		rows = append(rows, newRow(machine, ready))
	}
	memory, err := p.memory()
	if err != nil {
		return err
	}
	p.out.Text("\n" + table(rows))
	p.out.Text(fmt.Sprintf("The story took %.0f s. READY AFTER counts from the Machine on: most of it, Cluster API has the machine wait for others, or for its Node to be seen.\nThe slowest machine was provisioned %s after its turn, that is, after its user data and a server were there.\nResident memory: %s.",
		took.Seconds(), seconds(slowest), memory))
	return nil
}

// memory returns the resident memory of our two managers, as a line of the report.
func (p *script) memory() (string, error) {
	var parts []string
	var total int64
	for _, running := range []*manager.Running{
		p.Running[components.ProviderManager], p.hosts.Running[components.HostClaimManager],
	} {
		bytes, err := running.Process.ResidentBytes()
		if err != nil {
			return "", fmt.Errorf("memory of %s: %w", running.Spec.Name, err)
		}
		total += bytes
		parts = append(parts, fmt.Sprintf("%s %d MiB", running.Spec.Name, bytes>>20))
	}
	return fmt.Sprintf("%s, together %d MiB", strings.Join(parts, ", "), total>>20), nil
}

// hints returns the commands to look around and to stop.
func (p *script) hints() string {
	return fmt.Sprintf(`
Look around, as the administrator:
  export PATH=%[2]s:$PATH
  export KUBECONFIG=%[1]s
  kubectl get machines,metal3machines,hostclaims -A
  kubectl get baremetalhosts -n %[3]s
  kubectl get hardwaredata -n %[4]s -o yaml
  kubectl metal3 pool -n %[3]s
or as tenant b, who sees neither hosts nor tenant a:
  kubectl --kubeconfig %[5]s get machines,hostclaims
  clusterctl --kubeconfig %[5]s describe cluster b -n %[7]s
Two servers are free. Take one by docs/claims-by-hand.md, or make a cluster of your own
by docs/tenant-quick-start.md. More servers: go -C hack/devcluster run . servers 2%[9]s
Logs: %[6]s; what the servers do stands in hostsim.log
Restart a manager: go -C hack/devcluster run . restart %[8]s%[9]s
Stop: %[10]s
`, console.Word(cluster.AdminKubeconfig(p.Dir)), console.Word(p.path), p.pool.Namespace, p.a.Namespace, console.Word(p.b.Kubeconfig), p.Group.LogFile("*"),
		p.b.Namespace, components.HostClaimManager, stack.Flag(p.Repo, p.Dir), stack.StopCommand(p.Repo, p.Dir))
}
