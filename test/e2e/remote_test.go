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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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
)

// remoteStory is a tenant of the dev cluster of this package whose servers are in another
// one. The tenant has a namespace on either side; only a kubeconfig ties them.
type remoteStory struct {
	*tenantCluster

	// t is the test whose chapters these are.
	t *testing.T

	// home is where its machines are: the dev cluster of this package, until they are
	// moved to another.
	home  *side
	hosts *stack.Stack

	admin      client.Client // of the cluster with the hosts
	history    *history      // of the same
	pool       story.Pool
	onboarding story.Onboarding
}

// TestServersInAnotherCluster plays the life of a cluster whose servers are found
// by an identityRef. Its chapters build on each other. It runs before the parallel
// tests: its two clusters more would leave them too little of a small machine.
func TestServersInAnotherCluster(t *testing.T) {
	f := newRemoteStory(t)
	mustRun(t, "the cluster comes up", f.comesUp)
	t.Run("claims are where the hosts are, and nowhere else", f.claimsAreRemote)
	t.Run("each machine is a Node and says which server it is", f.machinesAreNodes)
	mustRun(t, "a revoked credential is named, and a new one is enough", f.credentialIsRenewed)
	t.Run("a kubeconfig that would run a program is refused until it is mended", f.kubeconfigIsMended)
	mustRun(t, "clusterctl moves the cluster, and it keeps its servers", f.moves)
	t.Run("a deleted cluster leaves nothing behind on either side", f.clusterGoes)
	for _, violation := range f.history.violations() {
		t.Error("invariant broken:", violation)
	}
}

// newRemoteStory starts the other cluster and lets the tenant in, as the infrastructure
// team would.
func newRemoteStory(t *testing.T) *remoteStory {
	t.Helper()
	out := console.New(t.Output())
	must(t, lab.Repo.Build(t.Context(), out, components.Tenant))
	hosts, err := stack.Up(t.Context(), stack.Options{
		Repo: lab.Repo, Dir: stack.HostsDir(lab.dir), Managers: manager.BesideHosts(), Built: true, Out: out,
	})
	must(t, err)
	t.Cleanup(func() {
		if err := hosts.Group.Stop(); err != nil {
			t.Error(err)
		}
	})
	ports, err := cluster.FreePorts(1)
	must(t, err)
	f := &remoteStory{
		t:     t,
		hosts: hosts,
		pool:  story.Pool{Namespace: "infra", Servers: 3, Tenants: []string{"blue"}},
		onboarding: story.Onboarding{
			Repo: lab.Repo, Hosts: cluster.AdminKubeconfig(hosts.Dir), Management: cluster.AdminKubeconfig(lab.Dir),
			Claims: "blue", Namespace: "far", Secret: "hosts", Servers: 3, Expiry: time.Hour,
		},
		tenantCluster: newTenantCluster(t, "far", story.Cluster{Name: "far", ControlPlanes: 1, Workers: 1, Port: ports[0], Subnet: 112, Identity: "hosts"}),
	}
	f.admin, err = client.New(hosts.Admin, client.Options{Scheme: lab.admin.Scheme()})
	must(t, err)
	f.history, err = record(t.Context(), hosts.Admin, lab.admin.Scheme())
	must(t, err)
	f.home = f.at(t, lab.Stack)
	must(t, f.pool.Register(t.Context(), f.admin))
	must(t, f.pool.WaitAvailable(limited(t), f.home.world, ignoreNotes))
	f.onboard(t)
	return f
}

// at looks at the tenant in a dev cluster.
func (f *remoteStory) at(t *testing.T, s *stack.Stack) *side {
	t.Helper()
	admin, err := client.New(s.Admin, client.Options{Scheme: lab.admin.Scheme()})
	must(t, err)
	w, err := world.OpenPair(t.Context(), s.Admin, f.hosts.Admin)
	must(t, err)
	return &side{Stack: s, admin: admin, world: w}
}

