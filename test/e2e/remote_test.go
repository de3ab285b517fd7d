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
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// remoteStory is a tenant of the dev cluster of this package whose servers are in another
// one. The tenant has a namespace on either side; only a kubeconfig ties them.
type remoteStory struct {
	*tenantCluster

	// t is the test whose chapters these are.
	t *testing.T

	// home is where its machines are: the dev cluster of this package, until they are
	// moved to another. hosts is where its servers are.
	home, hosts *side

	pool       story.Pool
	onboarding story.Onboarding
}

// TestServersInAnotherCluster plays the life of a cluster whose servers are found
// by an identityRef. Its chapters build on each other. It runs before the parallel
// tests: its two clusters more would leave them too little of a small machine.
func TestServersInAnotherCluster(t *testing.T) {
	f := newRemoteStory(t)
	mustRun(t, "the cluster comes up", f.comesUp)
	mustRun(t, "clusterctl moves the cluster, and it keeps its servers", f.moves)
	t.Run("a deleted cluster leaves nothing behind on either side", f.clusterGoes)
	expect.Equal(t, []string{}, f.hosts.history.violations())
}

// newRemoteStory starts the other cluster and lets the tenant in, as the infrastructure
// team would.
func newRemoteStory(t *testing.T) *remoteStory {
	t.Helper()
	expect.NoError(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.Tenant))
	hosts := newUnwatchedSide(t, stack.HostsDir(lab.dir), manager.BesideHosts())
	var err error
	hosts.history, err = record(t.Context(), hosts.Admin, lab.admin.Scheme())
	expect.NoError(t, err)
	f := &remoteStory{
		t:     t,
		hosts: hosts,
		pool:  story.Pool{Namespace: "infra", Servers: 3, Tenants: []string{"blue"}},
		onboarding: story.Onboarding{
			Repo: lab.Repo, Hosts: cluster.AdminKubeconfig(hosts.Dir), Management: cluster.AdminKubeconfig(lab.Dir),
			Claims: "blue", Namespace: "far", Secret: "hosts", Servers: 3, Expiry: time.Hour,
		},
		tenantCluster: newTenantCluster(t, "far", story.Cluster{Name: "far", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 112, Identity: "hosts"}),
	}
	f.reach(&side{Stack: lab.Stack, admin: lab.admin})
	expect.NoError(t, f.pool.Register(t.Context(), f.hosts.admin))
	expect.NoError(t, f.pool.WaitAvailable(limited(t), f.home.world, ignoreNotes))
	f.onboard(t)
	return f
}

// reach looks at the tenant where its machines are, and at its servers, in all chapters to come.
func (f *remoteStory) reach(home *side) {
	f.t.Helper()
	var err error
	home.world, err = world.OpenPair(f.t.Context(), home.Admin, f.hosts.Admin)
	expect.NoError(f.t, err)
	f.home = home
}

// onboard lets the tenant in, or renews its credential.
func (f *remoteStory) onboard(t *testing.T) {
	t.Helper()
	said, err := f.onboarding.Run(t.Context())
	expect.NoError(t, err)
	t.Log(said)
}

func (f *remoteStory) comesUp(t *testing.T) {
	expect.NoError(t, f.cluster.Create(t.Context(), lab.Repo, f.Tenant))
	f.runsIn(t, f.home.world)
	f.isConnected(t)
}

// isConnected expects the condition for access to the remote cluster on cluster and machines.
func (f *remoteStory) isConnected(t *testing.T) {
	t.Helper()
	want := metav1.Condition{Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.IdentityConnectedReason}
	eventually(t, "the cluster is connected", func(g gomega.Gomega) {
		whole := &infrav1.Metal3Cluster{}
		g.Expect(f.home.admin.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: f.cluster.Name}, whole)).To(gomega.Succeed())
		says(g, whole.Status.Conditions, want)
	})
	eachSays(t, f.home.world, f.Namespace, want)
}

