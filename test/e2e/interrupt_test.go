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
	"cmp"
	"maps"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// What clusterctl says before it does it.
const (
	waiting      = "Waiting for all resources"
	createsHost  = "Creating BareMetalHost="
	createsClaim = "Creating HostClaim="
	deletes      = "Deleting objects from the source"
	deletesClaim = "Deleting HostClaim="
	deletesHost  = "Deleting BareMetalHost="
	endsThePause = "Resuming the target cluster"
)

// interruption is what happens in a move, and what the administrator does about it if clusterctl
// does not end by itself.
type interruption struct {
	title string
	// happens runs clusterctl, and returns whether it has completed the move.
	happens func(*moveStory, *testing.T) bool
	then    func(*moveStory, *testing.T, belongings)
}

// interruptions hit clusterctl between its kinds of writes, and on either side each manager that
// has to do with hosts, and the API server. Each hits another move.
func interruptions() []interruption {
	follows := (*moveStory).followsTheTable
	return []interruption{
		{"clusterctl is killed while it waits", clusterctlDies(waiting), follows},
		{"clusterctl is killed when it makes the first host", clusterctlDies(createsHost), follows},
		{"clusterctl is killed when it makes the first claim", clusterctlDies(createsClaim), follows},
		{"the move is given up when hosts are on both sides", clusterctlDies(createsClaim), (*moveStory).givesUp},
		{"clusterctl is killed when everything is on both sides", clusterctlDies(deletes), follows},
		{"clusterctl is killed when it deletes the first claim", clusterctlDies(deletesClaim), follows},
		{"clusterctl is killed when it deletes the first host", clusterctlDies(deletesHost), follows},
		{"clusterctl is killed when it has marked a host", clusterctlIsStuck(noDeletion()), follows},
		{"clusterctl is killed when it has deleted a host with finalizers", clusterctlIsStuck(noEnd()), follows},
		{"clusterctl is killed there while baremetal-operator runs", clusterctlIsStuckBesideOperator, follows},
		{"clusterctl is killed before it ends the pause", clusterctlDies(endsThePause), follows},
		{"the hostclaim manager of the source is killed", dies(here, components.HostClaimManager, waiting), follows},
		{"the provider manager of the source is killed", dies(here, components.ProviderManager, waiting), follows},
		{"the hostclaim manager of the target is killed", dies(there, components.HostClaimManager, endsThePause), follows},
		{"the provider manager of the target is killed", dies(there, components.ProviderManager, endsThePause), follows},
		{"baremetal-operator of the target is killed", dies(there, components.BareMetalOperator, endsThePause), follows},
		{"the API server of the source is killed before writes", dies(here, components.APIServer, waiting), follows},
		{"the API server of the source is killed amid deletions", dies(here, components.APIServer, deletesClaim), follows},
		{"the API server of the target is killed amid creations", dies(there, components.APIServer, createsClaim), follows},
		{"the API server of the target is killed at the end", dies(there, components.APIServer, endsThePause), follows},
	}
}

func here(s *moveStory) *side  { return s.here }
func there(s *moveStory) *side { return s.there }

// isInterrupted plays all interruptions, one way and the other in turn, and ends where the free
// servers are.
func (s *moveStory) isInterrupted(t *testing.T) {
	home := s.here
	for _, i := range interruptions() {
		if !t.Run(i.title, func(t *testing.T) { s.survives(t, i) }) {
			t.FailNow()
		}
	}
	if s.here != home {
		s.moves(t)
	}
}

func (s *moveStory) survives(t *testing.T, i interruption) {
	s.guarded(t)
	before, marks := s.belongings(t), s.marks(t)
	s.here.stopOperator(t)
	if i.happens(s, t) {
		s.here, s.there = s.there, s.here
	} else {
		i.then(s, t, before)
	}
	s.settles(t, before, marks)
}

