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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/keep"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// moveStory is a cluster whose hosts are beside it, between two dev clusters that each
// have every manager; the other one looks as with baremetal-operator 0.14.
type moveStory struct {
	// t is the test whose chapters these are.
	t *testing.T

	cluster story.Cluster
	pool    story.Pool
	// here is where the cluster is, there is where it is moved to next.
	here, there *side
}

// TestHostsMoveWithTheirCluster plays moves by clusterctl in which hosts go along. Its chapters
// build on each other. It runs before the parallel tests, as TestServersInAnotherCluster does.
func TestHostsMoveWithTheirCluster(t *testing.T) {
	s := newMoveStory(t)
	other := s.there
	mustRun(t, "the cluster comes up", s.comesUp)
	mustRun(t, "clusterctl knows hosts again after their kinds were made anew", s.labelsComeBack)
	mustRun(t, "no move begins while a server is being provisioned", s.waitsForServers)
	mustRun(t, "clusterctl waits until it is safe, and moves the hosts along", s.movesWhenSafe)
	mustRun(t, "clusterctl moves them back", s.moves)
	if os.Getenv("E2E") == "long" {
		mustRun(t, "clusterctl moves them there again", s.moves)
		mustRun(t, "clusterctl moves them back again", s.moves)
		mustRun(t, "interrupted moves go on", s.isInterrupted)
	}
	mustRun(t, "the cluster goes on with an identityRef, and leaves claims and hosts behind", s.leavesItsHosts)
	t.Run("it grows by a server from where it was", s.growsByIdentity)
	t.Run("a deleted cluster gives its servers back", s.clusterGoes)
	expect.Equal(t, []string{}, other.history.violations())
}

// newMoveStory starts the other dev cluster and prepares a namespace on both sides.
func newMoveStory(t *testing.T) *moveStory {
	t.Helper()
	expect.NoError(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.BMOWebhooks))
	s := &moveStory{
		t:       t,
		cluster: story.Cluster{Name: "moved", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 113},
		pool:    story.Pool{Namespace: "moved", Servers: 4, Tenants: []string{"moved"}},
		here:    &side{Stack: lab.Stack, admin: lab.admin, world: lab.world, history: lab.history},
		there:   newSide(t, lab.folder("other"), manager.WithNewerBareMetalOperator(manager.All())),
	}
	for _, side := range []*side{s.here, s.there} {
		var err error
		side.tenant, err = story.AddTenant(t.Context(), side.admin, side.Cluster, s.pool.Namespace)
		expect.NoError(t, err)
	}
	expect.NoError(t, s.pool.Register(t.Context(), s.here.admin))
	// What lets managers and tenants at hosts is not moved.
	withoutServers := s.pool
	withoutServers.Servers = 0
	expect.NoError(t, withoutServers.Register(t.Context(), s.there.admin))
	expect.NoError(t, s.pool.WaitAvailable(limited(t), s.here.world, ignoreNotes))
	return s
}

func (s *moveStory) comesUp(t *testing.T) {
	expect.NoError(t, s.cluster.Create(t.Context(), lab.Repo, s.here.tenant))
	s.runs(t)
}

// runs waits until the cluster is whole where it is.
func (s *moveStory) runs(t *testing.T) {
	t.Helper()
	(&tenantCluster{s.here.tenant, s.cluster}).runsIn(t, s.here.world)
}

// labelsComeBack takes the label off the kinds of baremetal-operator, as a manifest that replaces them does.
func (s *moveStory) labelsComeBack(t *testing.T) {
	kinds := []string{"baremetalhosts.metal3.io", "hardwaredata.metal3.io", "hostclaims.metal3.io"}
	for _, side := range []*side{s.here, s.there} {
		c := definitions(t, side.Admin)
		labelKinds(t, side.Stack, nil, kinds...)
		eventually(t, "the kinds are labeled again", func(g gomega.Gomega) {
			for _, name := range kinds {
				crd := &apiextensionsv1.CustomResourceDefinition{}
				g.Expect(c.Get(t.Context(), client.ObjectKey{Name: name}, crd)).To(gomega.Succeed())
				g.Expect(crd.Labels).To(gomega.HaveKey(clusterctlv1.ClusterctlLabel), name)
			}
		})
	}
}