// onboard lets the tenant in, or renews its credential.
func (f *remoteStory) onboard(t *testing.T) {
	t.Helper()
	said, err := f.onboarding.Run(t.Context())
	must(t, err)
	t.Log(said)
}

func (f *remoteStory) comesUp(t *testing.T) {
	must(t, f.cluster.Create(t.Context(), lab.Repo, f.Tenant))
	f.runsIn(t, f.home.world)
}

// servers lists the machines with their claims and hosts; each must have both.
func (f *remoteStory) servers(t *testing.T) []world.Machine {
	t.Helper()
	return complete(t, f.home.world, f.Namespace)
}

// claimsAreRemote looks for claims on both sides, and at what ties them to machines.
func (f *remoteStory) claimsAreRemote(t *testing.T) {
	for _, list := range []client.ObjectList{&bmov1alpha1.HostClaimList{}, &bmov1alpha1.HardwareDataList{}} {
		must(t, lab.admin.List(t.Context(), list, client.InNamespace(f.Namespace)))
		if left := names(t, list); len(left) > 0 {
			t.Errorf("beside the machines there are %q", left)
		}
	}
	for _, m := range f.servers(t) {
		t.Run(m.Name(), func(t *testing.T) {
			origin := m.Metal3.Annotations[infrav1.OriginKey]
			if origin == "" || m.Claim.Labels[infrav1.OriginKey] != origin {
				t.Errorf("origin %q of the machine is %q on its claim", origin, m.Claim.Labels[infrav1.OriginKey])
			}
			if m.Claim.Namespace != f.onboarding.Claims || len(m.Claim.OwnerReferences) > 0 {
				t.Errorf("the claim is in namespace %s, owned by %v", m.Claim.Namespace, m.Claim.OwnerReferences)
			}
			if identity := m.Metal3.Annotations[infrav1.EffectiveIdentityAnnotation]; !strings.Contains(identity, f.hosts.Server) {
				t.Errorf("the recorded identity is %s", identity)
			}
			for _, ref := range []*corev1.SecretReference{m.Claim.Spec.UserData, m.Claim.Spec.MetaData, m.Claim.Spec.NetworkData} {
				f.copied(t, m, ref)
			}
		})
	}
	f.identityIs(t, metav1.ConditionTrue, infrav1.IdentityConnectedReason)
}

// copied expects a secret beside the claim that goes with it.
func (f *remoteStory) copied(t *testing.T, m world.Machine, ref *corev1.SecretReference) {
	t.Helper()
	if ref == nil {
		t.Fatal("the claim names no user data, metadata or network data")
	}
	secret := &corev1.Secret{}
	must(t, f.admin.Get(t.Context(), client.ObjectKey{Namespace: m.Claim.Namespace, Name: ref.Name}, secret))
	if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != m.Claim.UID {
		t.Errorf("secret %s is owned by %v", secret.Name, secret.OwnerReferences)
	}
	if secret.Labels[infrav1.OriginKey] != m.Metal3.Annotations[infrav1.OriginKey] {
		t.Errorf("secret %s has the labels %v", secret.Name, secret.Labels)
	}
}

// machinesAreNodes checks that names and provider IDs do not show where the host is.
func (f *remoteStory) machinesAreNodes(t *testing.T) {
	nodes := f.nodes(t)
	for _, m := range f.servers(t) {
		t.Run(m.Name(), func(t *testing.T) {
			providerID := fmt.Sprintf("metal3://%s/%s/%s", m.Machine.Namespace, m.Host.Name, m.Metal3.Name)
			node := nodes[m.Machine.Name]
			for where, got := range map[string]string{
				"Machine": m.Machine.Spec.ProviderID, "Metal3Machine": m.Metal3.Spec.ProviderID, "Node": node.Spec.ProviderID,
			} {
				if got != providerID {
					t.Errorf("the provider ID of the %s is %q, want %q", where, got, providerID)
				}
			}
			if uuid := node.Labels[infrav1.NodeUUIDLabel]; uuid != string(m.Host.UID) {
				t.Errorf("the Node says that it is server %s", uuid)
			}
			checkAddresses(t, m)
			conditionsHold(t, f.home.world, m)
		})
	}
}

