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
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
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
)

const (
	rowLabel  = "rack.example/row"
	feedLabel = "power.example/feed"
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
	hosts := newSide(t, lab.simulated(), manager.WithInPlaceUpdates(manager.WithSimulatedHosts()))
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
			t.Run("in another cluster", func(t *testing.T) {
				t.Parallel()
				l := newLifeStory(t, hosts, story.Cluster{Name: "away", Workers: 2, Subnet: 116, Identity: "hosts"})
				l.hasRacks(t)
				l.away(t, hosts)
				l.liveOn(t)
			})
		}
	})
	for _, violation := range hosts.history.violations() {
		t.Error("invariant broken:", violation)
	}
}

// away gives the tenant an identityRef to the cluster with the hosts.
func (l *lifeStory) away(t *testing.T, hosts *side) {
	t.Helper()
	l.Tenant, l.home = newTenant(t, l.pool.Tenants[0]), lab.admin
	must(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.Tenant))
	said, err := story.Onboarding{
		Repo: lab.Repo, Hosts: cluster.AdminKubeconfig(hosts.Dir), Management: cluster.AdminKubeconfig(lab.Dir),
		Claims: l.Namespace, Namespace: l.Namespace, Secret: l.cluster.Identity, Servers: l.pool.Servers, Expiry: time.Hour,
	}.Run(t.Context())
	must(t, err)
	t.Log(said)
	l.world, err = world.OpenPair(t.Context(), lab.Admin, hosts.Admin)
	must(t, err)
}

// newLifeStory registers a pool with one server more than the cluster has workers, and one for each rack that
// its control plane may be in.
func newLifeStory(t *testing.T, hosts *side, wanted story.Cluster) *lifeStory {
	t.Helper()
	ports, err := cluster.FreePorts(1)
	must(t, err)
	wanted.Port = ports[0]
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
	must(t, l.pool.Register(t.Context(), hosts.admin))
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: "tenants"}}
	annotate(t, hosts.admin, policy, infrav1.PublishLabelsAnnotation, "rack|model|(rack|power)[.]example/.*")
	annotate(t, hosts.admin, policy, infrav1.AllowUnhealthyMarkAnnotation, "true")
	must(t, l.pool.WaitAvailable(limited(t), hosts.world, ignoreNotes))
	return l
}

// beside lets the tenant in where the hosts are.
func (l *lifeStory) beside(t *testing.T, hosts *side) {
	t.Helper()
	tenant, err := story.AddTenant(t.Context(), hosts.admin, hosts.Cluster, l.pool.Tenants[0])
	must(t, err)
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
	t.Run("a label of a server appears on its Node and goes", l.labelsFollow)
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
	if diff := cmp.Diff(hostNames(before), hostNames(l.servers(t)[role])); diff != "" {
		t.Errorf("servers of the %ss (-before +after):\n%s", role, diff)
	}
}

// isQuiet checks that no servers were bound and given back but those of machines, and those given up.
func (l *lifeStory) isQuiet(t *testing.T) {
	t.Helper()
	bound, freed := l.history.traffic(l.pool.Namespace)
	if want := l.cluster.ControlPlanes + l.cluster.Workers + l.replaced; bound != want || freed != l.replaced {
		t.Errorf("servers were bound %d times and given back %d times, want %d and %d", bound, freed, want, l.replaced)
	}
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
	must(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: from}, template))
	next := &infrav1.Metal3MachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name}, Spec: *template.Spec.DeepCopy(),
	}
	change(&next.Spec.Template.Spec)
	must(t, l.Client.Create(t.Context(), next))
}

func (l *lifeStory) nextTemplate(group string) string {
	return l.cluster.Name + "-" + group + "-next"
}

// edit patches an object of the tenant's as the tenant.
func (l *lifeStory) edit(t *testing.T, object client.Object, name, patch string) {
	t.Helper()
	object.SetNamespace(l.Namespace)
	object.SetName(name)
	must(t, l.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))))
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