// waitsForServers grows the cluster while nothing provisions. Neither clusterctl nor the
// claim lets a move begin before the new machine runs.
func (s *moveStory) waitsForServers(t *testing.T) {
	s.confirm(t, true)
	s.here.stopOperator(t)
	var err error
	s.cluster, err = s.cluster.ScaleWorkers(t.Context(), s.here.tenant, s.cluster.Workers+1)
	expect.NoError(t, err)
	busy := ""
	eventually(t, "the new machine has a server", func(g gomega.Gomega) {
		machines, err := s.here.world.Machines(t.Context(), s.pool.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, m := range machines {
			if !m.Running() && m.Host != nil && m.Host.Spec.Image != nil {
				busy = m.Metal3.Name
			}
		}
		g.Expect(busy).NotTo(gomega.BeEmpty())
	})
	said, err := s.clusterctlMove(t).end()
	expect.That(t, err != nil && len(unsaid(said, "is still provisioning the node")) == 0, "clusterctl ended with %v and said:\n%s", err, said)
	s.pause(t, true)
	s.movable(t, busy, metav1.ConditionFalse, infrav1.HostNotAtRestReason, "state is available")
	s.pause(t, false)
	s.here.startOperator(t)
	s.runs(t)
	s.guarded(t)
}

// movesWhenSafe begins a move that is not confirmed, and with a server whose reboot was asked
// for. clusterctl goes on by itself once both are settled.
func (s *moveStory) movesWhenSafe(t *testing.T) {
	before, marks := s.belongings(t), s.marks(t)
	s.here.stopOperator(t)
	s.confirm(t, false)
	host := s.servers(t)[0].Host
	annotate(t, s.here.admin, host, "reboot.metal3.io", "")
	move := s.clusterctlMove(t)
	move.says(t, "Move blocked by")
	s.allMovable(t, metav1.ConditionFalse, infrav1.HandOverNotConfirmedReason, infrav1.HostsMayMoveAnnotation)
	s.confirm(t, true)
	s.movable(t, s.servers(t)[0].Metal3.Name, metav1.ConditionFalse, infrav1.HostNotAtRestReason, "reboot")
	annotate(t, s.here.admin, host, "reboot.metal3.io", nil)
	s.arrives(t, move)
	s.settles(t, before, marks)
}

// moves takes the cluster to the other side as the documentation describes.
func (s *moveStory) moves(t *testing.T) {
	before, marks := s.belongings(t), s.marks(t)
	s.here.stopOperator(t)
	s.arrives(t, s.clusterctlMove(t))
	s.settles(t, before, marks)
}

// arrives waits until clusterctl has taken the cluster to the other side.
func (s *moveStory) arrives(t *testing.T, move *command) {
	t.Helper()
	said, err := move.end()
	t.Logf("clusterctl: %s", said)
	expect.NoError(t, err)
	s.here, s.there = s.there, s.here
}

// settles waits until the cluster is whole on this side and gone from the other, and has what
// it had. Nothing was done to its servers meanwhile.
func (s *moveStory) settles(t *testing.T, before belongings, marks map[*side]mark) {
	t.Helper()
	eventually(t, "nothing is left where the cluster was", func(g gomega.Gomega) {
		g.Expect(s.left(t, s.there)).To(gomega.BeEmpty())
	})
	for _, side := range []*side{s.here, s.there} {
		side.startOperator(t)
	}
	s.runs(t)
	eventually(t, "the cluster has what it had", func(g gomega.Gomega) {
		g.Expect(cmp.Diff(before, s.belongings(t))).To(gomega.BeEmpty())
	})
	s.guarded(t)
	s.undisturbed(t, before, marks)
}

// clusterGoes deletes the cluster where it is.
func (s *moveStory) clusterGoes(t *testing.T) {
	expect.NoError(t, s.here.tenant.Client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.cluster.Name}}))
	expect.NoError(t, s.pool.WaitFree(limited(t), s.here.world, s.pool.Servers))
	eventually(t, "nothing of the cluster is left", func(g gomega.Gomega) {
		g.Expect(leftIn(t, s.here.admin, s.pool.Namespace)).To(gomega.ConsistOf("secret hosts"))
		g.Expect(s.left(t, s.there)).To(gomega.BeEmpty())
	})
}

