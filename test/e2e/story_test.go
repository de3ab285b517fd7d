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
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// play is the story of the demo: a pool of 8 servers and two tenants.
type play struct {
	pool story.Pool
	a, b *actor
}

// actor is a tenant and its cluster.
type actor struct {
	*story.Tenant

	cluster story.Cluster
}

// TestTenantsShareAPool plays the story. Its chapters build on each other.
func TestTenantsShareAPool(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	// What follows stands on these.
	founds := func(ok bool) {
		if !ok {
			t.FailNow()
		}
	}
	founds(t.Run("both clusters come up", p.clustersComeUp))
	t.Run("each machine is a Node and says which server it is", p.machinesAreNodes)
	t.Run("the facts of each server are published to its tenant", p.factsArePublished)
	t.Run("config drives hold what the template asks for", p.templatesAreRendered)
	t.Run("only what a server needs lies next to it", p.copiesAreNarrow)
	t.Run("tenant b sees nothing of others", p.tenantIsConfined)
	t.Run("tenant b uses clusterctl", p.tenantUsesClusterctl)
	t.Run("neither manager can do the work of the other", p.managersAreConfined)
	founds(t.Run("a machine without a server says why", p.shortageIsExplained))
	founds(t.Run("a freed server is wiped and goes to who waits", p.serverChangesHands))
	t.Run("a deleted cluster leaves nothing behind", p.clusterGoes)
}

// newPlay registers the pool and lets both tenants in.
func newPlay(t *testing.T) *play {
	t.Helper()
	p := &play{pool: story.Pool{Namespace: "infra", Servers: 8, Tenants: []string{"tenant-a", "tenant-b"}}}
	must(t, p.pool.Register(t.Context(), lab.admin))
	// A mode that is not the one of our leases shows whether it is restored.
	for _, host := range hosts(t, p.pool.Namespace) {
		before := host.DeepCopy()
		host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
		must(t, lab.admin.Patch(t.Context(), &host, client.MergeFrom(before)))
	}
	must(t, p.pool.WaitAvailable(limited(t), lab.world, ignoreNotes))
	ports, err := cluster.FreePorts(2)
	must(t, err)
	p.a = newActor(t, "tenant-a", story.Cluster{Name: "a", ControlPlanes: 3, Workers: 2, Port: ports[0], Subnet: 101})
	p.b = newActor(t, "tenant-b", story.Cluster{Name: "b", ControlPlanes: 1, Workers: 1, Port: ports[1], Subnet: 102})
	return p
}

func newActor(t *testing.T, namespace string, wanted story.Cluster) *actor {
	t.Helper()
	return &actor{newTenant(t, namespace), wanted}
}

// newTenant lets a tenant in.
func newTenant(t *testing.T, namespace string) *story.Tenant {
	t.Helper()
	tenant, err := story.AddTenant(t.Context(), lab.admin, lab.Cluster, namespace)
	must(t, err)
	return tenant
}

// clustersComeUp creates both clusters from the template, with the rights of the
// tenants, and waits for all machines.
func (p *play) clustersComeUp(t *testing.T) {
	for _, actor := range []*actor{p.a, p.b} {
		must(t, actor.cluster.Create(t.Context(), lab.Repo, actor.Tenant))
	}
	for _, actor := range []*actor{p.a, p.b} {
		actor.runs(t)
	}
}

// runs waits until the cluster has exactly its machines, all of them Running,
// and its control plane is complete.
func (a *actor) runs(t *testing.T) {
	t.Helper()
	a.runsIn(t, lab.world)
}

// runsIn does so in another dev cluster than that of this package.
func (a *actor) runsIn(t *testing.T, w *world.World) {
	t.Helper()
	eventually(t, "cluster "+a.cluster.Name+" runs", func(g gomega.Gomega) {
		machines, err := w.Machines(t.Context(), a.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(machines).To(gomega.HaveLen(a.cluster.ControlPlanes + a.cluster.Workers))
		for _, m := range machines {
			g.Expect(m.Machine.Status.Phase).To(gomega.Equal(string(clusterv1.MachinePhaseRunning)), m.Name())
		}
		key := client.ObjectKey{Namespace: a.Namespace, Name: a.cluster.Name}
		plane := &controlplanev1.KubeadmControlPlane{}
		g.Expect(w.Get(t.Context(), key, plane)).To(gomega.Succeed())
		g.Expect(plane.Status.Initialization.ControlPlaneInitialized).To(gomega.HaveValue(gomega.BeTrue()))
		g.Expect(plane.Status.ReadyReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(a.cluster.ControlPlanes)), func() string {
			said := []string{"ready replicas; conditions of the control plane:"}
			said = append(said, conditionLines("", plane.Status.Conditions)...)
			for _, m := range machines {
				said = append(said, explainMachine(m))
			}
			return strings.Join(said, "\n")
		})
		whole := &clusterv1.Cluster{}
		g.Expect(w.Get(t.Context(), key, whole)).To(gomega.Succeed())
		g.Expect(meta.IsStatusConditionTrue(whole.Status.Conditions, clusterv1.ClusterAvailableCondition)).To(gomega.BeTrue(), "Cluster Available")
	})
}

// machines lists the machines of the tenant with all that belongs to them.
func (a *actor) machines(t *testing.T) []world.Machine {
	t.Helper()
	machines, err := lab.world.Machines(t.Context(), a.Namespace)
	must(t, err)
	return machines
}

// machines lists those of both tenants; each must have everything.
func (p *play) machines(t *testing.T) []world.Machine {
	t.Helper()
	all := append(p.a.machines(t), p.b.machines(t)...)
	for _, m := range all {
		if m.Metal3 == nil || m.Claim == nil || m.Host == nil {
			t.Fatalf("%s lacks Metal3Machine, claim or host: %s", m.Name(), m.Step())
		}
	}
	return all
}

// of returns the tenant of a machine.
func (p *play) of(m world.Machine) *actor {
	if m.Machine.Namespace == p.a.Namespace {
		return p.a
	}
	return p.b
}

// hosts reads the hosts of a namespace.
func hosts(t *testing.T, namespace string) []bmov1alpha1.BareMetalHost {
	t.Helper()
	var list bmov1alpha1.BareMetalHostList
	must(t, lab.admin.List(t.Context(), &list, client.InNamespace(namespace)))
	return list.Items
}

// limited returns a context for the steps of package story.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), stepTimeout, fmt.Errorf("not done after %s", stepTimeout))
	t.Cleanup(cancel)
	return ctx
}

// ignoreNotes takes the progress notes of a step, which only the demo shows.
func ignoreNotes(string) {}