// labelsFollow puts labels on a server. The one that the tenant asks for is on the Node as long as
// it is on the server, whatever is done to the Node.
func (l *lifeStory) labelsFollow(t *testing.T) {
	m, workload := l.servers(t)[worker][0], l.workload(t)
	annotate(t, l.Client, &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.cluster.Name}},
		infrav1.LabelSyncPrefixesAnnotation, "rack.example")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Machine.Status.NodeRef.Name}}
	shows := func(row any) {
		t.Helper()
		eventually(t, "the Node has the label of the server", func(g gomega.Gomega) {
			g.Expect(workload.Get(t.Context(), client.ObjectKeyFromObject(node), node)).To(gomega.Succeed())
			if row == nil {
				g.Expect(node.Labels).NotTo(gomega.HaveKey(rowLabel))
			} else {
				g.Expect(node.Labels).To(gomega.HaveKeyWithValue(rowLabel, row))
			}
			g.Expect(node.Labels).NotTo(gomega.HaveKey(feedLabel))
		})
	}
	merge(t, l.admin, m.Host.DeepCopy(), map[string]any{"labels": map[string]any{rowLabel: "7", feedLabel: "a"}})
	shows("7")
	merge(t, workload, node.DeepCopy(), map[string]any{"labels": map[string]any{rowLabel: "forged"}})
	shows("7")
	merge(t, workload, node.DeepCopy(), map[string]any{"labels": map[string]any{rowLabel: nil}})
	shows("7")
	merge(t, l.admin, m.Host.DeepCopy(), map[string]any{"labels": map[string]any{rowLabel: nil, feedLabel: nil}})
	shows(nil)
}

// namespaceGoes deletes the tenant's namespace with everything in it, in any order. Every server is
// wiped before it is free.
func (l *lifeStory) namespaceGoes(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
	if l.cluster.Identity != "" {
		must(t, l.home.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.cluster.Identity}}))
		eachSays(t, l.world, l.Namespace, metav1.Condition{Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.IdentitySecretNotFoundReason}, l.cluster.Identity)
	}
	must(t, l.home.Delete(t.Context(), namespace))
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
		if _, freed := l.history.traffic(l.pool.Namespace); freed > l.replaced {
			t.Errorf("%d servers are free although their cluster was not reached, want %d", freed, l.replaced)
		}
		must(t, l.admin.DeleteAllOf(t.Context(), &bmov1alpha1.HostClaim{}, client.InNamespace(l.Namespace)))
	}
	must(t, l.pool.WaitFree(limited(t), l.world, l.pool.Servers))
}

