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
	"os"
	"slices"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// lifeStory is a tenant whose machines are rolled out anew, labeled and rebooted, and keep their
// servers as far as they can.
type lifeStory struct {
	*tenantCluster

	// home is the administrator of the cluster with the machines.
	home client.Client
	// world sees the machines, and their claims and hosts wherever they are.
	world *world.World
	// admin is the administrator of the cluster with the hosts, whose history this is.
	admin   client.Client
	history *history
	pool    story.Pool
	// replaced is how many servers were given up.
	replaced int
}

// TestMachinesLiveOn plays what becomes of machines after they run, where hostsim shows the power
// of servers. With E2E=long control planes have three machines, hosts are in another cluster, too, and more
// goes wrong.
func TestMachinesLiveOn(t *testing.T) {
	t.Parallel()
	hosts := newSide(t, lab.folder("simulated"), manager.WithInPlaceUpdates(manager.WithSimulatedHosts()))
	t.Run("with hosts", func(t *testing.T) {
		t.Run("beside the machines", func(t *testing.T) {
			t.Parallel()
			l := newLifeStory(t, hosts, story.Cluster{Name: "near", Workers: 2, Subnet: 114})
			l.hasRacks(t)
			l.beside(t, hosts)
			l.liveOn(t)
		})
		if long() {
			t.Run("beside the machines of a class", func(t *testing.T) {
				t.Parallel()
				l := newLifeStory(t, hosts, story.Cluster{Name: "classed", ControlPlanes: 1, Workers: 1, Subnet: 115})
				l.beside(t, hosts)
				l.isOfClass(t)
			})
			t.Run("beside the machines, uncleaned", func(t *testing.T) {
				t.Parallel()
				l := newLifeStory(t, hosts, story.Cluster{Name: "uncleaned", ControlPlanes: 1, Workers: 2, Subnet: 117})
				l.beside(t, hosts)
				l.isUncleaned(t, hosts)
			})
			t.Run("in another cluster, of a class", func(t *testing.T) {
				t.Parallel()
				l := newLifeStory(t, hosts, story.Cluster{Name: "far-classed", ControlPlanes: 1, Workers: 1, Subnet: 118, Identity: "hosts"})
				l.away(t, hosts)
				l.isOfClass(t)
			})
			t.Run("in another cluster", func(t *testing.T) {
				t.Parallel()
				l := newLifeStory(t, hosts, story.Cluster{Name: "away", Workers: 2, Subnet: 116, Identity: "hosts"})
				l.hasRacks(t)
				l.away(t, hosts)
				l.liveOn(t)
			})
		}
	})
	expect.Equal(t, []string{}, hosts.history.violations())
}

// away gives the tenant an identityRef to the cluster with the hosts.
func (l *lifeStory) away(t *testing.T, hosts *side) {
	t.Helper()
	l.Tenant, l.home = newTenant(t, l.pool.Tenants[0]), lab.admin
	expect.NoError(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.Tenant))
	said, err := story.Onboarding{
		Repo: lab.Repo, Hosts: cluster.AdminKubeconfig(hosts.Dir), Management: cluster.AdminKubeconfig(lab.Dir),
		Claims: l.Namespace, Namespace: l.Namespace, Secret: l.cluster.Identity, Servers: l.pool.Servers, Expiry: time.Hour,
	}.Run(t.Context())
	expect.NoError(t, err)
	t.Log(said)
	l.world, err = world.OpenPair(t.Context(), lab.Admin, hosts.Admin)
	expect.NoError(t, err)
}

// newLifeStory registers a pool with one server more than the cluster has workers, and one for each rack that
// its control plane may be in.
func newLifeStory(t *testing.T, hosts *side, wanted story.Cluster) *lifeStory {
	t.Helper()
	wanted.Port = freePort(t)
	switch {
	case wanted.ControlPlanes > 0:
	case long():
		wanted.ControlPlanes = 3
	default:
		wanted.ControlPlanes = 1
	}
	l := &lifeStory{
		tenantCluster: &tenantCluster{cluster: wanted}, admin: hosts.admin, history: hosts.history, pool: story.Pool{
			Namespace: wanted.Name + "-infra", Servers: controlPlaneRacks + wanted.Workers + 1, Tenants: []string{wanted.Name},
		},
	}
	expect.NoError(t, l.pool.Register(t.Context(), hosts.admin))
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: "tenants"}}
	annotate(t, hosts.admin, policy, infrav1.PublishLabelsAnnotation, "rack|model|(rack|power)[.]example/.*")
	annotate(t, hosts.admin, policy, infrav1.AllowUnhealthyMarkAnnotation, "true")
	expect.NoError(t, l.pool.WaitAvailable(limited(t), hosts.world, ignoreNotes))
	return l
}

// beside lets the tenant in where the hosts are.
func (l *lifeStory) beside(t *testing.T, hosts *side) {
	t.Helper()
	tenant, err := story.AddTenant(t.Context(), hosts.admin, hosts.Cluster, l.pool.Tenants[0])
	expect.NoError(t, err)
	l.Tenant, l.home, l.world = tenant, hosts.admin, hosts.world
}

