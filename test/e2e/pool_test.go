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
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// poolStory is the story of the demo: a pool of 8 servers and two tenants.
type poolStory struct {
	pool story.Pool
	a, b *tenantCluster
}

// tenantCluster is a tenant and its cluster.
type tenantCluster struct {
	*story.Tenant

	cluster story.Cluster
}

// TestTenantsShareAPool plays the story. Its chapters build on each other.
func TestTenantsShareAPool(t *testing.T) {
	t.Parallel()
	p := newPoolStory(t)
	mustRun(t, "both clusters come up", p.clustersComeUp)
	t.Run("each machine is a Node and says which server it is", p.machinesAreNodes)
	t.Run("tenant b uses clusterctl", p.tenantUsesClusterctl)
	mustRun(t, "a machine without a server says why", p.shortageIsExplained)
	mustRun(t, "a freed server is wiped and goes to who waits", p.serverChangesHands)
	t.Run("a deleted cluster leaves nothing behind", p.clusterGoes)
}

// mustRun plays a chapter that the following ones build on, and ends the test if it fails.
func mustRun(t *testing.T, title string, chapter func(*testing.T)) {
	t.Helper()
	if !t.Run(title, chapter) {
		t.FailNow()
	}
}

// newPoolStory registers the pool and lets both tenants in.
func newPoolStory(t *testing.T) *poolStory {
	t.Helper()
	p := &poolStory{pool: story.Pool{Namespace: "infra", Servers: 8, Tenants: []string{"tenant-a", "tenant-b"}}}
	expect.NoError(t, p.pool.Register(t.Context(), lab.admin))
	// A mode that is not the one of our leases shows whether it is restored.
	for _, host := range hosts(t, p.pool.Namespace) {
		before := host.DeepCopy()
		host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
		expect.NoError(t, lab.admin.Patch(t.Context(), &host, client.MergeFrom(before)))
	}
	expect.NoError(t, p.pool.WaitAvailable(limited(t), lab.world, ignoreNotes))
	ports, err := cluster.FreeEndpoints(2)
	expect.NoError(t, err)
	p.a = newTenantCluster(t, "tenant-a", story.Cluster{Name: "a", ControlPlanes: 3, Workers: 2, Port: ports[0], Subnet: 101})
	p.b = newTenantCluster(t, "tenant-b", story.Cluster{Name: "b", ControlPlanes: 1, Workers: 1, Port: ports[1], Subnet: 102})
	return p
}

func newTenantCluster(t *testing.T, namespace string, wanted story.Cluster) *tenantCluster {
	t.Helper()
	return &tenantCluster{newTenant(t, namespace), wanted}
}

// newTenant lets a tenant in.
func newTenant(t *testing.T, namespace string) *story.Tenant {
	t.Helper()
	tenant, err := story.AddTenant(t.Context(), lab.admin, lab.Cluster, namespace)
	expect.NoError(t, err)
	return tenant
}

// clustersComeUp creates both clusters from the template, with the rights of the
// tenants, and waits for all machines.
func (p *poolStory) clustersComeUp(t *testing.T) {
	for _, actor := range []*tenantCluster{p.a, p.b} {
		expect.NoError(t, actor.cluster.Create(t.Context(), lab.Repo, actor.Tenant))
	}
	for _, actor := range []*tenantCluster{p.a, p.b} {
		actor.runs(t)
	}
}

// runs waits until the cluster has exactly its machines, all of them Running,
// and its control plane is complete.
func (a *tenantCluster) runs(t *testing.T) {
	t.Helper()
	a.runsIn(t, lab.world)
}

