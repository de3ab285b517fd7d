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
	"fmt"
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/cmd/kubectl-metal3/commands"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/capm3"
)

// capm3Story is a cluster that a real CAPM3 has run, on servers of its own namespace.
type capm3Story struct {
	*lifeStory

	// dir is that of the dev cluster.
	dir string
}

// TestClusterOfCAPM3ComesOver plays how a cluster of CAPM3 is taken over, given back and taken over again, and lives on. With
// E2E=long it does so again where hostsim shows the power of servers. One follows the other, since both have the same endpoint.
func TestClusterOfCAPM3ComesOver(t *testing.T) {
	t.Parallel()
	t.Run("with baremetal-operator", func(t *testing.T) {
		newCAPM3Story(t, &side{Stack: lab.Stack, admin: lab.admin, world: lab.world, history: lab.history}).comesOver(t)
	})
	if long() {
		t.Run("with simulated hosts", func(t *testing.T) {
			hosts := newSide(t, lab.folder("capm3"), byHostName(manager.WithSimulatedHosts()))
			newCAPM3Story(t, hosts).comesOver(t)
			expect.Equal(t, []string{}, hosts.history.violations())
		})
	}
}

// comesOver plays the chapters, which build on each other.
func (c *capm3Story) comesOver(t *testing.T) {
	mustRun(t, "it is taken over as it runs", c.isTakenOver)
	mustRun(t, "it is given back as it runs", c.isGivenBack)
	mustRun(t, "it is taken over again", c.isTakenOver)
	if c.simulated() {
		mustRun(t, "a worker that hangs is rebooted", func(t *testing.T) { c.isWatched(t, worker) })
	}
	mustRun(t, "it grows", c.grows)
	mustRun(t, "its workers are rolled out anew, and keep their servers", c.isRolledOut)
	t.Run("it gives its servers back", c.goes)
}

// simulated reports whether hostsim plays the servers, and addresses are preallocated to them.
func (c *capm3Story) simulated() bool { return c.history != lab.history }

// byHostName has the provider manager name claims on pools after hosts, as CAPM3 can.
func byHostName(all []manager.Manager) []manager.Manager {
	for i, m := range all {
		if m.Component == components.ProviderManager {
			all[i].Args = func(p manager.Place) []string { return append(m.Args(p), "--enable-bmh-name-based-preallocation") }
		}
	}
	return all
}

// grows adds a worker. Where addresses are preallocated to the servers, it has that of its server.
func (c *capm3Story) grows(t *testing.T) {
	held := []string{"192.168.7.77", "192.168.7.78"}
	c.edit(t, &ipamv1alpha1.IPPool{}, capm3.Cluster+"-nodes", `{"spec": {"preAllocations": {"server-2-c1-nodes": "`+held[0]+`", "server-3-c1-nodes": "`+held[1]+`"}}}`)
	c.scale(t, capm3.Workers+1)
	c.runsIn(t, c.world)
	addresses := &ipamv1alpha1.IPAddressList{}
	expect.NoError(t, c.admin.List(t.Context(), addresses, client.InNamespace(c.Namespace)))
	expect.That(t, len(addresses.Items) == 1+capm3.Workers+1, "%d addresses are taken", len(addresses.Items))
	has := slices.ContainsFunc(addresses.Items, func(a ipamv1alpha1.IPAddress) bool { return slices.Contains(held, string(a.Spec.Address)) })
	expect.That(t, has == c.simulated(), "the addresses are %v", addresses.Items)
}

// newCAPM3Story loads the cluster, and waits until its servers are up.
func newCAPM3Story(t *testing.T, on *side) *capm3Story {
	t.Helper()
	tenant, err := story.AddTenant(t.Context(), on.admin, on.Cluster, capm3.Namespace)
	expect.NoError(t, err)
	c := &capm3Story{&lifeStory{
		tenantCluster: &tenantCluster{tenant, story.Cluster{
			Name: capm3.Cluster, ControlPlanes: 1, Workers: capm3.Workers, Port: capm3.Port,
		}},
		home: on.admin, world: on.world, admin: on.admin, history: on.history,
		pool: story.Pool{Namespace: capm3.Namespace, Tenants: []string{capm3.Namespace}},
	}, on.Dir}
	expect.NoError(t, c.pool.Register(t.Context(), on.admin))
	expect.NoError(t, capm3.Load(t.Context(), on.admin, capm3.Running, c.Namespace))
	eventually(t, "its servers are up", func(g gomega.Gomega) {
		nodes := &corev1.NodeList{}
		workload, err := c.connect(t)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(workload.List(t.Context(), nodes)).To(gomega.Succeed())
		g.Expect(nodes.Items).To(gomega.HaveLen(1 + capm3.Workers))
	})
	return c
}

// kubectl runs the plugin as the administrator, in the namespace of the cluster.
func (c *capm3Story) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	cmd := commands.New(streams)
	cmd.SetArgs(append(args, "--kubeconfig", cluster.AdminKubeconfig(c.dir), "--cache-dir", t.TempDir(), "-n", c.Namespace))
	expect.NoError(t, cmd.ExecuteContext(t.Context()))
	return out.String()
}