// clusterctlDies kills clusterctl in the moment in which it prints a text.
func clusterctlDies(at string) func(*moveStory, *testing.T) bool {
	return func(s *moveStory, t *testing.T) bool {
		move := s.clusterctlMove(t)
		move.when(t, at, move.cmd.Process.Kill)
		<-move.over
		return false
	}
}

// dies kills a process of a side in the moment in which clusterctl prints a text, and starts it
// again.
func dies(of func(*moveStory) *side, name, at string) func(*moveStory, *testing.T) bool {
	return func(s *moveStory, t *testing.T) bool {
		victim := of(s).victim(t, name)
		move := s.clusterctlMove(t)
		move.when(t, at, victim.kill)
		victim.startAgain(t)
		said, err := move.end()
		t.Logf("clusterctl ended with %v: %s", err, said)
		return err == nil
	}
}

// hindrance is a request of clusterctl that an admission policy refuses.
type hindrance struct {
	operation admissionv1.OperationType
	allowed   string
	// tried is such a request, to see whether the API server knows the policy.
	tried func(*moveStory, *testing.T, *bmov1alpha1.BareMetalHost) error
}

// noDeletion keeps clusterctl from deleting a host that it has marked.
func noDeletion() hindrance {
	return hindrance{admissionv1.Delete, "false", func(s *moveStory, t *testing.T, host *bmov1alpha1.BareMetalHost) error {
		t.Helper()
		return s.here.admin.Delete(t.Context(), host, client.DryRunAll)
	}}
}

// noEnd keeps clusterctl from taking the finalizers off a host that it has deleted.
func noEnd() hindrance {
	const allowed = "size(object.metadata.?finalizers.orValue([])) > 0"
	return hindrance{admissionv1.Update, allowed, func(s *moveStory, t *testing.T, host *bmov1alpha1.BareMetalHost) error {
		t.Helper()
		return s.here.admin.Patch(t.Context(), host, withoutFinalizers(), client.DryRunAll)
	}}
}

func withoutFinalizers() client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
}

// clusterctlIsStuck has the API server of the source refuse what clusterctl does next with a host
// that it has marked, and kills clusterctl then.
func clusterctlIsStuck(h hindrance) func(*moveStory, *testing.T) bool {
	return func(s *moveStory, t *testing.T) bool {
		goOn := s.hinder(t, h)
		move := s.clusterctlMove(t)
		move.says(t, deletesHost)
		eventually(t, "clusterctl has marked a host and gets no further", func(g gomega.Gomega) {
			var hosts bmov1alpha1.BareMetalHostList
			g.Expect(s.here.admin.List(t.Context(), &hosts, client.InNamespace(s.pool.Namespace))).To(gomega.Succeed())
			g.Expect(slices.ContainsFunc(hosts.Items, func(host bmov1alpha1.BareMetalHost) bool {
				_, marked := host.Annotations[clusterctlv1.DeleteForMoveAnnotation]
				return marked && (h.operation == admissionv1.Delete || !host.DeletionTimestamp.IsZero())
			})).To(gomega.BeTrue())
		})
		move.kill(t)
		goOn()
		return false
	}
}

// clusterctlIsStuckBesideOperator does so while baremetal-operator runs and sees a host that is
// being deleted. The API server keeps the pause.
func clusterctlIsStuckBesideOperator(s *moveStory, t *testing.T) bool {
	c, err := client.New(s.here.Admin, client.Options{})
	expect.NoError(t, err)
	policy, err := manifests.Render(lab.Repo.Path("config", "hostclaim", "keep-pause"), nil)
	expect.NoError(t, err)
	expect.NoError(t, manifests.Apply(t.Context(), c, policy))
	s.pause(t, true)
	s.allMovable(t, metav1.ConditionTrue, infrav1.ReadyToMoveReason)
	host := s.servers(t)[0].Host
	eventually(t, "the API server knows the policy", func(g gomega.Gomega) {
		mark := `[{"op": "add", "path": "/metadata/annotations", "value": {"` + clusterctlv1.DeleteForMoveAnnotation + `": ""}}]`
		tried := host.DeepCopy()
		g.Expect(s.here.admin.Patch(t.Context(), tried, client.RawPatch(types.JSONPatchType, []byte(mark)), client.DryRunAll)).To(gomega.Succeed())
		g.Expect(tried.Annotations).To(gomega.HaveKey(bmov1alpha1.PausedAnnotation))
	})
	s.endsThePause(t)
	s.here.startOperator(t)
	ended := clusterctlIsStuck(noEnd())(s, t)
	s.clears(t, s.here)
	for _, object := range policy {
		expect.NoError(t, c.Delete(t.Context(), object))
	}
	return ended
}