// long reports whether every variant of a story is played.
func long() bool {
	return os.Getenv("E2E") == "long"
}

// liveOn plays the chapters, which build on each other.
func (l *lifeStory) liveOn(t *testing.T) {
	mustRun(t, "the cluster comes up over racks with networks of their own", l.comesUpOverRacks)
	mustRun(t, "a rolling update keeps every server", l.serversAreKept)
	mustRun(t, "an update in place keeps every worker", l.workersAreKept)
	mustRun(t, "what cannot be done in place replaces", l.replaces)
	mustRun(t, "a worker that hangs is rebooted", func(t *testing.T) { l.isWatched(t, worker) })
	if long() {
		mustRun(t, "a control-plane node that hangs is rebooted", func(t *testing.T) { l.isWatched(t, controlPlane) })
		mustRun(t, "a worker that no reboot helps is replaced", l.isReplaced)
	}
	t.Run("a deleted namespace leaves nothing behind", l.namespaceGoes)
}

// role is what a machine is in its cluster.
type role string

const (
	controlPlane role = "control-plane"
	worker       role = "worker"
)

func roleOf(m world.Machine) role {
	if _, found := m.Machine.Labels[clusterv1.MachineControlPlaneLabel]; found {
		return controlPlane
	}
	return worker
}

// servers lists the machines with claim and host by what they are.
func (l *lifeStory) servers(t *testing.T) map[role][]world.Machine {
	t.Helper()
	out := map[role][]world.Machine{}
	for _, m := range complete(t, l.world, l.Namespace) {
		out[roleOf(m)] = append(out[roleOf(m)], m)
	}
	return out
}

// hostNames lists the servers of machines.
func hostNames(machines []world.Machine) []string {
	var out []string
	for _, m := range machines {
		out = append(out, m.Host.Name)
	}
	slices.Sort(out)
	return out
}

// serversAreKept has both groups reuse servers and rolls another image out: the workers', and the
// control plane's where it can do without a surge. Each machine is another one then, and the group
// has the servers that it had; no other one was ever bound, and none was given back.
func (l *lifeStory) serversAreKept(t *testing.T) {
	before := l.servers(t)
	rolled := []role{worker}
	l.reuses(t, "workers")
	l.edit(t, &clusterv1.MachineDeployment{}, l.cluster.Name,
		`{"spec": {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
		"template": {"spec": {"infrastructureRef": {"name": "`+l.nextTemplate("workers")+`"}}}}}`)
	if l.cluster.ControlPlanes >= 3 {
		rolled = append(rolled, controlPlane)
		l.reuses(t, "controlplane")
		l.edit(t, &controlplanev1.KubeadmControlPlane{}, l.cluster.Name,
			`{"spec": {"rollout": {"strategy": {"rollingUpdate": {"maxSurge": 0}}},
			"machineTemplate": {"spec": {"infrastructureRef": {"name": "`+l.nextTemplate("controlplane")+`"}}}}}`)
	}
	for _, role := range rolled {
		l.areReplaced(t, role, before[role], nextImage)
	}
	l.runsIn(t, l.world)
	for _, role := range rolled {
		l.keepServers(t, role, before[role])
	}
	l.isQuiet(t)
	l.areInRacks(t)
}

// areReplaced waits until each machine of a role is none of those before, and has the image.
func (l *lifeStory) areReplaced(t *testing.T, role role, before []world.Machine, image string) {
	t.Helper()
	former := map[types.UID]bool{}
	for _, m := range before {
		former[m.UID()] = true
	}
	eventually(t, "each "+string(role)+" is replaced", func(g gomega.Gomega) {
		machines, err := l.world.Machines(t.Context(), l.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, m := range machines {
			if roleOf(m) == role {
				g.Expect(former).NotTo(gomega.HaveKey(m.UID()), explainMachine(m))
				g.Expect(imageOn(m)).To(gomega.Equal(image), explainMachine(m))
			}
		}
	})
}

// keepServers checks that the machines of a role have the servers that those before had.
func (l *lifeStory) keepServers(t *testing.T, role role, before []world.Machine) {
	t.Helper()
	servers := hostNames(l.servers(t)[role])
	expect.That(t, slices.Equal(hostNames(before), servers), "the %ss had servers %v and have %v", role, hostNames(before), servers)
}

// isQuiet checks that no servers were bound and given back but those of machines, and those given up.
func (l *lifeStory) isQuiet(t *testing.T) {
	t.Helper()
	bound, freed := l.history.traffic(l.pool.Namespace)
	want := l.cluster.ControlPlanes + l.cluster.Workers + l.replaced
	expect.That(t, bound == want && freed == l.replaced, "servers were bound %d times and given back %d times, want %d and %d", bound, freed, want, l.replaced)
}

// reuses switches node reuse on, first where no machine is replaced for that, and makes the
// template with another image.
func (l *lifeStory) reuses(t *testing.T, group string) {
	t.Helper()
	l.edit(t, &infrav1.Metal3MachineTemplate{}, l.cluster.Name+"-"+group, `{"spec": {"nodeReuse": true}}`)
	l.derive(t, l.cluster.Name+"-"+group, l.nextTemplate(group), func(m *infrav1.Metal3MachineSpec) { m.Image.URL = nextImage })
}

// derive makes a Metal3MachineTemplate that is like another one but for a change.
func (l *lifeStory) derive(t *testing.T, from, name string, change func(*infrav1.Metal3MachineSpec)) {
	t.Helper()
	template := &infrav1.Metal3MachineTemplate{}
	expect.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: from}, template))
	next := &infrav1.Metal3MachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name}, Spec: *template.Spec.DeepCopy(),
	}
	change(&next.Spec.Template.Spec)
	expect.NoError(t, l.Client.Create(t.Context(), next))
}

