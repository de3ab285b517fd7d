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
	"slices"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/guest"
)

// hybridStory is a cluster with its control plane on virtual machines, and its workers on servers.
type hybridStory struct {
	*tenantCluster

	// side is the dev cluster with the compute.
	side *side
	// world sees the machines, and their claims wherever they are. The claims for virtual machines are in the namespace
	// of that name of the side.
	world           *world.World
	virtualMachines string
}

// TestHybridCluster plays a cluster on two kinds of compute, with one grammar of data templates and one IPPool; then one
// whose compute is in another cluster, with an identityRef for each kind.
func TestHybridCluster(t *testing.T) {
	t.Parallel()
	expect.NoError(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.KubeVirtManager, components.Tenant))
	side := newSide(t, lab.folder("hybrid"), manager.WithKubeVirt(manager.All()))
	pool := story.Pool{Namespace: "hybrid-infra", Servers: 2, Tenants: []string{"hybrid", "far-servers"}}
	expect.NoError(t, pool.Register(t.Context(), side.admin))
	near, far := newHybridStory(t, side), newFarHybridStory(t, side)
	expect.NoError(t, story.OfferVirtualMachines(t.Context(), side.admin, near.virtualMachines, far.virtualMachines))
	expect.NoError(t, pool.WaitAvailable(limited(t), side.world, ignoreNotes))
	mustRun(t, "compute in the same cluster", near.plays)
	mustRun(t, "compute in another cluster", far.plays)
	expect.NoError(t, pool.WaitFree(limited(t), side.world, pool.Servers))
	expect.Equal(t, []string{}, side.history.violations())
}

func (h *hybridStory) plays(t *testing.T) {
	mustRun(t, "a control plane on virtual machines, workers on servers", h.comesUp)
	mustRun(t, "a MachineDeployment changes its class in a rolling update", h.workersBecomeVirtual)
	mustRun(t, "a virtual machine that hangs is rebooted", h.isRebooted)
	mustRun(t, "a deleted cluster leaves nothing behind", h.isDeleted)
}

// newHybridStory is that of a tenant where the compute is.
func newHybridStory(t *testing.T, side *side) *hybridStory {
	t.Helper()
	tenant, err := story.AddTenant(t.Context(), side.admin, side.Cluster, "hybrid")
	expect.NoError(t, err)
	wanted := story.Cluster{Name: "hybrid", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 121}
	return &hybridStory{tenantCluster: &tenantCluster{tenant, wanted}, side: side, world: side.world, virtualMachines: tenant.Namespace}
}

// newFarHybridStory is that of a tenant of the dev cluster of this package, who gets one credential for servers, and one
// for virtual machines.
func newFarHybridStory(t *testing.T, side *side) *hybridStory {
	t.Helper()
	wanted := story.Cluster{
		Name: "hybrid-far", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 122, Identity: "servers", VirtualIdentity: "virtual-machines",
	}
	h := &hybridStory{tenantCluster: newTenantCluster(t, "hybrid-far", wanted), side: side, virtualMachines: "far-virtual-machines"}
	for claims, secret := range map[string]string{"far-servers": wanted.Identity, h.virtualMachines: wanted.VirtualIdentity} {
		said, err := story.Onboarding{
			Repo: lab.Repo, Hosts: cluster.AdminKubeconfig(side.Dir), Management: cluster.AdminKubeconfig(lab.Dir),
			Claims: claims, Namespace: h.Namespace, Secret: secret, Servers: 2, Expiry: time.Hour,
		}.Run(t.Context())
		expect.NoError(t, err)
		t.Log(said)
	}
	var err error
	h.world, err = world.OpenPair(t.Context(), lab.Admin, side.Admin)
	expect.NoError(t, err)
	return h
}

func (h *hybridStory) comesUp(t *testing.T) {
	expect.NoError(t, h.cluster.CreateHybrid(t.Context(), lab.Repo, h.Tenant))
	h.runsIn(t, h.world)
	expect.Equal(t, 1, h.virtual(t))
	expect.Equal(t, 1, h.servers(t))
}

// virtual counts the virtual machines of the tenant, servers those that the pool has given away.
func (h *hybridStory) virtual(t *testing.T) int {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(virtualMachine("List"))
	expect.NoError(t, h.side.admin.List(t.Context(), list, client.InNamespace(h.virtualMachines)))
	return len(list.Items)
}

func virtualMachine(suffix string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachine" + suffix}
}

func (h *hybridStory) servers(t *testing.T) int {
	t.Helper()
	machines, err := h.world.Machines(t.Context(), h.Namespace)
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
	h.runsIn(t, h.world)
}

// isRebooted has a worker hang until it is rebooted by a MachineHealthCheck. It keeps its virtual machine.
func (h *hybridStory) isRebooted(t *testing.T) {
	machines, err := h.world.Machines(t.Context(), h.Namespace)
	expect.NoError(t, err)
	m := machines[slices.IndexFunc(machines, func(m world.Machine) bool { return roleOf(m) == worker })]
	vm := &metav1.PartialObjectMetadata{}
	vm.SetGroupVersionKind(virtualMachine(""))
	key := client.ObjectKey{Namespace: m.Claim.Status.BareMetalHost.Namespace, Name: m.Claim.Status.BareMetalHost.Name}
	expect.NoError(t, h.side.admin.Get(t.Context(), key, vm))
	before := vm.UID
	h.watched(t, worker, "reboot", 600)
	annotate(t, h.side.admin, vm, guest.HangAnnotation, "")
	h.goesSilent(t, m)
	annotate(t, h.side.admin, vm, guest.HangAnnotation, nil)
	h.recovers(t, h.world, m)
	h.unwatched(t, "reboot")
	h.runsIn(t, h.world)
	expect.NoError(t, h.side.admin.Get(t.Context(), key, vm))
	expect.Equal(t, before, vm.UID)
}

func (h *hybridStory) isDeleted(t *testing.T) {
	expect.NoError(t, h.Client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.cluster.Name}}))
	eventually(t, "nothing is left", func(g gomega.Gomega) {
		machines, err := h.world.Machines(t.Context(), h.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(machines).To(gomega.BeEmpty())
		g.Expect(h.virtual(t)).To(gomega.BeZero())
		claims := &bmov1alpha1.HostClaimList{} // of all namespaces: the other story has none then
		g.Expect(h.side.admin.List(t.Context(), claims)).To(gomega.Succeed())
		g.Expect(claims.Items).To(gomega.BeEmpty())
	})
}
