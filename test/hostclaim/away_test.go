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

package hostclaim

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	clusterPaused = "cluster.x-k8s.io/paused"
	moveLabel     = "clusterctl.cluster.x-k8s.io/move"
	hierarchy     = "clusterctl.cluster.x-k8s.io/move-hierarchy"
	moving        = "hostclaim.metal3.io/moving"
	mayMove       = "hostclaim.metal3.io/hosts-may-move"
	readyToMove   = "True/ReadyToMove"
)

// movedKinds are the kinds that clusterctl must know.
var movedKinds = []string{"baremetalhosts.metal3.io", "hardwaredata.metal3.io", "hostclaims.metal3.io"}

// labelKind puts clusterctl's label on a CustomResourceDefinition, or takes it off.
func labelKind(ctx context.Context, name string, labeled bool) error {
	crd := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
	if err := server.Client.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return err
	}
	before := crd.DeepCopy()
	delete(crd.Labels, "clusterctl.cluster.x-k8s.io")
	if labeled {
		if crd.Labels == nil {
			crd.Labels = map[string]string{}
		}
		crd.Labels["clusterctl.cluster.x-k8s.io"] = ""
	}
	return server.Client.Patch(ctx, crd, client.MergeFrom(before))
}

// newMoving makes a world whose hosts stand in the namespace of the tenant and may move.
func newMoving(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return makeMoving(t)
}

func makeMoving(t *testing.T) *world {
	t.Helper()
	w := makeWorld(t)
	w.infra = w.tenant
	w.operator = startOperator(t, w.tenant)
	w.OK(server.Bind(w.Ctx, harness.HostClaimAccount(), w.tenant, sourceSecretsRole))
	w.confirm(true)
	w.host("host-0", nil)
	w.host("host-1", nil)
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	return w
}

// confirm lets the hosts of the namespace move, or not.
func (w *world) confirm(confirmed bool) {
	w.T.Helper()
	harness.Change(w.Story, w.namespace(), func(n *corev1.Namespace) {
		n.Annotations = map[string]string{mayMove: strconv.FormatBool(confirmed)}
	})
}

func (w *world) namespace() *corev1.Namespace {
	namespace := &corev1.Namespace{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Name: w.tenant}, namespace))
	return namespace
}

// ofCluster is a claim that clusterctl moves.
func ofCluster(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{moveLabel: ""} }

// running makes a claim that has its server, and returns the name of its host.
func (w *world) running() string {
	w.T.Helper()
	w.claim("machine", withImage("boot"), ofCluster)
	w.expect("machine", "Ready", "True/Provisioned")
	w.nextDrive()
	return w.readClaim("machine").Status.BareMetalHost.Name
}

// pause pauses the claim, or ends that, as the provider manager does with its Cluster.
func (w *world) pause(paused bool) {
	w.T.Helper()
	if paused {
		w.annotate("machine", clusterPaused, "by the provider manager")
	} else {
		w.unannotate("machine", clusterPaused)
	}
}

// readyToMove pauses the claim and waits until it may be moved.
func (w *world) readyToMove() {
	w.T.Helper()
	w.pause(true)
	w.expect("machine", movable, readyToMove)
}

// newRunning makes a world with a manager and a claim that has its server, and returns the name of its host.
func newRunning(t *testing.T) (*world, string) {
	t.Helper()
	w := newMoving(t)
	w.manager()
	host := w.running()
	w.expectSameServer(host)
	return w, host
}

// blocked returns whether block-move is on the claim, and on its host.
func (w *world) blocked(host string) [2]bool {
	_, claim := w.readClaim("machine").Annotations[blockMove]
	_, other := w.readHost(host).Annotations[blockMove]
	return [2]bool{claim, other}
}

// packed is what clusterctl takes along: objects without status.
type packed []*unstructured.Unstructured

// pack reads the claim, the host and what belongs to them.
func (w *world) pack(host string) packed {
	w.T.Helper()
	w.G.Expect(w.blocked(host)).To(gomega.Equal([2]bool{}), "clusterctl waits for block-move to go")
	w.G.Expect(w.readHost(host).Labels).To(gomega.HaveKey(hierarchy), "clusterctl finds the host")
	return w.read(host, "BareMetalHost", "HostClaim", "HardwareData")
}

// read reads those of the claim, its host and its facts that are of these kinds.
func (w *world) read(host string, kinds ...string) (out packed) {
	w.T.Helper()
	for _, kind := range kinds {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion("metal3.io/v1alpha1")
		object.SetKind(kind)
		name := map[string]string{"BareMetalHost": host, "HostClaim": "machine", "HardwareData": "machine-hostclaim"}[kind]
		w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: name}, object))
		out = append(out, object)
	}
	return out
}