// hinder puts the policy on hosts of the source, and returns what takes it off.
func (s *moveStory) hinder(t *testing.T, h hindrance) (goOn func()) {
	t.Helper()
	c, err := client.New(s.here.Admin, client.Options{})
	expect.NoError(t, err)
	meta := metav1.ObjectMeta{Name: "hindrance"}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{h.operation},
			Rule:       admissionv1.Rule{APIGroups: []string{"metal3.io"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"baremetalhosts"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: h.allowed}},
	}}
	bound := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: s.pool.Namespace},
		}},
	}}
	expect.NoError(t, c.Create(t.Context(), policy))
	expect.NoError(t, c.Create(t.Context(), bound))
	host := s.servers(t)[0].Host
	eventually(t, "the API server knows the policy", func(g gomega.Gomega) {
		g.Expect(h.tried(s, t, host.DeepCopy())).To(gomega.MatchError(gomega.ContainSubstring(meta.Name)))
	})
	return func() {
		expect.NoError(t, c.Delete(t.Context(), bound))
		expect.NoError(t, c.Delete(t.Context(), policy))
	}
}

// followsTheTable does what docs/moving.md describes for a move that was interrupted.
func (s *moveStory) followsTheTable(t *testing.T, before belongings) {
	left, arrived := s.left(t, s.here), s.left(t, s.there)
	switch {
	case len(left) == 0:
		t.Log("nothing is left at the source")
	case len(left) == len(before.Objects):
		t.Logf("%d objects at the source, where none is missing, %d on the far side", len(left), len(arrived))
		s.beginsAgain(t)
		return
	default:
		t.Logf("%d objects at the source, %d on the far side", len(left), len(arrived))
		s.clears(t, s.here)
	}
	s.pauseOn(t, s.there, false)
	s.here, s.there = s.there, s.here
}

// beginsAgain unpauses the source and moves once more.
func (s *moveStory) beginsAgain(t *testing.T) {
	s.endsThePause(t)
	_, err := s.clusterctlMove(t).end()
	expect.NoError(t, err)
	s.here, s.there = s.there, s.here
}

// endsThePause brings the source to where it was before the move. A pause that the managers have
// not seen yet would come after claims and hosts were looked at.
func (s *moveStory) endsThePause(t *testing.T) {
	s.allMovable(t, metav1.ConditionTrue, infrav1.ReadyToMoveReason)
	s.pause(t, false)
	s.guarded(t)
}

// givesUp continues at the source, and deletes the copies in the target cluster.
func (s *moveStory) givesUp(t *testing.T, _ belongings) {
	s.endsThePause(t)
	s.clears(t, s.there)
}

