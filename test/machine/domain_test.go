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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestDataIsAskedForWhileAHostIsBound shows that a machine whose template does not depend on the place
// of its server has a place in the template before it has a server, and none while it waits for one.
func TestDataIsAskedForWhileAHostIsBound(t *testing.T) { hereAndThere(t, (*tenant).rendersAhead) }

func (tn *tenant) rendersAhead(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.makeBootstrap("value", "#cloud-config")
	tn.cluster()
	tn.template()
	tn.machine(append(change, withTemplate)...)
	holder.only()
	holder.claimStatus(func(*bmov1alpha1.HostClaim) {}, metav1.Condition{
		Type: "Associated", Status: metav1.ConditionFalse, Reason: "NoBareMetalHost", Message: "8 hosts seen: 8 in use",
	})
	tn.waits("AssociateBareMetalHost", "HostClaimNotBound", "8 in use")
	data := &infrav1.Metal3DataClaim{}
	tn.G.Expect(apierrors.IsNotFound(tn.Find(machineName, data))).To(gomega.BeTrue(), "the machine waits for a host")

	holder.choose()
	tn.Await(tn.Named(machineName, data), func(g gomega.Gomega) { g.Expect(data.Status.RenderedData).NotTo(gomega.BeNil()) })
	holder.claimStatus(func(c *bmov1alpha1.HostClaim) { c.Status.BareMetalHost = nil }, metav1.Condition{
		Type: "Associated", Status: metav1.ConditionFalse, Reason: "NoBareMetalHost", Message: "9 hosts seen: 9 in use",
	})
	tn.waits("AssociateBareMetalHost", "HostClaimNotBound", "9 in use")
	holder.choose()
	holder.bind()
	holder.provision()
	tn.G.Expect(tn.provisioned().Status.RenderedData.Name).To(gomega.Equal("template-0"))
}

// TestDataTemplateFollowsTheServer shows that a machine gets the data template of the failure domain
// that its server is in, be that the preferred one or not, and keeps it.
func TestDataTemplateFollowsTheServer(t *testing.T) { hereAndThere(t, (*tenant).rendersByDomain) }

// rendersByDomain plays a machine that prefers row-2, and gets a server of row-1. The holder is where
// the claim is.
func (tn *tenant) rendersByDomain(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.makeBootstrap("value", "#cloud-config")
	cluster := tn.cluster()
	machineTemplate := &infrav1.Metal3MachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: templateName},
		Spec: infrav1.Metal3MachineTemplateSpec{
			Template: infrav1.Metal3MachineTemplateResource{Spec: infrav1.Metal3MachineSpec{
				CustomDeploy: &infrav1.CustomDeploy{Method: "x"}, DataTemplate: &infrav1.Metal3ObjectRef{Name: "template"},
			}},
			FailureDomainDataTemplates: []infrav1.FailureDomainDataTemplate{
				{FailureDomain: "row-1", DataTemplate: infrav1.Metal3ObjectRef{Name: "template-row-1", Namespace: "elsewhere"}},
				{FailureDomain: "row-2", DataTemplate: infrav1.Metal3ObjectRef{Name: "template-row-2"}},
			},
		},
	}
	rendering := infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "row", Value: "1"}}}}
	tn.Add(machineTemplate, &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Name: "template-row-1"}, Spec: rendering})
	tn.machineNamed(machineName, func(m *clusterv1.Machine) {
		m.Spec.ClusterName, m.Spec.FailureDomain = cluster.Name, "row-2"
	}, append(change, fromTemplate, withTemplate)...)
	holder.only()
	holder.choose()
	tn.waits("AssociateBareMetalHost", "HostClaimNotBound", "bind a host")
	tn.G.Expect(apierrors.IsNotFound(tn.Find(machineName, &infrav1.Metal3DataClaim{}))).To(gomega.BeTrue(), "no failure domain is known")
	holder.bind()
	tn.waits("AssociateMetal3MachineMetaData", "InvalidConfiguration", "row-1", "elsewhere")

	tn.Edit(machineTemplate, func() { machineTemplate.Spec.FailureDomainDataTemplates[0].DataTemplate.Namespace = "" })
	holder.provision()
	m := tn.provisioned()
	tn.G.Expect(m.Status.RenderedData.Name).To(gomega.Equal("template-row-1-0"))
	tn.G.Expect(m.Status.FailureDomain).To(gomega.Equal("row-1"))
	tn.G.Expect(m.Spec.DataTemplate.Name).To(gomega.Equal("template"), "the machine is left as it was written")

	tn.Edit(machineTemplate, func() { machineTemplate.Spec.FailureDomainDataTemplates[0].DataTemplate.Name = "later" })
	tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
	tn.waits("HostClaimReady", "Deprovisioning")
	dataClaim := find(tn, machineName, &infrav1.Metal3DataClaim{})
	tn.G.Expect(dataClaim.Spec.Template.Name).To(gomega.Equal("template-row-1"))
	tn.G.Expect(dataClaim.Annotations).To(gomega.HaveKeyWithValue("hostclaim.metal3.io/failure-domain", "row-1"))
}