// drop deletes what was packed from the source, as clusterctl does.
func (w *world) drop(all packed) {
	w.T.Helper()
	for _, object := range all {
		w.mergePatch(object, `{"metadata":{"annotations":{"clusterctl.cluster.x-k8s.io/delete-for-move":""}}}`)
	}
	w.remove(all)
	w.expectGone("machine")
}

// remove deletes objects without minding their finalizers.
func (w *world) remove(all packed) {
	w.T.Helper()
	for _, object := range all {
		w.OK(w.Delete(w.Ctx, object.DeepCopy()))
		if len(object.GetFinalizers()) > 0 {
			w.mergePatch(object, `{"metadata":{"finalizers":null}}`)
		}
	}
}

func (w *world) mergePatch(object *unstructured.Unstructured, patch string) {
	w.T.Helper()
	w.OK(w.Patch(w.Ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))))
}

// only returns what is of these kinds.
func (p packed) only(kinds ...string) packed {
	return slices.DeleteFunc(slices.Clone(p), func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
}

// unpack makes in the target what was packed, with owners that have new UIDs.
func (w *world) unpack(all packed) {
	w.T.Helper()
	for _, kind := range []string{"BareMetalHost", "HostClaim", "HardwareData"} {
		for _, object := range all.only(kind) {
			fresh := object.DeepCopy()
			unstructured.RemoveNestedField(fresh.Object, "status")
			fresh.SetResourceVersion("")
			fresh.SetUID("")
			owners := fresh.GetOwnerReferences()
			for i := range owners {
				owners[i].UID = w.readClaim("machine").UID
			}
			fresh.SetOwnerReferences(owners)
			w.OK(w.Create(w.Ctx, fresh))
		}
	}
}

// expectSameServer waits until the claim has its server as before a move, and checks that
// nothing was done to the server.
func (w *world) expectSameServer(host string) {
	w.T.Helper()
	claim := w.expect("machine", "Ready", "True/Provisioned")
	w.expect("machine", movable, "none")
	w.G.Expect(claim.Status.BareMetalHost.Name).To(gomega.Equal(host))
	w.G.Eventually(func() [2]bool { return w.blocked(host) }).Should(gomega.Equal([2]bool{true, true}))
	facts := w.facts()
	w.G.Expect(facts).To(gomega.HaveLen(1))
	w.G.Eventually(func() string { return w.facts()[0].Labels[claimUID] }).Should(gomega.BeEquivalentTo(claim.UID))
	w.G.Eventually(func() map[string]string { return w.readHost(host).Annotations }).ShouldNot(gomega.Or(
		gomega.HaveKey(moving), gomega.HaveKey(bmov1alpha1.PausedAnnotation), gomega.HaveKey(bmov1alpha1.StatusAnnotation)))
	w.expectQuiet()
	w.expectUntouched("host-1")
}

// expectQuiet checks that no server was written, wiped, rebooted or switched since the
// story began, but for the one that was written and switched on at first.
func (w *world) expectQuiet() {
	w.T.Helper()
	o := w.operator
	expect.That(w.T, len(o.drives)+len(o.wipes)+len(o.reboots) == 0 && o.switched.Load() == 1,
		"%d writes, %d wipes, %d reboots and %d changes of power", len(o.drives), len(o.wipes), len(o.reboots), o.switched.Load())
}

func TestHostMovesWithItsClaimThereAndBackTwice(t *testing.T) {
	w := newMoving(t)
	stop := w.manager()
	host := w.running()
	for range 4 {
		w.expectSameServer(host)
		w.readyToMove()
		all := w.pack(host)
		stop()
		w.drop(all)
		stop = w.manager()
		w.unpack(all)
		w.G.Consistently(func() any { return w.readHost(host).Spec.ConsumerRef.UID }, time.Second/4).ShouldNot(
			gomega.Equal(w.readClaim("machine").UID), "a paused claim binds nothing")
		w.pause(false)
	}
	w.expectSameServer(host)
	told := w.events(w.tenant)
	for _, once := range []string{"Normal Bound", "Normal Provisioned"} {
		w.G.Expect(slices.DeleteFunc(slices.Clone(told), func(e string) bool { return e != once })).To(gomega.HaveLen(1), once)
	}
	w.G.Expect(told).To(gomega.ContainElement("Normal HostMoved"))
	w.G.Expect(told).NotTo(gomega.ContainElement("Warning ClaimMovedAway"))
}

func TestHostOfAClaimThatWasNotMovedGoesOn(t *testing.T) {
	w, host := newRunning(t)
	before := w.readHost(host)
	for range 2 {
		w.readyToMove()
		w.G.Expect(w.blocked(host)).To(gomega.Equal([2]bool{}))
		paused := w.readHost(host)
		w.G.Expect(paused.Annotations).To(gomega.HaveKeyWithValue(bmov1alpha1.PausedAnnotation, "hostclaim.metal3.io/move"))
		w.G.Expect(paused.Annotations[moving]).To(gomega.HavePrefix(string(w.readClaim("machine").UID) + "/"))
		w.G.Expect(paused.Annotations[bmov1alpha1.StatusAnnotation]).NotTo(gomega.ContainSubstring("hardware\""))
		w.pause(false)
		w.expectSameServer(host)
	}
	after := w.readHost(host)
	w.G.Expect(after.Annotations).To(gomega.Equal(before.Annotations))
	w.G.Expect(after.Labels).To(gomega.Equal(before.Labels))
	w.G.Expect(after.Spec).To(gomega.Equal(before.Spec))
}

func TestMoveWaitsForWhatIsNotSafe(t *testing.T) {
	annotate := func(key, value string) func(*world, string) {
		return func(w *world, host string) {
			harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) { h.Annotations[key] = value })
		}
	}
	remove := func(key string) func(*world, string) {
		return func(w *world, host string) {
			harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, key) })
		}
	}
	tests := map[string]struct {
		begin, end func(w *world, host string)
		want       string
	}{
		"Ironic is not said to hand over": {
			func(w *world, _ string) { w.confirm(false) }, func(w *world, _ string) { w.confirm(true) }, "HandOverNotConfirmed",
		},
		"the host is paused by another client": {annotate(bmov1alpha1.PausedAnnotation, ""), remove(bmov1alpha1.PausedAnnotation), "HostPaused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, host := newRunning(t)
			tt.begin(w, host)
			w.pause(true)
			w.expect("machine", movable, "False/"+tt.want)
			w.G.Consistently(func() [2]bool { return w.blocked(host) }).Should(gomega.Equal([2]bool{true, true}))
			w.G.Expect(w.readHost(host).Annotations).NotTo(gomega.HaveKey(moving))
			tt.end(w, host)
			w.expect("machine", movable, readyToMove)
			w.G.Expect(w.blocked(host)).To(gomega.Equal([2]bool{}))
		})
	}
}

