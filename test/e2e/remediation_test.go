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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/guest"
)

// watched has a MachineHealthCheck reboot the machines of a role, with so much time for each reboot.
func (a *tenantCluster) watched(t *testing.T, role role, name string, seconds int32) {
	t.Helper()
	a.treats(t, name, seconds)
	operator := metav1.LabelSelectorOpDoesNotExist
	if role == controlPlane {
		operator = metav1.LabelSelectorOpExists
	}
	all := intstr.FromString("100%")
	expect.NoError(t, a.Client.Create(t.Context(), &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: name},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: a.cluster.Name,
			Selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: clusterv1.MachineControlPlaneLabel, Operator: operator},
			}},
			Checks: clusterv1.MachineHealthCheckChecks{UnhealthyNodeConditions: silent()},
			Remediation: clusterv1.MachineHealthCheckRemediation{
				TriggerIf:   clusterv1.MachineHealthCheckRemediationTriggerIf{UnhealthyLessThanOrEqualTo: &all},
				TemplateRef: treatment(name),
			},
		},
	}))
}

// treats makes the template of remediations by reboots.
func (a *tenantCluster) treats(t *testing.T, name string, seconds int32) {
	t.Helper()
	expect.NoError(t, a.Client.Create(t.Context(), &infrav1.Metal3RemediationTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: name},
		Spec: infrav1.Metal3RemediationTemplateSpec{Template: infrav1.Metal3RemediationTemplateResource{Spec: infrav1.Metal3RemediationSpec{
			Strategy: &infrav1.RemediationStrategy{Type: infrav1.RemediationTypeReboot, RetryLimit: 1, TimeoutSeconds: seconds},
		}}},
	}))
}

// silent is a Node that does not answer for a second.
func silent() []clusterv1.UnhealthyNodeCondition {
	return []clusterv1.UnhealthyNodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: ptr.To[int32](1)}}
}

// treatment names the template of remediations.
func treatment(name string) clusterv1.MachineHealthCheckRemediationTemplateReference {
	return clusterv1.MachineHealthCheckRemediationTemplateReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3RemediationTemplate", Name: name,
	}
}

// unwatched takes the MachineHealthCheck away.
func (a *tenantCluster) unwatched(t *testing.T, name string) {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: name}}
	expect.NoError(t, a.Client.Delete(t.Context(), check))
}

// hangs has the server of a machine hang, and waits until its Node shows that.
func (l *lifeStory) hangs(t *testing.T, m world.Machine) {
	t.Helper()
	annotate(t, l.admin, m.Host, guest.HangAnnotation, "")
	l.goesSilent(t, m)
}

// goesSilent waits until the Node of a machine does not answer.
func (a *tenantCluster) goesSilent(t *testing.T, m world.Machine) {
	t.Helper()
	workload := a.workload(t)
	eventually(t, "the Node does not answer", func(g gomega.Gomega) {
		g.Expect(readiness(g, t, workload, m)).To(gomega.Equal(corev1.ConditionUnknown))
	})
}

// readiness is the condition Ready of the Node of a machine.
func readiness(g gomega.Gomega, t *testing.T, workload client.Client, m world.Machine) corev1.ConditionStatus {
	t.Helper()
	node := &corev1.Node{}
	g.Expect(workload.Get(t.Context(), client.ObjectKey{Name: m.Machine.Status.NodeRef.Name}, node)).To(gomega.Succeed())
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// isWatched has a MachineHealthCheck reboot a machine that hangs.
func (l *lifeStory) isWatched(t *testing.T, role role) {
	name := "reboot-" + string(role)
	l.watched(t, role, name, 600)
	l.isRebooted(t, l.servers(t)[role][0])
	l.unwatched(t, name)
}

// isOfClass does so where the topology of the cluster asks for the MachineHealthCheck.
func (l *lifeStory) isOfClass(t *testing.T) {
	expect.NoError(t, story.BringClass(t.Context(), lab.Repo, l.Tenant))
	expect.NoError(t, l.cluster.CreateOfClass(t.Context(), lab.Repo, l.Tenant))
	expect.NoError(t, l.cluster.WaitRunning(limited(t), l.world, l.Namespace, ignoreNotes))
	l.treats(t, "reboot", 600)
	whole := &clusterv1.Cluster{}
	expect.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: l.cluster.Name}, whole))
	was, all := whole.DeepCopy(), intstr.FromString("100%")
	whole.Spec.Topology.Workers.MachineDeployments[0].HealthCheck = clusterv1.MachineDeploymentTopologyHealthCheck{
		Checks: clusterv1.MachineDeploymentTopologyHealthCheckChecks{UnhealthyNodeConditions: silent()},
		Remediation: clusterv1.MachineDeploymentTopologyHealthCheckRemediation{
			TriggerIf:   clusterv1.MachineDeploymentTopologyHealthCheckRemediationTriggerIf{UnhealthyLessThanOrEqualTo: &all},
			TemplateRef: treatment("reboot"),
		},
	}
	expect.NoError(t, l.Client.Patch(t.Context(), whole, client.MergeFrom(was)))
	l.isRebooted(t, l.servers(t)[worker][0])
}