// clusterGoes deletes the cluster as the tenant and looks for leftovers on either
// side. The credential is the tenant's own and stays.
func (f *remoteStory) clusterGoes(t *testing.T) {
	expect.NoError(t, f.Client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.cluster.Name}}))
	eventually(t, "nothing of the cluster is left", func(g gomega.Gomega) {
		g.Expect(leftIn(t, f.home.admin, f.Namespace)).To(gomega.Equal([]string{"secret " + f.onboarding.Secret}))
	})
	eventually(t, "nothing of it is left beside the hosts", func(g gomega.Gomega) {
		for _, list := range []client.ObjectList{&bmov1alpha1.HostClaimList{}, &bmov1alpha1.HardwareDataList{}, &corev1.SecretList{}} {
			g.Expect(f.hosts.admin.List(t.Context(), list, client.InNamespace(f.onboarding.Claims))).To(gomega.Succeed())
			g.Expect(names(t, list)).To(gomega.BeEmpty(), "%T in %s", list, f.onboarding.Claims)
		}
		var all bmov1alpha1.BareMetalHostList
		g.Expect(f.hosts.admin.List(t.Context(), &all, client.InNamespace(f.pool.Namespace))).To(gomega.Succeed())
		g.Expect(all.Items).To(gomega.HaveLen(f.pool.Servers))
		for _, host := range all.Items {
			g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil(), host.Name)
			g.Expect(remains(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(ourKeys(&host)).To(gomega.BeEmpty(), host.Name)
		}
	})
}

// binding is what a machine holds in the cluster with the hosts.
type binding struct {
	Claim, Host types.UID
}

// moves takes the cluster to a third dev cluster by clusterctl. The managers of both
// run all the time, and those of the former home must not give anything back. The
// credential goes along.
func (f *remoteStory) moves(t *testing.T) {
	before := bindings(t, f.home.world, f.Namespace)
	_, frees := f.hosts.history.traffic(f.pool.Namespace)
	next := newUnwatchedSide(f.t, lab.folder("next"), manager.BesideTenants())
	tenant, err := story.OwnerOf(t.Context(), next.admin, next.Cluster, f.Namespace)
	expect.NoError(t, err)
	said, err := clusterctl(t, "move", "--namespace", f.Namespace,
		"--kubeconfig", cluster.AdminKubeconfig(f.home.Dir), "--to-kubeconfig", cluster.AdminKubeconfig(next.Dir))
	expect.Must(t, err == nil, "clusterctl: %v\n%s", err, said)
	eventually(t, "nothing is left where the cluster was", func(g gomega.Gomega) {
		g.Expect(leftIn(t, f.home.admin, f.Namespace)).To(gomega.BeEmpty())
	})
	f.reach(next)
	f.Tenant = tenant
	f.onboarding.Management = cluster.AdminKubeconfig(next.Dir)
	f.runsIn(t, f.home.world)
	f.isConnected(t)
	eventually(t, "the machines have their claims and servers", func(g gomega.Gomega) {
		g.Expect(cmp.Diff(before, bindings(t, f.home.world, f.Namespace))).To(gomega.BeEmpty())
	})
	for _, m := range complete(t, f.home.world, f.Namespace) {
		conditionsHold(t, f.home.world, m)
	}
	_, now := f.hosts.history.traffic(f.pool.Namespace)
	expect.That(t, now == frees, "%d servers were given back in the move", now-frees)
	// Renewing must work on a Secret that clusterctl has written.
	f.onboard(t)
	f.isConnected(t)
}

// bindings returns which claim and host each machine has; a machine without any has none.
func bindings(t *testing.T, w *world.World, namespace string) map[string]binding {
	t.Helper()
	machines, err := w.Machines(t.Context(), namespace)
	expect.NoError(t, err)
	out := map[string]binding{}
	for _, m := range machines {
		var b binding
		if m.Claim != nil {
			b.Claim = m.Claim.UID
		}
		if m.Host != nil {
			b.Host = m.Host.UID
		}
		out[m.Name()] = b
	}
	return out
}
