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
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
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

// moveStory is a cluster whose hosts are beside it, between two dev clusters that each
// have every manager.
type moveStory struct {
	// t is the test whose chapters these are.
	t *testing.T

	cluster story.Cluster
	pool    story.Pool
	// here is where the cluster is, there is where it is moved to next.
	here, there *side
}

// side is one of the two dev clusters.
type side struct {
	*stack.Stack

	tenant  *story.Tenant
	admin   client.Client
	world   *world.World
	history *history
	// operator is baremetal-operator while it is stopped.
	operator *manager.Running
}

// TestHostsMoveWithTheirCluster plays moves by clusterctl in which hosts go along. Its chapters
// build on each other. It runs before the parallel tests, as TestServersInAnotherCluster does.
func TestHostsMoveWithTheirCluster(t *testing.T) {
	s := newMoveStory(t)
	other := s.there
	founds := func(ok bool) {
		if !ok {
			t.FailNow()
		}
	}
	founds(t.Run("the cluster comes up", s.comesUp))
	founds(t.Run("no move begins where clusterctl does not know hosts", s.needsLabels))
	founds(t.Run("no move begins while a server is being provisioned", s.waitsForServers))
	founds(t.Run("clusterctl waits until it is safe, and moves the hosts along", s.movesWhenSafe))
	founds(t.Run("clusterctl moves them back", s.moves))
	if os.Getenv("E2E") == "long" {
		founds(t.Run("clusterctl moves them there again", s.moves))
		founds(t.Run("clusterctl moves them back again", s.moves))
		founds(t.Run("interrupted moves go on", s.isInterrupted))
	}
	founds(t.Run("the cluster goes on with an identityRef, and leaves claims and hosts behind", s.leavesItsHosts))
	t.Run("it grows by a server from where it was", s.growsByIdentity)
	t.Run("a deleted cluster gives its servers back", s.clusterGoes)
	for _, violation := range other.history.violations() {
		t.Error("invariant broken:", violation)
	}
}

// newMoveStory starts the other dev cluster and prepares a namespace on both sides.
func newMoveStory(t *testing.T) *moveStory {
	t.Helper()
	ports, err := cluster.FreePorts(1)
	must(t, err)
	s := &moveStory{
		t:       t,
		cluster: story.Cluster{Name: "moved", ControlPlanes: 1, Workers: 1, Port: ports[0], Subnet: 113},
		pool:    story.Pool{Namespace: "moved", Servers: 4, Tenants: []string{"moved"}},
		here:    &side{Stack: lab.Stack, admin: lab.admin, world: lab.world, history: lab.history},
		there:   newSide(t, lab.other(), manager.All()),
	}
	for _, side := range []*side{s.here, s.there} {
		asInstalledByClusterctl(t, side.Stack)
		side.tenant, err = story.AddTenant(t.Context(), side.admin, side.Cluster, s.pool.Namespace)
		must(t, err)
	}
	must(t, s.pool.Register(t.Context(), s.here.admin))
	// What lets managers and tenants at hosts is not moved.
	withoutServers := s.pool
	withoutServers.Servers = 0
	must(t, withoutServers.Register(t.Context(), s.there.admin))
	must(t, s.pool.WaitAvailable(limited(t), s.here.world, ignoreNotes))
	return s
}

// newSide starts a dev cluster like that of this package, with these managers.
func newSide(t *testing.T, dir string, run []manager.Manager) *side {
	t.Helper()
	started, err := stack.Up(t.Context(), stack.Options{Repo: lab.Repo, Dir: dir, Managers: managers(run), Built: true, Out: console.New(t.Output())})
	must(t, err)
	s := &side{Stack: started}
	t.Cleanup(func() {
		if err := started.Group.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			// They are kept with those of the dev cluster of this package.
			must(t, os.Rename(filepath.Join(dir, "logs"), filepath.Join(lab.dir, "logs", filepath.Base(dir))))
		}
	})
	s.admin, err = client.New(started.Admin, client.Options{Scheme: lab.admin.Scheme()})
	must(t, err)
	s.history, err = record(t.Context(), started.Admin, lab.admin.Scheme())
	must(t, err)
	s.world, err = world.Open(t.Context(), started.Admin)
	must(t, err)
	return s
}

func (s *moveStory) comesUp(t *testing.T) {
	must(t, s.cluster.Create(t.Context(), lab.Repo, s.here.tenant))
	s.runs(t)
}