// isRebooted has a machine hang until it is rebooted. It stays the same machine, Node and server,
// and the server was off once.
func (l *lifeStory) isRebooted(t *testing.T, m world.Machine) {
	workload := l.workload(t)
	seen := len(l.history.versions(client.ObjectKeyFromObject(m.Host), 0))
	l.hangs(t, m)
	annotate(t, l.admin, m.Host, guest.HangAnnotation, nil)
	l.recovers(t, l.world, m)
	expect.NoError(t, l.cluster.WaitRunning(limited(t), l.world, l.Namespace, ignoreNotes))
	node := &corev1.Node{}
	expect.NoError(t, workload.Get(t.Context(), client.ObjectKey{Name: m.Machine.Status.NodeRef.Name}, node))
	for _, taint := range node.Spec.Taints {
		expect.That(t, taint.Key != corev1.TaintNodeOutOfService && taint.Key != corev1.TaintNodeUnreachable, "the Node still has the taint %s", taint.Key)
	}
	l.wasOffOnce(t, m, seen)
}

// recovers waits until a machine was rebooted, and its remediation is gone.
func (a *tenantCluster) recovers(t *testing.T, w *world.World, m world.Machine) {
	t.Helper()
	workload := a.workload(t)
	eventually(t, "the machine is well again", func(g gomega.Gomega) {
		g.Expect(told(g, t, w, m)).To(gomega.ContainElements("PoweringOff", "NodeOutOfService", "PoweringOn", "NodeRestored"))
		g.Expect(readiness(g, t, workload, m)).To(gomega.Equal(corev1.ConditionTrue))
		err := w.Get(t.Context(), client.ObjectKeyFromObject(m.Machine), &infrav1.Metal3Remediation{})
		g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "the remediation goes: %v", err)
	})
}

// wasOffOnce checks that the server was switched off and on since it was seen that often, and
// nothing else was done to it.
func (l *lifeStory) wasOffOnce(t *testing.T, m world.Machine, seen int) {
	t.Helper()
	eventually(t, "the server was switched off and on once", func(g gomega.Gomega) {
		var power []bool
		for _, host := range l.history.versions(client.ObjectKeyFromObject(m.Host), seen-1) {
			if ref := host.Spec.ConsumerRef; ref == nil || ref.UID != m.Claim.UID || host.Status.Provisioning.State != bmov1alpha1.StateProvisioned {
				gomega.StopTrying(fmt.Sprintf("the server is %s for %v", host.Status.Provisioning.State, ref)).Now()
			}
			if on := host.Status.PoweredOn; len(power) == 0 || power[len(power)-1] != on {
				power = append(power, on)
			}
		}
		g.Expect(power).To(gomega.Equal([]bool{true, false, true}))
	})
}

// isReplaced has a worker hang whatever is done. Its Machine is handed back when the reboots are
// used up, another server takes its place, and its own one is kept out of the pool.
func (l *lifeStory) isReplaced(t *testing.T) {
	m := l.servers(t)[worker][0]
	l.watched(t, worker, "give-up", 100)
	l.hangs(t, m)
	eventually(t, "it is rebooted once more", func(g gomega.Gomega) {
		remediation := &infrav1.Metal3Remediation{}
		g.Expect(l.world.Get(t.Context(), client.ObjectKeyFromObject(m.Machine), remediation)).To(gomega.Succeed())
		g.Expect(remediation.Status.RetryCount).To(gomega.BeEquivalentTo(1))
	})
	eventually(t, "the machine is handed back", func(g gomega.Gomega) {
		g.Expect(told(g, t, l.world, m)).To(gomega.ContainElements(infrav1.RebootedReason, infrav1.HandedBackReason))
	})
	eventually(t, "the server is kept out of the pool", func(g gomega.Gomega) {
		host := &bmov1alpha1.BareMetalHost{}
		g.Expect(l.world.Hosts.Get(t.Context(), client.ObjectKeyFromObject(m.Host), host)).To(gomega.Succeed())
		g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil())
		g.Expect(host.Annotations).To(gomega.HaveKey(infrav1.UnhealthyAnnotation))
	})
	l.replaced++
	l.unwatched(t, "give-up")
	l.runsIn(t, l.world)
	for _, other := range l.servers(t)[worker] {
		expect.That(t, other.UID() != m.UID() && other.Host.Name != m.Host.Name, "%s is still there, on %s", other.Name(), other.Host.Name)
	}
}

// told returns the reasons of the events about the remediation of a machine.
func told(g gomega.Gomega, t *testing.T, w *world.World, m world.Machine) (reasons []string) {
	t.Helper()
	var list corev1.EventList
	g.Expect(w.List(t.Context(), &list, client.InNamespace(m.Machine.Namespace))).To(gomega.Succeed())
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == "Metal3Remediation" && e.InvolvedObject.Name == m.Machine.Name {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// versions returns those of a host from a number on.
func (h *history) versions(key client.ObjectKey, from int) []*bmov1alpha1.BareMetalHost {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hosts[key][from:]
}