// This story changes what all worlds share, so it is over before the others begin.
func TestMoveWaitsForTheLabelsOfTheKinds(t *testing.T) {
	w := makeMoving(t)
	w.options.Namespace = w.tenant // else the manager would label it again
	w.OK(labelKind(w.Ctx, movedKinds[0], false))
	t.Cleanup(func() { w.OK(labelKind(context.Background(), movedKinds[0], true)) })
	w.manager()
	host := w.running()
	w.pause(true)
	w.expect("machine", movable, "False/HostsNotMovable", "CustomResourceDefinition baremetalhosts.metal3.io ")
	w.G.Expect(w.blocked(host)).To(gomega.Equal([2]bool{true, true}))
	w.OK(labelKind(w.Ctx, movedKinds[0], true))
	w.expect("machine", movable, readyToMove)
}

func TestClaimByHandIsNotMoved(t *testing.T) {
	w := newMoving(t)
	w.manager()
	w.bound()
	w.pause(true)
	w.expect("machine", movable, "False/HostsNotMovable", moveLabel)
}

// moveStory plays a move and its way back, there or not at all, with a manager that dies.
func moveStory(w *world, c *harness.Crash, away bool) {
	w.T.Helper()
	stop := w.manager()
	host := w.running()
	w.expectSameServer(host)
	stop()
	replace := c.Manager(w.managerWith)
	until := func(done func() bool) {
		w.T.Helper()
		w.G.Eventually(func() bool {
			replace()
			return done()
		}).Should(gomega.BeTrue())
	}
	w.pause(true)
	until(func() bool {
		blocked := w.blocked(host)
		w.G.Expect(blocked[0] || !blocked[1]).To(gomega.BeTrue(), "block-move goes from the claim last")
		return harness.Condition(w.readClaim("machine").Status.Conditions, movable) == readyToMove
	})
	if away {
		all := w.pack(host)
		w.drop(all)
		w.unpack(all)
	}
	w.pause(false)
	until(func() bool {
		claim := w.readClaim("machine")
		_, unsafe := w.readHost(host).Annotations[moving]
		facts := w.facts()
		return harness.Condition(claim.Status.Conditions, "Ready") == "True/Provisioned" && !unsafe &&
			harness.Condition(claim.Status.Conditions, movable) == "none" &&
			len(facts) == 1 && facts[0].Labels[claimUID] == string(claim.UID)
	})
	w.expectSameServer(host)
}