// servers lists the machines with their claims and hosts, once each has both.
func (s *moveStory) servers(t *testing.T) (machines []world.Machine) {
	t.Helper()
	eventually(t, "each machine has its claim and host", func(g gomega.Gomega) {
		var err error
		machines, err = s.here.world.Machines(t.Context(), s.pool.Namespace)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, m := range machines {
			g.Expect(m.Host).NotTo(gomega.BeNil(), m.Name()+" "+m.Step())
		}
	})
	return machines
}

// allMovable expects this condition Movable on claim and Metal3Machine of every machine.
func (s *moveStory) allMovable(t *testing.T, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	for _, m := range s.servers(t) {
		s.movable(t, m.Metal3.Name, status, reason, parts...)
	}
}

// movable does so for one machine, whose claim has the name of its Metal3Machine.
func (s *moveStory) movable(t *testing.T, name string, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	want := metav1.Condition{Type: infrav1.MovableCondition, Status: status, Reason: reason}
	key := client.ObjectKey{Namespace: s.pool.Namespace, Name: name}
	eventually(t, name+" says "+reason, func(g gomega.Gomega) {
		claim, machine := &bmov1alpha1.HostClaim{}, &infrav1.Metal3Machine{}
		g.Expect(s.here.world.Get(t.Context(), key, claim)).To(gomega.Succeed())
		says(g, claim.Status.Conditions, want, parts...)
		g.Expect(s.here.world.Get(t.Context(), key, machine)).To(gomega.Succeed())
		says(g, machine.Status.Conditions, want, parts...)
	})
}

// guarded waits until nothing can be moved that is not made ready for it. A move that began
// before would not wait for what is put on claims and hosts then.
func (s *moveStory) guarded(t *testing.T) {
	t.Helper()
	eventually(t, "claims and hosts are as in normal times", func(g gomega.Gomega) {
		for _, m := range s.servers(t) {
			for _, object := range []client.Object{m.Metal3, m.Claim, m.Host} {
				g.Expect(object.GetAnnotations()).To(gomega.HaveKey(infrav1.BlockMoveAnnotation), "%T", object)
			}
			for _, key := range []string{bmov1alpha1.PausedAnnotation, bmov1alpha1.StatusAnnotation, infrav1.MovingAnnotation} {
				g.Expect(m.Host.Annotations).NotTo(gomega.HaveKey(key), m.Host.Name)
			}
		}
	})
}

// confirm lets the hosts of the namespace move, or not.
func (s *moveStory) confirm(t *testing.T, confirmed bool) {
	t.Helper()
	for _, side := range []*side{s.here, s.there} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.pool.Namespace}}
		annotate(t, side.admin, namespace, infrav1.HostsMayMoveAnnotation, strconv.FormatBool(confirmed))
	}
}

// clusterctlMove begins to move the cluster to the other side.
func (s *moveStory) clusterctlMove(t *testing.T, more ...string) *command {
	t.Helper()
	return startClusterctl(t, append([]string{
		"move", "-v", "5", "--namespace", s.pool.Namespace,
		"--kubeconfig", cluster.AdminKubeconfig(s.here.Dir), "--to-kubeconfig", cluster.AdminKubeconfig(s.there.Dir),
	}, more...)...)
}

// pause pauses the Cluster, or ends that, as the tenant.
func (s *moveStory) pause(t *testing.T, paused bool) {
	t.Helper()
	s.pauseOn(t, s.here, paused)
}

// pauseOn does so on one side.
func (s *moveStory) pauseOn(t *testing.T, side *side, paused bool) {
	t.Helper()
	before := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.cluster.Name}}
	expect.NoError(t, side.tenant.Client.Get(t.Context(), client.ObjectKeyFromObject(before), before))
	after := before.DeepCopy()
	after.Spec.Paused = nil
	if paused {
		after.Spec.Paused = &paused
	}
	expect.NoError(t, side.tenant.Client.Patch(t.Context(), after, client.MergeFrom(before)))
}

