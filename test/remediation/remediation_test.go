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

package remediation

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(time.Minute)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(m))
}

// workload is a connection to a workload cluster: this API server, without the seconds that
// Cluster API's own connection takes to notice that a cluster came or went.
type workload struct {
	clustercache.ClusterCache // nil: what is not written here is not used

	client client.Client
	cache  cache.Cache
	watch  map[string]bool
}

func (w *workload) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	return w.client, nil
}

func (w *workload) Watch(_ context.Context, _ client.ObjectKey, watcher clustercache.Watcher) error {
	if w.watch[watcher.Name()] {
		return nil
	}
	w.watch[watcher.Name()] = true
	return watcher.Watch(w.cache)
}

func (w *workload) GetClusterSource(
	string, func(context.Context, client.Object) []ctrl.Request, ...clustercache.GetClusterSourceOption,
) source.Source {
	return source.Func(func(context.Context, queue) error { return nil })
}

// TestRebootHelps follows a remediation step by step until the MachineHealthCheck deletes it.
func TestRebootHelps(t *testing.T) {
	w := newWorld(t)
	w.manager(nil)
	w.remedy()
	w.says("False/PoweringOff", nil)
	w.Await(w.claim, func(g gomega.Gomega) {
		g.Expect(w.claim.Annotations).To(gomega.HaveKeyWithValue(holdOff, `{"mode":"hard"}`))
	})
	w.says("False/Evacuating", w.obey)
	w.Await(w.node, func(g gomega.Gomega) { g.Expect(w.tainted()).To(gomega.BeTrue()) })
	w.G.Expect(w.node.Spec.Taints).To(gomega.ContainElement(corev1.Taint{
		Key: "node.kubernetes.io/out-of-service", Value: "nodeshutdown", Effect: "NoExecute",
	}))
	w.G.Expect(w.claim.Annotations).To(gomega.HaveKey(holdOff))

	w.leave()
	w.says("True/Rebooted", w.obey)
	w.G.Expect(w.remediation.Status.Phase).To(gomega.Equal(infrav1.RemediationPhaseWaiting))
	w.G.Expect(w.remediation.Finalizers).To(gomega.ConsistOf(infrav1.RemediationFinalizer))
	w.Read(w.node)
	w.G.Expect(w.tainted()).To(gomega.BeFalse())
	w.OK(w.Delete(w.Ctx, w.remediation))
	w.ended()
	w.G.Expect(w.reboots).To(gomega.Equal(1))
}

// TestLimit hands the Machine back after the last reboot, as Cluster API's owners of Machines
// look for it.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	w.manager(nil)
	w.EditStatus(w.machine, func() {
		conditions.Set(w.machine, metav1.Condition{Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: "Unhealthy"})
	})
	w.remedy()
	w.says("True/Rebooted", w.play)
	w.pass(timeout)
	w.G.Eventually(func(g gomega.Gomega) {
		w.play(g)
		g.Expect(w.reboots).To(gomega.Equal(2))
	}).Should(gomega.Succeed())
	w.says("True/Rebooted", w.play)
	w.G.Expect(w.remediation.Status.RetryCount).To(gomega.Equal(int32(1)))
	w.Read(w.machine)
	w.G.Expect(collections.IsUnhealthyAndOwnerRemediated(w.machine)).To(gomega.BeFalse())

	w.pass(timeout)
	w.says("False/HandedBack", w.play)
	w.G.Expect(w.remediation.Status.Phase).To(gomega.Equal(infrav1.RemediationPhaseDeletingMachine))
	w.Read(w.machine)
	w.G.Expect(collections.IsUnhealthyAndOwnerRemediated(w.machine)).To(gomega.BeTrue())
	w.G.Expect(harness.Message(w.machine.Status.Conditions, clusterv1.MachineOwnerRemediatedCondition)).To(gomega.ContainSubstring(name))
	w.Read(w.claim)
	w.G.Expect(w.claim.Annotations).NotTo(gomega.HaveKey(holdOff))
	w.G.Expect(w.claim.Annotations).To(gomega.HaveKeyWithValue(infrav1.UnhealthyClaimAnnotation, "true"))
	w.OK(w.Delete(w.Ctx, w.remediation))
	w.ended()
	w.G.Expect(w.claim.Annotations).NotTo(gomega.HaveKey(infrav1.UnhealthyClaimAnnotation), "the machine has become healthy")
	w.G.Expect(w.reboots).To(gomega.Equal(2))
}