// runs waits until the cluster is whole where it is.
func (s *moveStory) runs(t *testing.T) {
	t.Helper()
	(&actor{s.here.tenant, s.cluster}).runsIn(t, s.here.world)
}

// needsLabels begins a move where the kinds of baremetal-operator are as kubectl installs
// them. The remedy is that of the documentation.
func (s *moveStory) needsLabels(t *testing.T) {
	move := s.clusterctlMove(t)
	move.says(t, "Move blocked by")
	s.allMovable(t, metav1.ConditionFalse, infrav1.HostsNotMovableReason, "baremetalhosts.metal3.io", "hardwaredata.metal3.io")
	move.kill(t)
	for _, side := range []*side{s.here, s.there} {
		labelKinds(t, side.Stack, "baremetalhosts.metal3.io", "hardwaredata.metal3.io")
	}
	s.pause(t, false)
	s.guarded(t)
}

// waitsForServers grows the cluster while nothing provisions. Neither clusterctl nor the
// claim lets a move begin before the new machine runs.
func (s *moveStory) waitsForServers(t *testing.T) {
	s.confirm(t, true)
	s.here.stopOperator(t)
	var err error
	s.cluster, err = s.cluster.ScaleWorkers(t.Context(), s.here.tenant, s.cluster.Workers+1)
	must(t, err)
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
	if err == nil || len(unsaid(said, "is still provisioning the node")) > 0 {
		t.Errorf("clusterctl ended with %v and said:\n%s", err, said)
	}
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

// moves takes the cluster to the other side as the documentation says.
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
	must(t, err)
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
	must(t, s.here.tenant.Client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.cluster.Name}}))
	must(t, s.pool.WaitFree(limited(t), s.here.world, s.pool.Servers))
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

// allMovable expects claim and Metal3Machine of every machine to say whether they can be moved.
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
	must(t, side.tenant.Client.Get(t.Context(), client.ObjectKeyFromObject(before), before))
	after := before.DeepCopy()
	after.Spec.Paused = nil
	if paused {
		after.Spec.Paused = &paused
	}
	must(t, side.tenant.Client.Patch(t.Context(), after, client.MergeFrom(before)))
}

// stopOperator takes baremetal-operator away from this side, as the documentation asks for. Hosts can
// be written only if the API server does without its webhook.
func (s *side) stopOperator(t *testing.T) {
	t.Helper()
	s.failurePolicy(t, admissionv1.Ignore)
	must(t, s.Group.StopOne(components.BareMetalOperator))
	s.operator = s.Running[components.BareMetalOperator]
	// It has not crashed.
	delete(s.Running, components.BareMetalOperator)
}

// startOperator starts it if it was stopped.
func (s *side) startOperator(t *testing.T) {
	t.Helper()
	if s.operator == nil {
		return
	}
	must(t, s.operator.Start(t.Context(), s.Cluster))
	s.Running[components.BareMetalOperator], s.operator = s.operator, nil
	s.failurePolicy(t, admissionv1.Fail)
}

// failurePolicy says what becomes of writes to hosts while baremetal-operator does not answer.
func (s *side) failurePolicy(t *testing.T, policy admissionv1.FailurePolicyType) {
	t.Helper()
	c, err := client.New(s.Admin, client.Options{})
	must(t, err)
	webhooks := &unstructured.Unstructured{}
	webhooks.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"))
	webhooks.SetName("baremetal-operator-validating-webhook-configuration")
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": %q}]`, policy)
	must(t, c.Patch(t.Context(), webhooks, client.RawPatch(types.JSONPatchType, []byte(patch))))
}

// labelKinds puts the label on CRDs by which clusterctl finds what to move.
func labelKinds(t *testing.T, s *stack.Stack, names ...string) {
	t.Helper()
	c := definitions(t, s.Admin)
	for _, name := range names {
		merge(t, c, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}},
			map[string]any{"labels": map[string]any{clusterctlv1.ClusterctlLabel: ""}})
	}
}

// annotate sets an annotation as kubectl would, or takes it off where value is nil.
func annotate(t *testing.T, c client.Client, object client.Object, key string, value any) {
	t.Helper()
	merge(t, c, object.DeepCopyObject().(client.Object), map[string]any{"annotations": map[string]any{key: value}})
}

func merge(t *testing.T, c client.Client, object client.Object, metadata map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	must(t, err)
	must(t, c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, patch)))
}