// clears takes the finalizers off what is on a side and deletes it, hosts first, so that nothing
// can be done to their servers, and last the Cluster, whose pause holds the controllers.
func (s *moveStory) clears(t *testing.T, side *side) {
	t.Helper()
	turn := map[string]int{"BareMetalHost": -1, "Cluster": 1}
	kinds := movedKinds()
	slices.SortStableFunc(kinds, func(a, b schema.GroupVersionKind) int { return cmp.Compare(turn[a.Kind], turn[b.Kind]) })
	stays := s.stays(t, side)
	eventually(t, "nothing is left", func(g gomega.Gomega) {
		for _, kind := range kinds {
			for _, object := range s.objects(t, side, kind) {
				if slices.Contains(stays, object.GetKind()+" "+object.GetName()) {
					continue
				}
				for _, err := range []error{side.admin.Patch(t.Context(), &object, withoutFinalizers()), side.admin.Delete(t.Context(), &object)} {
					g.Expect(client.IgnoreNotFound(err)).To(gomega.Succeed())
				}
			}
		}
		g.Expect(s.left(t, side)).To(gomega.BeEmpty())
	})
}

// victim is a process of a side that is killed and started again.
type victim struct {
	*side

	record process.Record
	// managers are those that end with it: itself, or all that may not outlive their API server.
	// They do not count as crashed until it is back.
	managers map[string]*manager.Running
}

// victim prepares for the end of a manager, or of the API server.
func (s *side) victim(t *testing.T, name string) *victim {
	t.Helper()
	records, err := process.Recorded(s.Dir)
	expect.NoError(t, err)
	i := slices.IndexFunc(records, func(r process.Record) bool { return r.Name == name })
	v := &victim{side: s, record: records[i], managers: maps.Clone(s.Running)}
	if running, found := s.Running[name]; found {
		v.managers = map[string]*manager.Running{name: running}
	} else {
		s.history.miss()
	}
	maps.DeleteFunc(s.Running, func(name string, _ *manager.Running) bool { return v.managers[name] != nil })
	return v
}

// kill ends it in the middle of whatever it does.
func (v *victim) kill() error {
	return syscall.Kill(v.record.PID, syscall.SIGKILL)
}

// startAgain starts it, and what has not outlived it, as a kubelet would.
func (v *victim) startAgain(t *testing.T) {
	t.Helper()
	name := v.record.Name
	eventually(t, name+" has let go of its port", func(g gomega.Gomega) {
		g.Expect(syscall.Kill(v.record.PID, 0)).To(gomega.MatchError(syscall.ESRCH))
	})
	// It is dead already; this only strikes it off the list of what must be ended.
	expect.NoError(t, v.Group.StopOne(name))
	if running, found := v.managers[name]; found {
		expect.NoError(t, running.Start(t.Context(), v.Cluster))
	} else {
		v.startAPIServer(t)
	}
	maps.Copy(v.Running, v.managers)
}

func (v *victim) startAPIServer(t *testing.T) {
	t.Helper()
	r := v.record
	p, err := v.Group.Start(process.Spec{Name: r.Name, Path: r.Path, Args: r.Args, Env: r.Env, Tier: r.Tier, Ready: r.Ready})
	expect.NoError(t, err)
	ready := cluster.Healthy(&http.Client{Transport: &http.Transport{TLSClientConfig: v.TLS()}}, v.Server+"/readyz")
	expect.NoError(t, p.WaitReady(t.Context(), stepTimeout, ready))
	c, err := client.New(v.Admin, client.Options{})
	expect.NoError(t, err)
	since := time.Now()
	eventually(t, "the managers have outlived their API server, or are new", func(g gomega.Gomega) {
		for name, running := range v.managers {
			select {
			case <-running.Process.Exited():
				expect.NoError(t, v.Group.StopOne(name))
				expect.NoError(t, running.Start(t.Context(), v.Cluster))
			default:
			}
		}
		for _, name := range []string{components.ProviderManager, components.HostClaimManager} {
			var leases coordinationv1.LeaseList
			g.Expect(c.List(t.Context(), &leases, client.InNamespace(v.managers[name].Namespace))).To(gomega.Succeed())
			g.Expect(leases.Items).NotTo(gomega.BeEmpty(), name)
			for _, lease := range leases.Items {
				g.Expect(lease.Spec.RenewTime.Time).To(gomega.BeTemporally(">", since), lease.Name)
			}
		}
	})
}
