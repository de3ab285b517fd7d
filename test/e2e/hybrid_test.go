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
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// hybridStory is a cluster with its control plane on virtual machines, and its workers on servers.
type hybridStory struct {
	*tenantCluster
	side *side
}

// TestHybridCluster plays a cluster on two kinds of compute, with one grammar of data templates and one IPPool.
func TestHybridCluster(t *testing.T) {
	t.Parallel()
	expect.NoError(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.KubeVirtManager))
	h := &hybridStory{
		tenantCluster: &tenantCluster{cluster: story.Cluster{Name: "hybrid", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 121}},
		side:          newSide(t, lab.folder("hybrid"), manager.WithKubeVirt(manager.All())),
	}
	pool := story.Pool{Namespace: "hybrid-infra", Servers: 2, Tenants: []string{"hybrid"}}
	expect.NoError(t, pool.Register(t.Context(), h.side.admin))
	expect.NoError(t, pool.WaitAvailable(limited(t), h.side.world, ignoreNotes))
	var err error
	h.Tenant, err = story.AddTenant(t.Context(), h.side.admin, h.side.Cluster, "hybrid")
	expect.NoError(t, err)
	expect.NoError(t, story.OfferVirtualMachines(t.Context(), h.side.admin, h.Namespace))
	mustRun(t, "a control plane on virtual machines, workers on servers", h.comesUp)
	mustRun(t, "a MachineDeployment changes its class in a rolling update", h.workersBecomeVirtual)
	mustRun(t, "a deleted cluster leaves nothing behind", h.isDeleted)
	expect.Equal(t, []string{}, h.side.history.violations())
}

func (h *hybridStory) comesUp(t *testing.T) {
	expect.NoError(t, h.cluster.CreateHybrid(t.Context(), lab.Repo, h.Tenant))
	h.runsIn(t, h.side.world)
	expect.Equal(t, 1, h.virtual(t))
	expect.Equal(t, 1, h.servers(t))
}

// virtual counts the virtual machines of the tenant, servers those that the pool has given away.
func (h *hybridStory) virtual(t *testing.T) int {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineList"})
	expect.NoError(t, h.side.admin.List(t.Context(), list, client.InNamespace(h.Namespace)))
	return len(list.Items)
}

func (h *hybridStory) servers(t *testing.T) int {
	t.Helper()
	machines, err := h.side.world.Machines(t.Context(), h.Namespace)
	expect.NoError(t, err)
	given := 0
	for _, m := range machines {
		if m.Host != nil {
			given++
		}
	}
	return given
}

// workersBecomeVirtual gives the MachineDeployment another template.
func (h *hybridStory) workersBecomeVirtual(t *testing.T) {
	expect.NoError(t, h.cluster.WorkersOnVirtualMachines(t.Context(), h.Tenant))
	eventually(t, "all machines are virtual", func(g gomega.Gomega) {
		g.Expect(h.virtual(t)).To(gomega.Equal(2))
		g.Expect(h.servers(t)).To(gomega.BeZero())
	})
	h.runsIn(t, h.side.world)
}

func (h *hybridStory) isDeleted(t *testing.T) {
	expect.NoError(t, h.Client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.cluster.Name}}))
	eventually(t, "nothing is left", func(g gomega.Gomega) {
		machines, err := h.side.world.Machines(t.Context(), h.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(machines).To(gomega.BeEmpty())
		g.Expect(h.virtual(t)).To(gomega.BeZero())
	})
}