func (l *lifeStory) nextTemplate(group string) string {
	return l.cluster.Name + "-" + group + "-next"
}

// edit patches an object of the tenant's as the tenant.
func (l *lifeStory) edit(t *testing.T, object client.Object, name, patch string) {
	t.Helper()
	object.SetNamespace(l.Namespace)
	object.SetName(name)
	expect.NoError(t, l.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// traffic counts how often hosts of a namespace were bound and freed.
func (h *history) traffic(namespace string) (bound, freed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.binds {
		if c.host.Namespace == namespace {
			bound++
		}
	}
	for _, c := range h.frees {
		if c.host.Namespace == namespace {
			freed++
		}
	}
	return bound, freed
}

// namespaceGoes deletes the tenant's namespace with everything in it, in any order. Every server is
// wiped before it is free.
func (l *lifeStory) namespaceGoes(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
	if l.cluster.Identity != "" {
		expect.NoError(t, l.home.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.cluster.Identity}}))
		eachSays(t, l.world, l.Namespace, metav1.Condition{Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.IdentitySecretNotFoundReason}, l.cluster.Identity)
	}
	expect.NoError(t, l.home.Delete(t.Context(), namespace))
	if l.cluster.Identity != "" {
		l.isAbandoned(t)
	}
	eventually(t, "the namespace is gone", func(g gomega.Gomega) {
		left := &corev1.Namespace{}
		err := l.home.Get(t.Context(), client.ObjectKeyFromObject(namespace), left)
		var says []string
		for _, c := range left.Status.Conditions {
			says = append(says, c.Message)
		}
		l.looksAgain(t)
		g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "%v, %v: %v", err, leftIn(t, l.home, l.Namespace), says)
	})
	if l.cluster.Identity != "" {
		// The servers still run: the infrastructure team takes them back.
		_, freed := l.history.traffic(l.pool.Namespace)
		expect.That(t, freed <= l.replaced, "%d servers are free although their cluster was not reached, want %d", freed, l.replaced)
		expect.NoError(t, l.admin.DeleteAllOf(t.Context(), &bmov1alpha1.HostClaim{}, client.InNamespace(l.Namespace)))
	}
	expect.NoError(t, l.pool.WaitFree(limited(t), l.world, l.pool.Servers))
}

// looksAgain has ip-address-manager look at pools that are being deleted. It counts addresses by its
// cache right after it has deleted the last one, and is not woken when that one goes.
func (l *lifeStory) looksAgain(t *testing.T) {
	t.Helper()
	pools := &ipamv1alpha1.IPPoolList{}
	expect.NoError(t, l.home.List(t.Context(), pools, client.InNamespace(l.Namespace)))
	for i := range pools.Items {
		if pool := &pools.Items[i]; pool.DeletionTimestamp != nil {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"looked-at":"`+time.Now().String()+`"}}}`))
			expect.NoError(t, client.IgnoreNotFound(l.home.Patch(t.Context(), pool, patch)))
		}
	}
}

// isAbandoned expects the machines to stay since their claims cannot be reached, and lets them go
// without, as an administrator. The rights of the tenant went with the namespace.
func (l *lifeStory) isAbandoned(t *testing.T) {
	t.Helper()
	eachSays(t, l.world, l.Namespace, metav1.Condition{Type: infrav1.HostClaimReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.DeletionFailedReason}, infrav1.AbandonClaimAnnotation)
	machines, err := l.world.Machines(t.Context(), l.Namespace)
	expect.NoError(t, err)
	for _, m := range machines {
		annotate(t, l.home, m.Metal3, infrav1.AbandonClaimAnnotation, "true")
	}
}

// seen returns how many versions of each server were seen so far.
func (l *lifeStory) seen(machines []world.Machine) map[client.ObjectKey]int {
	out := map[client.ObjectKey]int{}
	for _, m := range machines {
		key := client.ObjectKeyFromObject(m.Host)
		out[key] = len(l.history.versions(key, 0))
	}
	return out
}