func TestManagerMayDieDuringAMove(t *testing.T) {
	for name, away := range map[string]bool{"away": true, "that is called off": false} {
		t.Run(name, func(t *testing.T) {
			harness.Crashes(t, func(t *testing.T, c *harness.Crash) {
				t.Helper()
				moveStory(newMoving(t), c, away)
			})
		})
	}
}

func TestHostWhoseClaimWasMovedAwayIsKept(t *testing.T) {
	w := newMoving(t)
	w.options.OrphanGrace = 0
	w.manager()
	host := w.running()
	w.readyToMove()
	before := w.readHost(host)
	w.drop(w.pack(host).only("HostClaim", "HardwareData"))
	w.expectEvent(host, "ClaimMovedAway", gomega.And(gomega.ContainSubstring("HostClaim machine"), gomega.ContainSubstring(releaseNow)))
	w.G.Consistently(func() string { return w.readHost(host).ResourceVersion }).Should(gomega.Equal(before.ResourceVersion))
	w.expectQuiet()

	w.annotateHost(host, releaseNow)
	w.expectFree(host)
}

// clusterctl dies at the source when it has deleted a host and not yet taken its finalizer.
func TestHostStaysPausedWhenClusterctlHasDeletedIt(t *testing.T) {
	w := newMoving(t)
	w.OK(server.InstallConfig(w.Ctx, "hostclaim/keep-pause", harness.Webhooks{}))
	w.manager()
	host := w.running()
	w.readyToMove()
	harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) { h.Finalizers = []string{"example.com/baremetal-operator"} })
	patch := client.RawPatch(types.JSONPatchType, []byte(
		`[{"op":"add","path":"/metadata/annotations","value":{"clusterctl.cluster.x-k8s.io/delete-for-move":""}}]`))
	want := w.readHost(host).Annotations
	want["clusterctl.cluster.x-k8s.io/delete-for-move"] = ""
	w.G.Eventually(func() map[string]string {
		tried := w.readHost(host)
		w.OK(w.Patch(w.Ctx, tried, patch, client.DryRunAll))
		return tried.Annotations
	}).Should(gomega.Equal(want), "the API server takes a moment to learn of a policy")
	marked := w.readHost(host)
	w.OK(w.Patch(w.Ctx, marked, patch))
	w.OK(w.Delete(w.Ctx, marked))
	w.G.Consistently(func() map[string]string { return w.readHost(host).Annotations }).Should(gomega.Equal(want))
	w.expectQuiet()

	harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) { h.Finalizers = nil })
	other := w.readHost("host-1")
	other.Annotations = map[string]string{bmov1alpha1.PausedAnnotation: "by an administrator"}
	w.OK(w.Patch(w.Ctx, other, client.MergeFrom(w.readHost("host-1"))))
	w.OK(w.Patch(w.Ctx, other, patch, client.DryRunAll))
	w.G.Expect(other.Annotations).To(gomega.HaveLen(1), "clusterctl does as ever with a host that is not moved with its claim")
}

// A backup is restored: objects without status, on which it may have found a pause, and
// what goes with it, or not.
func TestRestoredClaimHasItsHostAgain(t *testing.T) {
	tests := map[string]struct {
		edit func(h *unstructured.Unstructured)
		lost bool
	}{
		"taken while both were paused": {edit: func(*unstructured.Unstructured) {}},
		"without the record": {edit: func(h *unstructured.Unstructured) {
			unstructured.RemoveNestedField(h.Object, "metadata", "annotations", moving)
		}},
		"without the pause": {edit: func(h *unstructured.Unstructured) {
			unstructured.RemoveNestedField(h.Object, "metadata", "annotations", bmov1alpha1.PausedAnnotation)
		}},
		"without the status": {lost: true, edit: func(h *unstructured.Unstructured) {
			unstructured.RemoveNestedField(h.Object, "metadata", "annotations", bmov1alpha1.StatusAnnotation)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoving(t)
			stop := w.manager()
			host := w.running()
			w.readyToMove()
			all := w.pack(host)
			kept := w.readHost(host).Annotations[bmov1alpha1.StatusAnnotation]
			stop()
			w.drop(all)
			for _, object := range all.only("BareMetalHost") {
				tt.edit(object)
			}
			w.unpack(all)
			w.manager()
			w.pause(false)
			if tt.lost {
				w.expect("machine", "Synchronized", "False/WaitingForHostStatus")
				w.expect("machine", "Ready", "False/WaitingForHostStatus")
				w.G.Consistently(func() map[string]string { return w.readHost(host).Annotations }).Should(gomega.HaveKey(bmov1alpha1.PausedAnnotation))
				harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) {
					h.Annotations[bmov1alpha1.StatusAnnotation] = kept
				})
			}
			w.expectSameServer(host)
		})
	}
}
