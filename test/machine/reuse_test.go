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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

const (
	formerMachine  = "a-former"
	deploymentName = "workers"
	reuseLabel     = "infrastructure.cluster.x-k8s.io/node-reuse"
)

// TestServerGoesOverToTheNextMachine replaces a machine of a MachineDeployment.
func TestServerGoesOverToTheNextMachine(t *testing.T) { hereAndThere(t, (*tenant).reuses) }

// reuses plays the replacement. The holder is where the claim is.
func (tn *tenant) reuses(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.makeBootstrap("value", "#cloud-config")
	tn.group(tn.cluster())
	change = append(change, fromTemplate)
	tn.machineNamed(formerMachine, ofDeployment, change...)
	claim := holder.only()
	holder.bind()
	holder.provision()
	former := &infrav1.Metal3Machine{}
	tn.Await(tn.Named(formerMachine, former), func(g gomega.Gomega) {
		g.Expect(ptr.Deref(former.Status.Initialization.Provisioned, false)).To(gomega.BeTrue())
	})

	tn.wantsCleaning(infrav1.CleaningModeDisabled)
	tn.Await(former, func(g gomega.Gomega) {
		g.Expect(former.Spec.AutomatedCleaningMode).To(gomega.Equal(infrav1.CleaningModeDisabled))
	})

	owner := &clusterv1.Machine{}
	tn.G.Expect(tn.Delete(tn.Ctx, tn.Named(formerMachine, owner))).To(gomega.Succeed())
	tn.G.Expect(tn.Delete(tn.Ctx, former)).To(gomega.Succeed())
	holder.Await(holder.Named(holder.claim, claim), func(g gomega.Gomega) {
		g.Expect(claim.Annotations).To(gomega.HaveKeyWithValue(infrav1.SkipCleaningAnnotation, "true"))
		g.Expect(claim.Labels).To(gomega.HaveKeyWithValue(reuseLabel, "md-"+deploymentName))
		g.Expect(claim.Spec.ConsumerRef).To(gomega.BeNil())
		g.Expect(claim.Spec.Image).To(gomega.BeNil())
	})
	tn.wantsCleaning(infrav1.CleaningModeMetadata)
	tn.machineNamed(machineName, ofDeployment, append(change, func(m *infrav1.Metal3Machine) {
		m.Spec.AutomatedCleaningMode = infrav1.CleaningModeMetadata
	})...)
	tn.waits("AssociateBareMetalHost", "WaitingForReservedHost")
	tn.shows(formerMachine, former, "HostClaimReady", "False/Reserved")

	holder.claimStatus(func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = false },
		metav1.Condition{Type: "Synchronized", Status: metav1.ConditionTrue, Reason: "ConfigurationSynced"},
		metav1.Condition{Type: "AvailableForProvisioning", Status: metav1.ConditionTrue, Reason: "Available"},
		metav1.Condition{Type: "Provisioned", Status: metav1.ConditionFalse, Reason: "Reserved"})
	tn.gone(formerMachine, former)
	before := claim.UID
	holder.provision()
	adopted := tn.provisioned()
	holder.Read(claim)
	tn.G.Expect(claim.UID).To(gomega.Equal(before))
	tn.G.Expect(claim.Labels).NotTo(gomega.HaveKey(reuseLabel))
	tn.G.Expect(claim.Annotations).NotTo(gomega.HaveKey(infrav1.SkipCleaningAnnotation), "the next machine has its server cleaned")
	tn.G.Expect(claim.Spec.ConsumerRef.UID).To(gomega.Equal(adopted.UID))
	tn.G.Expect(adopted.Spec.ProviderID).To(gomega.HaveSuffix("/" + hostName + "/" + machineName))
	var all bmov1alpha1.HostClaimList
	tn.G.Expect(holder.List(holder.Ctx, &all, client.InNamespace(holder.Namespace))).To(gomega.Succeed())
	tn.G.Expect(all.Items).To(gomega.HaveLen(1))
}

// TestMachineStopsWaitingWhenReuseIsSwitchedOff shows that a wait for a reserved server ends
// with the change of the template.
func TestMachineStopsWaitingWhenReuseIsSwitchedOff(t *testing.T) {
	tn := newTenant(t)
	tn.makeBootstrap("value", "#cloud-config")
	keeper := tn.group(tn.cluster())
	tn.Add(&bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "kept", Labels: map[string]string{reuseLabel: "md-" + deploymentName, clusterv1.ClusterNameLabel: clusterName},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment", Name: keeper.Name, UID: keeper.UID,
		}},
	}, Spec: bmov1alpha1.HostClaimSpec{
		FailureDomain: "row-1",
		HostSelector:  bmov1alpha1.HostSelector{MatchExpressions: []bmov1alpha1.HostSelectorRequirement{{Key: "gpu", Operator: "exists", Values: []string{}}}},
	}})
	tn.machineNamed(machineName, ofDeployment, fromTemplate)
	tn.waits("AssociateBareMetalHost", "WaitingForReservedHost")
	template := &infrav1.Metal3MachineTemplate{}
	tn.Edit(tn.Named(templateName, template), func() { template.Spec.NodeReuse = ptr.To(false) })
	tn.claimed()
}

// wantsCleaning changes the cleaning mode in the template of the machines.
func (tn *tenant) wantsCleaning(mode infrav1.CleaningMode) {
	template := &infrav1.Metal3MachineTemplate{}
	tn.Edit(tn.Named(templateName, template), func() { template.Spec.Template.Spec.AutomatedCleaningMode = mode })
}

// group makes the MachineDeployment and the template of the machines.
func (tn *tenant) group(cluster *clusterv1.Cluster) *clusterv1.MachineDeployment {
	tn.machineTemplate(templateName, cluster)
	template := &infrav1.Metal3MachineTemplate{}
	tn.Edit(tn.Named(templateName, template), func() { template.Spec.NodeReuse = ptr.To(true) })
	labels := map[string]string{clusterv1.ClusterNameLabel: clusterName}
	d := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: deploymentName, Labels: labels},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: clusterName, Replicas: ptr.To[int32](1), Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: clusterv1.MachineTemplateSpec{ObjectMeta: clusterv1.ObjectMeta{Labels: labels}, Spec: clusterv1.MachineSpec{
				ClusterName: clusterName,
				Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfigTemplate", Name: "x",
				}},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupName, Kind: "Metal3MachineTemplate", Name: templateName,
				},
			}},
		},
	}
	tn.Add(d)
	return d
}

// ofDeployment makes a Machine one of the MachineDeployment. It stays until its infrastructure
// is gone.
func ofDeployment(m *clusterv1.Machine) {
	m.Labels[clusterv1.MachineDeploymentNameLabel] = deploymentName
	m.Finalizers = []string{"example.com/machine"}
	m.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "workers-1", UID: "set", Controller: ptr.To(true),
	}}
}