// identityIs expects this condition for access to the remote cluster on cluster and machines.
func (f *remoteStory) identityIs(t *testing.T, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	want := metav1.Condition{Type: infrav1.IdentityReadyCondition, Status: status, Reason: reason}
	eventually(t, "the cluster says "+reason, func(g gomega.Gomega) {
		whole := &infrav1.Metal3Cluster{}
		g.Expect(f.home.admin.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: f.cluster.Name}, whole)).To(gomega.Succeed())
		says(g, whole.Status.Conditions, want, parts...)
	})
	eachSays(t, f.home.world, f.Namespace, want, parts...)
}

// credentialIsRenewed deletes the account, so that its tokens are void, and lets
// the cluster grow: the new machine reports the problem, and proceeds by itself once
// the infrastructure team has issued another token.
func (f *remoteStory) credentialIsRenewed(t *testing.T) {
	former := f.credential(t)
	must(t, f.admin.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "hostclaim-tenants", Name: f.onboarding.Claims}}))
	eventually(t, "the token is void", func(g gomega.Gomega) {
		err := former.List(t.Context(), &bmov1alpha1.HostClaimList{}, client.InNamespace(f.onboarding.Claims))
		g.Expect(apierrors.IsUnauthorized(err)).To(gomega.BeTrue(), "answer %v", err)
	})
	f.scale(t, f.cluster.Workers+1)
	eventually(t, "the new machine says so", func(g gomega.Gomega) {
		machines, err := f.home.world.Machines(t.Context(), f.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		refused := 0
		for _, m := range machines {
			if m.Metal3 != nil && m.Claim == nil {
				says(g, m.Metal3.Status.Conditions, metav1.Condition{
					Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.IdentityUnauthorizedReason,
				})
				refused++
			}
		}
		g.Expect(refused).To(gomega.Equal(1), "machines that wait for credentials")
	})
	f.onboard(t)
	f.runsIn(t, f.home.world)
	f.identityIs(t, metav1.ConditionTrue, infrav1.IdentityConnectedReason)
}

// credential is a client with what the tenant's Secret holds now.
func (f *remoteStory) credential(t *testing.T) client.Client {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: f.onboarding.Secret}, secret))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	must(t, err)
	c, err := client.New(config, client.Options{Scheme: lab.admin.Scheme()})
	must(t, err)
	return c
}

// kubeconfigIsMended has the tenant write a kubeconfig that asks for a program. It
// must not run, whatever it is called.
func (f *remoteStory) kubeconfigIsMended(t *testing.T) {
	ran := t.TempDir() + "/ran"
	secret := &corev1.Secret{}
	must(t, f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: f.onboarding.Secret}, secret))
	before := secret.DeepCopy()
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	must(t, err)
	for _, user := range config.AuthInfos {
		user.Token = ""
		user.Exec = program("touch", ran)
	}
	secret.Data["kubeconfig"], err = clientcmd.Write(*config)
	must(t, err)
	must(t, f.Client.Patch(t.Context(), secret, client.MergeFrom(before)))
	f.identityIs(t, metav1.ConditionFalse, infrav1.ForbiddenKubeconfigFeatureReason, "exec")
	f.onboard(t)
	f.identityIs(t, metav1.ConditionTrue, infrav1.IdentityConnectedReason)
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program of the kubeconfig has run")
	}
}