// looksAgain has ip-address-manager look at pools that are being deleted. It counts addresses by its
// cache right after it has deleted the last one, and is not woken when that one goes.
func (l *lifeStory) looksAgain(t *testing.T) {
	t.Helper()
	pools := &ipamv1alpha1.IPPoolList{}
	must(t, l.home.List(t.Context(), pools, client.InNamespace(l.Namespace)))
	for i := range pools.Items {
		if pool := &pools.Items[i]; pool.DeletionTimestamp != nil {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"looked-at":"`+time.Now().String()+`"}}}`))
			must(t, client.IgnoreNotFound(l.home.Patch(t.Context(), pool, patch)))
		}
	}
}

// isAbandoned expects the machines to stay since their claims cannot be reached, and lets them go
// without, as an administrator. The rights of the tenant went with the namespace.
func (l *lifeStory) isAbandoned(t *testing.T) {
	t.Helper()
	eachSays(t, l.world, l.Namespace, metav1.Condition{Type: infrav1.HostClaimReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.DeletionFailedReason}, infrav1.AbandonClaimAnnotation)
	machines, err := l.world.Machines(t.Context(), l.Namespace)
	must(t, err)
	for _, m := range machines {
		annotate(t, l.home, m.Metal3, infrav1.AbandonClaimAnnotation, "true")
	}
}

const (
	// controlPlaneRacks is how many failure domains a control plane may be in, with a server each.
	controlPlaneRacks = 3
	// workerRack is the number of the failure domain of the workers, with all other servers.
	workerRack = controlPlaneRacks + 1
)

// rack names a failure domain, and its data template and pool.
func rack(number int) string {
	return fmt.Sprintf("rack-%d", number)
}

// subnet is how each address of a rack begins.
func (l *lifeStory) subnet(number int) string {
	return fmt.Sprintf("10.%d.%d.", l.cluster.Subnet, number)
}

// hasRacks puts the servers into failure domains.
func (l *lifeStory) hasRacks(t *testing.T) {
	t.Helper()
	for number := range l.pool.Servers {
		host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: fmt.Sprintf("server-%d", number+1)}}
		merge(t, l.admin, host, map[string]any{"labels": map[string]any{infrav1.FailureDomainLabel: rack(min(number+1, workerRack))}})
	}
}

// comesUpOverRacks creates the cluster with a data template and a pool for each rack. Cluster API
// spreads the control plane, and the MachineDeployment names its rack.
func (l *lifeStory) comesUpOverRacks(t *testing.T) {
	for number := 1; number <= workerRack; number++ {
		l.hasNetwork(t, number)
	}
	must(t, l.cluster.Create(t.Context(), lab.Repo, l.Tenant, func(object *unstructured.Unstructured) {
		var domains, templates []any
		for number := 1; number <= workerRack; number++ {
			domains = append(domains, map[string]any{"name": rack(number), "controlPlane": number <= controlPlaneRacks})
			templates = append(templates, map[string]any{"failureDomain": rack(number), "dataTemplate": map[string]any{"name": rack(number)}})
		}
		switch object.GetKind() {
		case "Metal3Cluster":
			must(t, unstructured.SetNestedSlice(object.Object, domains, "spec", "failureDomains"))
		case "Metal3MachineTemplate":
			must(t, unstructured.SetNestedSlice(object.Object, templates, "spec", "failureDomainDataTemplates"))
		case "MachineDeployment":
			must(t, unstructured.SetNestedField(object.Object, rack(workerRack), "spec", "template", "spec", "failureDomain"))
		}
	}))
	l.runsIn(t, l.world)
	l.areInRacks(t)
}

// hasNetwork makes the data template of a rack and its pool.
func (l *lifeStory) hasNetwork(t *testing.T, number int) {
	t.Helper()
	object := metav1.ObjectMeta{Namespace: l.Namespace, Name: rack(number)}
	address := func(last string) *ipamv1alpha1.IPAddressStr {
		return ptr.To(ipamv1alpha1.IPAddressStr(l.subnet(number) + last))
	}
	must(t, l.Client.Create(t.Context(), &ipamv1alpha1.IPPool{ObjectMeta: object, Spec: ipamv1alpha1.IPPoolSpec{
		ClusterName: &l.cluster.Name, NamePrefix: rack(number), Prefix: 24, Gateway: address("1"),
		Pools: []ipamv1alpha1.Pool{{Start: address("10"), End: address("99")}},
	}}))
	must(t, l.Client.Create(t.Context(), &infrav1.Metal3DataTemplate{ObjectMeta: object, Spec: infrav1.Metal3DataTemplateSpec{
		MetaData: &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "network-of", Value: rack(number)}}},
		NetworkData: &infrav1.NetworkData{
			Links: &infrav1.NetworkDataLink{Ethernets: []infrav1.NetworkDataLinkEthernet{{
				Type: infrav1.EthernetTypePhy, ID: "nic0", MACAddress: &infrav1.NetworkLinkMAC{FromHostInterface: "eth0"},
			}}},
			Networks: &infrav1.NetworkDataNetwork{IPv4: []infrav1.NetworkDataIPv4{{
				ID: "nodes", Link: "nic0", IPAddressFromIPPool: rack(number),
			}}},
		},
	}}))
}

// areInRacks checks that each control-plane machine is in a rack of its own and the workers are in
// theirs, each on a server of the rack and with an address of its network.
func (l *lifeStory) areInRacks(t *testing.T) {
	t.Helper()
	nodes, used := l.nodes(t), []string{}
	for role, machines := range l.servers(t) {
		for _, m := range machines {
			domain := m.Machine.Spec.FailureDomain
			if role == controlPlane {
				used = append(used, domain)
			} else if domain != rack(workerRack) {
				t.Errorf("%s is in failure domain %q", m.Name(), domain)
			}
			data := &infrav1.Metal3Data{}
			must(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: m.Metal3.Status.RenderedData.Name}, data))
			if diff := cmp.Diff([]string{domain, domain, domain}, []string{
				m.Host.Labels[infrav1.FailureDomainLabel], m.Metal3.Status.FailureDomain, data.Spec.Template.Name,
			}); diff != "" {
				t.Errorf("failure domain of server, Metal3Machine and data of %s (-want +got):\n%s", m.Name(), diff)
			}
			var number int
			if _, err := fmt.Sscanf(domain, "rack-%d", &number); err != nil {
				t.Errorf("%s is in failure domain %q: %v", m.Name(), domain, err)
			}
			addresses := nodes[m.Machine.Status.NodeRef.Name].Status.Addresses
			if !slices.ContainsFunc(addresses, func(a corev1.NodeAddress) bool {
				return a.Type == corev1.NodeInternalIP && strings.HasPrefix(a.Address, l.subnet(number))
			}) {
				t.Errorf("the Node of %s in %s has addresses %v", m.Name(), domain, addresses)
			}
		}
	}
	slices.Sort(used)
	if len(slices.Compact(slices.Clone(used))) != min(len(used), controlPlaneRacks) {
		t.Errorf("the control plane is in %v", used)
	}
}

// isUncleaned has the workers keep what is on their servers as long as these stay with them. A server that
// leaves them is cleaned, and stays on for the next tenant if its administrator wants that.
func (l *lifeStory) isUncleaned(t *testing.T, hosts *side) {
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: "tenants"}}
	annotate(t, l.admin, policy, infrav1.AllowSkipCleaningAnnotation, "true")
	must(t, l.cluster.Create(t.Context(), lab.Repo, l.Tenant, func(object *unstructured.Unstructured) {
		if object.GetKind() == "Metal3MachineTemplate" {
			must(t, unstructured.SetNestedField(object.Object, string(bmov1alpha1.CleaningModeDisabled), "spec", "template", "spec", "automatedCleaningMode"))
		}
	}))
	l.runsIn(t, l.world)

	before := l.servers(t)[worker]
	seen := l.seen(before)
	must(t, l.cluster.KeepServers(t.Context(), l.Tenant))
	must(t, l.cluster.RollWorkers(t.Context(), l.Tenant))
	l.areReplaced(t, worker, before, imageOn(before[0]))
	l.runsIn(t, l.world)
	l.keepServers(t, worker, before)
	l.isQuiet(t)
	l.wereCleaned(t, seen, bmov1alpha1.CleaningModeDisabled)

	for _, m := range before {
		annotate(t, l.admin, m.Host, infrav1.FastTrackAnnotation, "true")
	}
	seen = l.seen(before)
	var err error
	l.cluster, err = l.cluster.ScaleWorkers(t.Context(), l.Tenant, 1)
	must(t, err)
	l.runsIn(t, l.world)
	kept := hostNames(l.servers(t)[worker])
	for _, m := range before {
		if slices.Contains(kept, m.Host.Name) {
			delete(seen, client.ObjectKeyFromObject(m.Host))
		}
	}
	for key := range seen {
		l.staysOn(t, key)
		l.servesAnother(t, hosts, key)
	}
	l.wereCleaned(t, seen, bmov1alpha1.CleaningModeMetadata)
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

// wereCleaned checks that servers were emptied since they were seen that often, and with which cleaning.
func (l *lifeStory) wereCleaned(t *testing.T, seen map[client.ObjectKey]int, want bmov1alpha1.AutomatedCleaningMode) {
	t.Helper()
	if len(seen) == 0 {
		t.Error("no server was emptied")
	}
	for key, from := range seen {
		emptied := false
		for _, host := range l.history.versions(key, from) {
			if host.Status.Provisioning.State != bmov1alpha1.StateDeprovisioning {
				continue
			}
			emptied = true
			if mode := host.Spec.AutomatedCleaningMode; mode != want {
				t.Errorf("server %s was emptied with cleaning mode %q, want %q", key, mode, want)
			}
		}
		if !emptied {
			t.Errorf("server %s was not emptied", key)
		}
	}
}

// staysOn waits until a server is free and on.
func (l *lifeStory) staysOn(t *testing.T, key client.ObjectKey) {
	t.Helper()
	eventually(t, "server "+key.Name+" is free and on", func(g gomega.Gomega) {
		host := &bmov1alpha1.BareMetalHost{}
		g.Expect(l.world.Hosts.Get(t.Context(), key, host)).To(gomega.Succeed())
		g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil())
		g.Expect(remains(host)).To(gomega.BeEmpty())
		g.Expect(host.Status.PoweredOn).To(gomega.BeTrue())
	})
}

// servesAnother lets another tenant have the server, and no other one.
func (l *lifeStory) servesAnother(t *testing.T, hosts *side, key client.ObjectKey) {
	t.Helper()
	other, err := story.AddTenant(t.Context(), l.admin, hosts.Cluster, l.Namespace+"-next")
	must(t, err)
	policy := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: l.pool.Namespace, Name: "tenants"}}
	must(t, l.admin.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec": {"hostClaimNamespaces": {"names": ["`+l.Namespace+`", "`+other.Namespace+`"]}}}`))))
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	merge(t, l.admin, host, map[string]any{"labels": map[string]any{rowLabel: "next"}})
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: other.Namespace, Name: "next"},
		Spec: bmov1alpha1.HostClaimSpec{
			HostSelector: bmov1alpha1.HostSelector{MatchLabels: map[string]string{rowLabel: "next"}},
			Image:        &bmov1alpha1.Image{URL: nextImage, Checksum: nextImage + ".sha256sum"},
			PoweredOn:    true,
		},
	}
	must(t, other.Client.Create(t.Context(), claim))
	eventually(t, "another tenant has server "+key.Name, func(g gomega.Gomega) {
		g.Expect(l.world.Hosts.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(gomega.Succeed())
		g.Expect(meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.ReadyCondition)).To(gomega.BeTrue())
		g.Expect(claim.Status.BareMetalHost).To(gomega.HaveValue(gomega.Equal(bmov1alpha1.ObjectReference{Namespace: key.Namespace, Name: key.Name})))
	})
}