// TestPaused writes nothing for a remediation that is paused, by itself or with its Cluster.
func TestPaused(t *testing.T) {
	w := newWorld(t)
	cluster := &clusterv1.Cluster{}
	pause := func(paused bool) { w.Edit(w.Named("a", cluster), func() { cluster.Spec.Paused = &paused }) }
	pause(true)
	w.manager(nil)
	w.remedy()
	w.Await(w.remediation, func(g gomega.Gomega) {
		g.Expect(harness.Condition(w.remediation.Status.Conditions, "Paused")).To(gomega.Equal("True/Paused"))
	})
	w.G.Expect(w.remediation.Finalizers).To(gomega.BeEmpty())
	w.G.Expect(w.remediation.Status.Phase).To(gomega.BeEmpty())
	pause(false)
	w.says("True/Rebooted", w.play)
}

// TestSkipped leaves a machine alone that its user wants to look at.
func TestSkipped(t *testing.T) {
	w := newWorld(t)
	w.Edit(w.machine, func() { w.machine.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: ""} })
	w.manager(nil)
	w.remedy()
	w.says("False/RemediationSkipped", w.obey)
	w.G.Expect(w.reboots).To(gomega.BeZero())
	w.Edit(w.machine, func() { w.machine.Annotations = nil })
	w.says("True/Rebooted", w.play)
}

// TestOnlyOneActs makes many remediations for one Machine: one of them reboots its server,
// and the next one does when it goes.
func TestOnlyOneActs(t *testing.T) {
	w := newWorld(t)
	w.remedy()
	first := w.remediation
	// These are older by name, and cannot act: they keep nothing from the others.
	stranger, idle := first.DeepCopy(), first.DeepCopy()
	stranger.ObjectMeta = metav1.ObjectMeta{Namespace: w.Namespace, Name: "a-stranger", OwnerReferences: slices.Clone(first.OwnerReferences)}
	stranger.OwnerReferences[0].Name = "another"
	idle.ObjectMeta = metav1.ObjectMeta{
		Namespace: w.Namespace, Name: "an-idle-one", OwnerReferences: first.OwnerReferences, Annotations: map[string]string{clusterv1.PausedAnnotation: ""},
	}
	w.Make(stranger, idle)
	others := make([]*infrav1.Metal3Remediation, 5)
	for i := range others {
		others[i] = &infrav1.Metal3Remediation{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: fmt.Sprintf("n-%d", i), OwnerReferences: first.OwnerReferences},
			Spec:       first.Spec,
		}
		w.Make(others[i])
	}
	w.manager(nil)
	w.says("True/Rebooted", w.play)
	for _, other := range others {
		w.Await(other, func(g gomega.Gomega) {
			g.Expect(harness.Condition(other.Status.Conditions, "Ready")).To(gomega.Equal("False/OtherRemediation"))
		})
		w.G.Expect(other.Finalizers).To(gomega.BeEmpty())
	}
	w.G.Expect(w.reboots).To(gomega.Equal(1))

	w.OK(w.Delete(w.Ctx, first))
	w.ended()
	w.Await(others[0], func(g gomega.Gomega) {
		g.Expect(harness.Condition(others[0].Status.Conditions, "Ready")).To(gomega.Equal("False/PoweringOff"))
	})
}

// life plays a remediation that helps, from its making to its end. When the manager dies,
// another one takes over.
func life(w *world, c *harness.Crash) {
	w.T.Helper()
	replace := c.Manager(w.manager)
	w.remedy()
	deleted := false
	w.G.Eventually(func(g gomega.Gomega) {
		replace()
		w.play(g)
		err := w.Find(name, w.remediation)
		if ready, _ := w.ready(); err == nil && ready == "True/Rebooted" && !deleted {
			w.OK(w.Delete(w.Ctx, w.remediation))
			deleted = true
		}
		g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue())
	}).Should(gomega.Succeed())
	w.ended()
	w.G.Expect(deleted).To(gomega.BeTrue())
	w.G.Expect(w.reboots).To(gomega.Equal(1))
}

// TestManagerMayDieBetweenAnyTwoWrites wants one reboot and the same end whenever the manager dies.
func TestManagerMayDieBetweenAnyTwoWrites(t *testing.T) {
	harness.Crashes(t, func(t *testing.T, c *harness.Crash) {
		t.Helper()
		life(newWorld(t), c)
	})
}