// clusterGoes deletes the cluster as the tenant and looks for leftovers on either
// side. The credential is the tenant's own and stays.
func (f *remoteStory) clusterGoes(t *testing.T) {
	must(t, f.Client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.cluster.Name}}))
	eventually(t, "nothing of the cluster is left", func(g gomega.Gomega) {
		g.Expect(leftIn(t, f.home.admin, f.Namespace)).To(gomega.Equal([]string{"secret " + f.onboarding.Secret}))
	})
	eventually(t, "nothing of it is left beside the hosts", func(g gomega.Gomega) {
		for _, list := range []client.ObjectList{&bmov1alpha1.HostClaimList{}, &bmov1alpha1.HardwareDataList{}, &corev1.SecretList{}} {
			g.Expect(f.admin.List(t.Context(), list, client.InNamespace(f.onboarding.Claims))).To(gomega.Succeed())
			g.Expect(names(t, list)).To(gomega.BeEmpty(), "%T in %s", list, f.onboarding.Claims)
		}
		var all bmov1alpha1.BareMetalHostList
		g.Expect(f.admin.List(t.Context(), &all, client.InNamespace(f.pool.Namespace))).To(gomega.Succeed())
		g.Expect(all.Items).To(gomega.HaveLen(f.pool.Servers))
		for _, host := range all.Items {
			g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil(), host.Name)
			g.Expect(remains(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(ourKeys(&host)).To(gomega.BeEmpty(), host.Name)
		}
	})
}

// program is the user of a kubeconfig who gets credentials from a program.
func program(name string, args ...string) *clientcmdapi.ExecConfig {
	return &clientcmdapi.ExecConfig{
		Command: name, Args: args, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
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
	_, frees := f.history.traffic(f.pool.Namespace)
	next := f.nextHome(t)
	tenant, err := story.OwnerOf(t.Context(), next.admin, next.Cluster, f.Namespace)
	must(t, err)
	f.clusterctl(t, "move", "--namespace", f.Namespace, "--to-kubeconfig", cluster.AdminKubeconfig(next.Dir))
	eventually(t, "nothing is left where the cluster was", func(g gomega.Gomega) {
		g.Expect(leftIn(t, f.home.admin, f.Namespace)).To(gomega.BeEmpty())
	})
	f.home, f.Tenant = next, tenant
	f.onboarding.Management = cluster.AdminKubeconfig(next.Dir)
	f.runsIn(t, f.home.world)
	f.identityIs(t, metav1.ConditionTrue, infrav1.IdentityConnectedReason)
	eventually(t, "the machines have their claims and servers", func(g gomega.Gomega) {
		g.Expect(cmp.Diff(before, bindings(t, f.home.world, f.Namespace))).To(gomega.BeEmpty())
	})
	for _, m := range f.servers(t) {
		conditionsHold(t, f.home.world, m)
	}
	if _, now := f.history.traffic(f.pool.Namespace); now != frees {
		t.Errorf("%d servers were given back in the move", now-frees)
	}
	// Renewing must work on a Secret that clusterctl has written.
	f.onboard(t)
	f.identityIs(t, metav1.ConditionTrue, infrav1.IdentityConnectedReason)
}

// nextHome starts a dev cluster like the first one, but without hosts.
func (f *remoteStory) nextHome(t *testing.T) *side {
	t.Helper()
	s, err := stack.Up(t.Context(), stack.Options{
		Repo: lab.Repo, Dir: lab.next(), Managers: manager.BesideTenants(), Built: true, Out: console.New(t.Output()),
	})
	must(t, err)
	// The chapters after this one need it, too.
	f.t.Cleanup(func() {
		if err := s.Group.Stop(); err != nil {
			f.t.Error(err)
		}
	})
	return f.at(f.t, s)
}

// clusterctl runs the program as the administrator of the former home.
func (f *remoteStory) clusterctl(t *testing.T, args ...string) {
	t.Helper()
	said, err := clusterctl(t, append(args, "--kubeconfig", cluster.AdminKubeconfig(f.home.Dir))...)
	t.Logf("clusterctl: %s", said)
	must(t, err)
}

// bindings returns which claim and host each machine has; a machine without any has none.
func bindings(t *testing.T, w *world.World, namespace string) map[string]binding {
	t.Helper()
	machines, err := w.Machines(t.Context(), namespace)
	must(t, err)
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