// runsIn does so in another dev cluster than that of this package.
func (a *tenantCluster) runsIn(t *testing.T, w *world.World) {
	t.Helper()
	eventually(t, "cluster "+a.cluster.Name+" runs", func(g gomega.Gomega) {
		machines, err := w.Machines(t.Context(), a.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(machines).To(gomega.HaveLen(a.cluster.ControlPlanes + a.cluster.Workers))
		for _, m := range machines {
			g.Expect(m.Machine.Status.Phase).To(gomega.Equal(string(clusterv1.MachinePhaseRunning)), func() string { return explainMachine(m) })
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
func (a *tenantCluster) machines(t *testing.T) []world.Machine {
	t.Helper()
	machines, err := lab.world.Machines(t.Context(), a.Namespace)
	expect.NoError(t, err)
	return machines
}

// machines lists those of both tenants; each must have everything.
func (p *poolStory) machines(t *testing.T) []world.Machine {
	t.Helper()
	return complete(t, lab.world, p.a.Namespace, p.b.Namespace)
}

// complete lists the machines of namespaces; each must have its Metal3Machine, claim and host.
func complete(t *testing.T, w *world.World, namespaces ...string) []world.Machine {
	t.Helper()
	machines, err := w.Machines(t.Context(), namespaces...)
	expect.NoError(t, err)
	for _, m := range machines {
		expect.Must(t, m.Metal3 != nil && m.Claim != nil && m.Host != nil, "%s lacks Metal3Machine, claim or host: %s", m.Name(), m.Step())
	}
	return machines
}

// hosts reads the hosts of a namespace.
func hosts(t *testing.T, namespace string) []bmov1alpha1.BareMetalHost {
	t.Helper()
	return hostsIn(t, lab.admin, namespace)
}

// hostsIn does so in any dev cluster.
func hostsIn(t *testing.T, c client.Client, namespace string) []bmov1alpha1.BareMetalHost {
	t.Helper()
	var list bmov1alpha1.BareMetalHostList
	expect.NoError(t, c.List(t.Context(), &list, client.InNamespace(namespace)))
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

// shortageIsExplained lets b grow by two while one server is free, and reads as
// tenant b why the second machine waits.
func (p *poolStory) shortageIsExplained(t *testing.T) {
	p.b.scale(t, p.b.cluster.Workers+2)
	waiting, _, err := story.WaitForShortage(limited(t), lab.world, p.pool, p.b.Namespace)
	expect.NoError(t, err)
	const why = "8 hosts seen: 8 in use"
	eventually(t, "the explanation reaches the Machine", func(g gomega.Gomega) {
		claim, metal3, machine := &bmov1alpha1.HostClaim{}, &infrav1.Metal3Machine{}, &clusterv1.Machine{}
		g.Expect(p.b.Client.Get(t.Context(), client.ObjectKeyFromObject(waiting.Claim), claim)).To(gomega.Succeed())
		g.Expect(p.b.Client.Get(t.Context(), client.ObjectKeyFromObject(waiting.Metal3), metal3)).To(gomega.Succeed())
		g.Expect(p.b.Client.Get(t.Context(), client.ObjectKeyFromObject(waiting.Machine), machine)).To(gomega.Succeed())
		no := func(kind, reason string) metav1.Condition {
			return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason}
		}
		says(g, claim.Status.Conditions, no(bmov1alpha1.AssociatedCondition, bmov1alpha1.NoBareMetalHostReason), why)
		says(g, metal3.Status.Conditions, no(infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimNotBoundReason), why)
		says(g, metal3.Status.Conditions, no(infrav1.ReadyCondition, infrav1.HostClaimNotBoundReason), why)
		says(g, machine.Status.Conditions, no(clusterv1.MachineInfrastructureReadyCondition, infrav1.HostClaimNotBoundReason), why)
	})
}

// serverChangesHands lets a shrink by one, and follows the server that this
// frees to the machine of b that waits.
func (p *poolStory) serverChangesHands(t *testing.T) {
	waiting := p.b.waiting(t)
	before := map[types.UID]world.Machine{}
	for _, m := range p.a.machines(t) {
		before[m.UID()] = m
	}
	p.a.scale(t, p.a.cluster.Workers-1)
	p.a.runs(t)
	p.b.runs(t)
	for _, m := range p.a.machines(t) {
		delete(before, m.UID())
	}
	expect.Must(t, len(before) == 1, "%d machines of a have gone, and one should have", len(before))
	for _, gone := range before {
		p.checkHandover(t, gone, waiting)
	}
	for _, m := range p.b.machines(t) {
		conditionsHold(t, lab.world, m)
	}
}

// checkHandover looks at every version of the server from the first in which it
// is not a's any more. What a release must leave behind, secrets included, is
// checked for every release of the run, see history.
func (p *poolStory) checkHandover(t *testing.T, gone, waiting world.Machine) {
	t.Helper()
	key := client.ObjectKeyFromObject(gone.Host)
	after := lab.history.since(key, gone.Claim.UID)
	expect.Must(t, len(after) != 0, "host %s was never freed by claim %s", key, gone.Claim.Name)
	freed := after[0]
	// Cleaning mode, keys of ours, power, and whatever else is left on the freed host.
	expect.Equal(t, []any{bmov1alpha1.CleaningModeDisabled, []string(nil), false, ""},
		[]any{freed.Spec.AutomatedCleaningMode, ourKeys(freed), freed.Spec.Online, remains(freed)})
	next := slices.IndexFunc(after, func(host *bmov1alpha1.BareMetalHost) bool { return host.Spec.ConsumerRef != nil })
	expect.Must(t, next >= 0, "host %s was freed and not bound again", key)
	want := fmt.Sprintf("%s/%s/%s", waiting.Claim.Namespace, waiting.Claim.Name, waiting.Claim.UID)
	ref := after[next].Spec.ConsumerRef
	got := fmt.Sprintf("%s/%s/%s", ref.Namespace, ref.Name, ref.UID)
	expect.That(t, got == want, "the freed host went to %s, and %s waited for it", got, want)
	eventually(t, "no invariant is broken", func(g gomega.Gomega) {
		g.Expect(lab.history.violations()).To(gomega.BeEmpty())
	})
}

// waiting returns the machine of the tenant that has no host.
func (a *tenantCluster) waiting(t *testing.T) world.Machine {
	t.Helper()
	for _, m := range a.machines(t) {
		if _, waits := m.WaitsForHost(); waits {
			return m
		}
	}
	t.Fatalf("no machine of %s waits for a host", a.Namespace)
	return world.Machine{}
}

func (a *tenantCluster) scale(t *testing.T, workers int) {
	t.Helper()
	var err error
	a.cluster, err = a.cluster.ScaleWorkers(t.Context(), a.Tenant, workers)
	expect.NoError(t, err)
}

// since returns the versions of a host from the one on in which a claim that had
// it does not have it any more.
func (h *history) since(key client.ObjectKey, claim types.UID) []*bmov1alpha1.BareMetalHost {
	h.mu.Lock()
	defer h.mu.Unlock()
	had := false
	for i, host := range h.hosts[key] {
		has := host.Spec.ConsumerRef != nil && host.Spec.ConsumerRef.UID == claim
		if had && !has {
			return h.hosts[key][i:]
		}
		had = has
	}
	return nil
}

func policyOf(namespace, name string) *bmov1alpha1.HostDeployPolicy {
	return &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// clusterGoes deletes the Cluster of tenant b as the tenant, and looks for
// anything that is left of it on either side.
func (p *poolStory) clusterGoes(t *testing.T) {
	claims := map[string]bool{}
	for _, m := range p.b.machines(t) {
		claims[string(m.Claim.UID)] = true
	}
	expect.NoError(t, p.b.Client.Delete(t.Context(), &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.b.Namespace, Name: p.b.cluster.Name},
	}))
	eventually(t, "nothing of cluster b is left", func(g gomega.Gomega) {
		g.Expect(leftOf(t, p.b.Namespace)).To(gomega.BeEmpty(), "in namespace %s", p.b.Namespace)
	})
	eventually(t, "the servers of b are back in the pool", func(g gomega.Gomega) {
		g.Expect(p.leftNextToHosts(t, claims)).To(gomega.BeEmpty())
		free := 0
		for _, host := range hosts(t, p.pool.Namespace) {
			if host.Spec.ConsumerRef != nil {
				g.Expect(host.Spec.ConsumerRef.Namespace).To(gomega.Equal(p.a.Namespace), host.Name)
				continue
			}
			free++
			g.Expect(remains(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(ourKeys(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(host.Spec.AutomatedCleaningMode).To(gomega.Equal(bmov1alpha1.CleaningModeDisabled), host.Name)
		}
		g.Expect(free).To(gomega.Equal(p.pool.Servers - p.a.cluster.ControlPlanes - p.a.cluster.Workers))
	})
	// The neighbor has not noticed.
	p.a.runs(t)
}

// leftOf lists what a deleted cluster should have taken with it.
func leftOf(t *testing.T, namespace string) []string {
	t.Helper()
	return leftIn(t, lab.admin, namespace)
}

// leftIn does so in any dev cluster. One without hosts does not know all of the kinds.
func leftIn(t *testing.T, c client.Client, namespace string) (left []string) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&clusterv1.ClusterList{}, &clusterv1.MachineList{}, &clusterv1.MachineDeploymentList{},
		&infrav1.Metal3ClusterList{}, &infrav1.Metal3MachineList{}, &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{},
		&bmov1alpha1.HostClaimList{}, &bmov1alpha1.HardwareDataList{},
		&ipamv1alpha1.IPClaimList{}, &ipamv1alpha1.IPAddressList{},
	} {
		err := c.List(t.Context(), list, client.InNamespace(namespace))
		if meta.IsNoMatchError(err) {
			continue
		}
		expect.NoError(t, err)
		left = append(left, names(t, list)...)
	}
	var secrets corev1.SecretList
	expect.NoError(t, c.List(t.Context(), &secrets, client.InNamespace(namespace)))
	for _, secret := range secrets.Items {
		left = append(left, "secret "+secret.Name)
	}
	return left
}

// names lists kind and name of every object of a list.
func names(t *testing.T, list client.ObjectList) (out []string) {
	t.Helper()
	expect.NoError(t, meta.EachListItem(list, func(object runtime.Object) error {
		named, err := meta.Accessor(object)
		if err == nil {
			out = append(out, fmt.Sprintf("%T %s", object, named.GetName()))
		}
		return err
	}))
	return out
}

// leftNextToHosts lists the secrets that were copied for the claims.
func (p *poolStory) leftNextToHosts(t *testing.T, claims map[string]bool) (left []string) {
	t.Helper()
	var secrets corev1.SecretList
	expect.NoError(t, lab.admin.List(t.Context(), &secrets, client.InNamespace(p.pool.Namespace)))
	for _, secret := range secrets.Items {
		if claims[secret.Labels[infrav1.SecretClaimUIDLabel]] {
			left = append(left, "secret "+secret.Name)
		}
	}
	return left
}

// ourKeys lists the labels and annotations of ours on a host.
func ourKeys(host *bmov1alpha1.BareMetalHost) (ours []string) {
	for _, keys := range []map[string]string{host.Labels, host.Annotations} {
		for key := range keys {
			if strings.HasPrefix(key, "hostclaim.metal3.io/") || strings.HasPrefix(key, infrav1.GroupName+"/") {
				ours = append(ours, key)
			}
		}
	}
	slices.Sort(ours)
	return ours
}