// leavesItsHosts has the cluster go on with an identityRef, and moves all of it but claims and
// hosts. Nothing is stopped for that.
func (s *moveStory) leavesItsHosts(t *testing.T) {
	s.letIn(t)
	infra := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.cluster.Name}}
	identity := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"identityRef": {"name": "hosts"}}}`))
	expect.NoError(t, s.here.tenant.Client.Patch(t.Context(), infra.DeepCopy(), identity))
	s.identityIs(t, infrav1.IdentityNotUsedReason)
	before, held, marks := s.belongings(t), bindings(t, s.here.world, s.pool.Namespace), s.marks(t)

	s.pause(t, true)
	eventually(t, "the claims are handed over", func(g gomega.Gomega) {
		g.Expect(keep.Run(t.Context(), s.here.admin, client.ObjectKeyFromObject(infra), t.Output())).To(gomega.Succeed())
	})
	s.pause(t, false)
	s.identityIs(t, infrav1.IdentityConnectedReason, "stays where it is")
	eventually(t, "clusterctl does not look for hosts", func(g gomega.Gomega) {
		for _, m := range s.servers(t) {
			g.Expect(m.Host.Labels).NotTo(gomega.HaveKey(infrav1.MoveHierarchyLabel), m.Host.Name)
		}
	})
	said, err := s.clusterctlMove(t, "--dry-run").end()
	expect.NoError(t, err)
	for _, kind := range []string{"HostClaim", "BareMetalHost"} {
		expect.That(t, !strings.Contains(said, "Creating "+kind+"="), "clusterctl would move a %s:\n%s", kind, said)
	}
	hosts := s.here
	s.arrives(t, s.clusterctlMove(t))
	s.reach(t, hosts)
	s.runs(t)
	s.identityIs(t, infrav1.IdentityConnectedReason)
	eventually(t, "the machines have their claims and servers", func(g gomega.Gomega) {
		g.Expect(cmp.Diff(held, bindings(t, s.here.world, s.pool.Namespace))).To(gomega.BeEmpty())
	})
	s.undisturbed(t, before, marks)
}

// letIn gives the tenant the credential of its own namespace, as the infrastructure team would.
func (s *moveStory) letIn(t *testing.T) {
	t.Helper()
	expect.NoError(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.Tenant))
	admin := cluster.AdminKubeconfig(s.here.Dir)
	said, err := story.Onboarding{
		Repo: lab.Repo, Hosts: admin, Management: admin, Claims: s.pool.Namespace, Namespace: s.pool.Namespace,
		Secret: "hosts", Servers: s.pool.Servers, Resident: true, Expiry: time.Hour,
	}.Run(t.Context())
	expect.NoError(t, err)
	t.Log(said)
}

// reach looks at the cluster where it is, and at claims and hosts on the other side.
func (s *moveStory) reach(t *testing.T, hosts *side) {
	t.Helper()
	here := *s.here
	var err error
	// The chapters after this one need it, too.
	here.world, err = world.OpenPair(s.t.Context(), here.Admin, hosts.Admin)
	expect.NoError(t, err)
	s.here = &here
}

// growsByIdentity adds a machine where the cluster is now, with a server from where it was.
func (s *moveStory) growsByIdentity(t *testing.T) {
	var err error
	s.cluster, err = s.cluster.ScaleWorkers(t.Context(), s.here.tenant, s.cluster.Workers+1)
	expect.NoError(t, err)
	s.runs(t)
	s.identityIs(t, infrav1.IdentityConnectedReason)
}

// identityIs expects every machine to have this condition for access to the cluster of its claim.
func (s *moveStory) identityIs(t *testing.T, reason string, parts ...string) {
	t.Helper()
	eachSays(t, s.here.world, s.pool.Namespace, metav1.Condition{
		Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionTrue, Reason: reason,
	}, parts...)
}