// machines lists the machines with all that belongs to them.
func (c *capm3Story) machines(t *testing.T) []world.Machine {
	t.Helper()
	machines, err := c.world.Machines(t.Context(), c.Namespace)
	expect.NoError(t, err)
	return machines
}

// goesOn is what a take-over leaves as it is.
type goesOn struct {
	Servers  map[string]server
	Machines map[string]types.UID
	// Nodes are the UIDs of the Nodes: a server that was written again would have joined as another one.
	Nodes map[string]types.UID
}

// goesOn reads it, by name.
func (c *capm3Story) goesOn(t *testing.T) goesOn {
	t.Helper()
	now := goesOn{map[string]server{}, map[string]types.UID{}, map[string]types.UID{}}
	for _, host := range hostsIn(t, c.admin, c.Namespace) {
		now.Servers[host.Name] = serverOf(&host)
	}
	for _, m := range c.machines(t) {
		now.Machines[m.Machine.Name] = m.Machine.UID
	}
	for name, node := range c.nodes(t) {
		now.Nodes[name] = node.UID
	}
	return now
}

// isTakenOver previews and asks for it, and ends the pause. Each machine runs with a claim then, which has its server, and
// nothing was done to a server.
func (c *capm3Story) isTakenOver(t *testing.T) {
	before := c.goesOn(t)
	expect.That(t, len(before.Nodes) == 1+capm3.Workers, "the cluster has the Nodes %v", before.Nodes)
	expect.That(t, len(before.Servers) == capm3.Servers, "the servers are %v", before.Servers)
	preview := c.kubectl(t, "preflight", capm3.Cluster)
	expect.That(t, strings.Count(preview, "taken over") == 1+capm3.Workers, "the preview is\n%s", preview)
	annotate(t, c.admin, &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: capm3.Cluster}},
		infrav1.TakeOverAnnotation, "true")
	c.pauses(t, false)
	eventually(t, "each machine has a claim with its server", func(g gomega.Gomega) {
		for _, m := range c.machines(t) {
			g.Expect(m.Host).NotTo(gomega.BeNil(), explainMachine(m))
			says(g, m.Claim.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Provisioned"})
		}
	})
	c.runsIn(t, c.world)
	expect.Equal(t, before, c.goesOn(t))
}

// isGivenBack has the plugin give the cluster back. Each machine is the consumer of its server then, as with CAPM3, there is
// no claim, and nothing was done to a server.
func (c *capm3Story) isGivenBack(t *testing.T) {
	before := c.goesOn(t)
	c.pauses(t, true)
	eachSays(t, c.world, c.Namespace, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason})
	c.kubectl(t, "give-back", capm3.Cluster)
	for _, host := range hostsIn(t, c.admin, c.Namespace) {
		if ref := host.Spec.ConsumerRef; ref != nil {
			expect.That(t, ref.Kind == "Metal3Machine" && host.Labels[clusterv1.ClusterNameLabel] == capm3.Cluster, "host %s has %v", host.Name, ref)
		}
		expect.That(t, len(ourKeys(&host)) == 0, "host %s has %v", host.Name, ourKeys(&host))
	}
	eventually(t, "no claim is left", func(g gomega.Gomega) {
		for _, m := range c.machines(t) {
			g.Expect(m.Claim).To(gomega.BeNil())
		}
	})
	expect.Equal(t, before, c.goesOn(t))
}

// isRolledOut has Cluster API replace the workers, on the servers that they have.
func (c *capm3Story) isRolledOut(t *testing.T) {
	before := c.servers(t)[worker]
	former := map[types.UID]bool{}
	for _, m := range before {
		former[m.UID()] = true
	}
	expect.NoError(t, c.cluster.KeepServers(t.Context(), c.Tenant))
	expect.NoError(t, c.cluster.RollWorkers(t.Context(), c.Tenant))
	eventually(t, "no worker is left", func(g gomega.Gomega) {
		g.Expect(slices.ContainsFunc(c.machines(t), func(m world.Machine) bool { return former[m.UID()] })).To(gomega.BeFalse())
	})
	c.runsIn(t, c.world)
	c.keepServers(t, worker, before)
}

// goes deletes the cluster. All servers are free then.
func (c *capm3Story) goes(t *testing.T) {
	expect.NoError(t, c.Client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: capm3.Cluster}}))
	eventually(t, "all servers are free", func(g gomega.Gomega) {
		g.Expect(c.machines(t)).To(gomega.BeEmpty())
		for _, host := range hostsIn(t, c.admin, c.Namespace) {
			g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil(), host.Name)
			g.Expect(remains(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(ourKeys(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(host.Spec.AutomatedCleaningMode).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata), host.Name)
		}
	})
}

// pauses sets whether the cluster is paused.
func (c *capm3Story) pauses(t *testing.T, paused bool) {
	t.Helper()
	whole := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: capm3.Cluster}}
	patch := fmt.Appendf(nil, `{"spec": {"paused": %t}}`, paused)
	expect.NoError(t, c.admin.Patch(t.Context(), whole, client.RawPatch(types.MergePatchType, patch)))
}
