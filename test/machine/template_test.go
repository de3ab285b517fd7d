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

package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

const templateName = "workers"

// machineTemplate creates a template as Cluster API knows it, owned by the Cluster.
func (tn *tenant) machineTemplate(name string, cluster *clusterv1.Cluster) {
	tn.Add(&infrav1.Metal3MachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID},
		}},
		Spec: infrav1.Metal3MachineTemplateSpec{Template: infrav1.Metal3MachineTemplateResource{
			Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}},
		}},
	})
}

// fromTemplate makes a machine one that Cluster API made from the template, with the
// annotations of the template's metadata.
func fromTemplate(m *infrav1.Metal3Machine) {
	m.Annotations = map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation:      templateName,
		clusterv1.TemplateClonedFromGroupKindAnnotation: "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
		infrav1.SoftFailureDomainAnnotation:             "true",
		"example.com/for":                               "people",
	}
}

// promises waits until the status of the template has this capacity and NodeInfo, and Ready the reason.
func (tn *tenant) promises(name, reason, cpus, memory string, info *infrav1.NodeInfo) {
	template := &infrav1.Metal3MachineTemplate{}
	tn.Await(tn.Named(name, template), func(g gomega.Gomega) {
		g.Expect(template.Status.Conditions).To(gomega.ContainElement(gomega.And(
			gomega.HaveField("Type", infrav1.ReadyCondition), gomega.HaveField("Reason", reason))))
		capacity := map[corev1.ResourceName]string{}
		for resource, quantity := range template.Status.Capacity {
			capacity[resource] = quantity.String()
		}
		want := map[corev1.ResourceName]string{}
		if cpus != "" {
			want = map[corev1.ResourceName]string{corev1.ResourceCPU: cpus, corev1.ResourceMemory: memory}
		}
		g.Expect(cmp.Diff(want, capacity)+cmp.Diff(info, template.Status.NodeInfo)).To(gomega.BeEmpty(), "-want +got")
	})
}

// TestTemplatesPromiseWhatTheirMachinesHad follows a template from before its first
// machine to after its last one. Each step is a single event.
func TestTemplatesPromiseWhatTheirMachinesHad(t *testing.T) {
	tn := newTenant(t)
	cluster := tn.cluster()
	tn.machineTemplate(templateName, cluster)
	tn.promises(templateName, infrav1.CapacityUnknownReason, "", "", nil)

	tn.makeBootstrap("value", "user data")
	tn.machine(fromTemplate)
	claim := tn.claimed()
	tn.G.Expect(claim.Annotations).To(gomega.HaveKeyWithValue(infrav1.SoftFailureDomainAnnotation, "true"))
	tn.G.Expect(claim.Annotations).NotTo(gomega.HaveKey("example.com/for"), "only what a claim understands reaches it")
	tn.bind()
	facts := &bmov1alpha1.HardwareData{}
	size := func(cpus, memory int) {
		tn.Edit(tn.Named(machineName+infrav1.HardwareDataSuffix, facts), func() {
			facts.Spec.HardwareDetails.CPU = bmov1alpha1.CPU{Arch: "x86_64", Count: cpus}
			facts.Spec.HardwareDetails.RAMMebibytes = memory
		})
	}
	size(32, 65536)
	amd64 := &infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64}
	tn.promises(templateName, infrav1.CapacityObservedReason, "32", "64Gi", amd64)

	owner := &clusterv1.Machine{}
	tn.EditStatus(tn.Named(machineName, owner), func() {
		owner.Status.NodeInfo = &corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux"}
	})
	linux := &infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64, OperatingSystem: "linux"}
	tn.promises(templateName, infrav1.CapacityObservedReason, "32", "64Gi", linux)

	template := &infrav1.Metal3MachineTemplate{}
	annotate := func(text string) {
		tn.Edit(tn.Named(templateName, template), func() { template.Annotations = map[string]string{infrav1.CapacityAnnotation: text} })
	}
	annotate("cpu:16")
	tn.promises(templateName, infrav1.InvalidCapacityAnnotationReason, "32", "64Gi", linux)
	annotate("cpu=16")
	tn.promises(templateName, infrav1.CapacityGivenReason, "16", "64Gi", linux)
	tn.Edit(tn.Named(templateName, template), func() { template.Annotations = nil })
	tn.promises(templateName, infrav1.CapacityObservedReason, "32", "64Gi", linux)

	// While the Cluster is paused, nothing is written; what has changed is seen later.
	tn.Edit(tn.Named(clusterName, cluster), func() { cluster.Spec.Paused = ptr.To(true) })
	tn.Await(tn.Named(templateName, template), func(g gomega.Gomega) {
		g.Expect(template.Status.Conditions).To(gomega.ContainElement(gomega.And(
			gomega.HaveField("Type", infrav1.PausedCondition), gomega.HaveField("Status", metav1.ConditionTrue))))
	})
	size(8, 32768)
	tn.G.Consistently(func(g gomega.Gomega) {
		g.Expect(tn.Find(templateName, template)).To(gomega.Succeed())
		g.Expect(template.Status.Capacity.Cpu().Value()).To(gomega.BeEquivalentTo(32))
	}).Should(gomega.Succeed())
	tn.Edit(tn.Named(clusterName, cluster), func() { cluster.Spec.Paused = ptr.To(false) })
	tn.promises(templateName, infrav1.CapacityObservedReason, "8", "32Gi", linux)

	tn.keepsPromise(func() {
		m := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: machineName}}
		tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
		tn.release()
		tn.G.Eventually(func() bool { return apierrors.IsNotFound(tn.Find(machineName, m)) }).Should(gomega.BeTrue())
	})
	tn.promises(templateName, infrav1.CapacityObservedReason, "8", "32Gi", linux)

	// The group is at zero now. A rollout gives it a new template, which knows nothing before
	// its first server.
	tn.machineTemplate("next", cluster)
	tn.promises("next", infrav1.CapacityUnknownReason, "", "", nil)
}

// keepsPromise expects nothing at all to be written to the template during the step and
// for a while after it.
func (tn *tenant) keepsPromise(step func()) {
	before, after := &infrav1.Metal3MachineTemplate{}, &infrav1.Metal3MachineTemplate{}
	tn.G.Expect(tn.Find(templateName, before)).To(gomega.Succeed())
	step()
	tn.G.Consistently(func(g gomega.Gomega) {
		g.Expect(tn.Find(templateName, after)).To(gomega.Succeed())
		g.Expect(after.ResourceVersion).To(gomega.Equal(before.ResourceVersion))
	}).Should(gomega.Succeed())
}
