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

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// withEndpoint gives a Metal3Cluster its endpoint.
func withEndpoint(c *infrav1.Metal3Cluster) {
	c.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
}

// withHosts has the machines of a Metal3Cluster ask for hosts of the cluster that the kubeconfig names.
func withHosts(c *infrav1.Metal3Cluster) {
	c.Spec.IdentityRef = &infrav1.IdentityReference{Name: kubeconfigSecret}
}

// infrastructure creates a Metal3Cluster that belongs to the Cluster.
func (tn *tenant) infrastructure(change ...func(*infrav1.Metal3Cluster)) *clusterv1.Cluster {
	c := tn.cluster(func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Kind = "Metal3Cluster" })
	infra := &infrav1.Metal3Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Name:   clusterName,
			Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: c.Name, UID: c.UID,
			}},
		},
		Spec: infrav1.Metal3ClusterSpec{FailureDomains: []clusterv1.FailureDomain{{Name: "row-1", ControlPlane: ptr.To(true)}}},
	}
	for _, f := range change {
		f(infra)
	}
	tn.Add(infra)
	return c
}

// ready expects the Ready condition of the Metal3Cluster to have status and reason.
func (tn *tenant) ready(status metav1.ConditionStatus, reason string) *infrav1.Metal3Cluster {
	infra := &infrav1.Metal3Cluster{}
	tn.shows(clusterName, infra, "Ready", string(status)+"/"+reason)
	return infra
}

// TestClusterEndpoint follows a Metal3Cluster whose endpoint a control plane
// provider sets, until its machines are gone.
func TestClusterEndpoint(t *testing.T) {
	tn := newTenant(t)
	tn.makeBootstrap("value", "#cloud-config")
	c := tn.infrastructure()
	infra := tn.ready(metav1.ConditionFalse, "NotReady")
	tn.G.Expect(meta.FindStatusCondition(infra.Status.Conditions, "BaremetalInfrastructureReady").Reason).To(
		gomega.Equal("WaitingForControlPlaneEndpoint"))
	tn.G.Expect(infra.Status.Initialization.Provisioned).To(gomega.BeNil())
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443} })
	tn.ready(metav1.ConditionTrue, "Ready")
	tn.Await(tn.Named(clusterName, infra), func(g gomega.Gomega) {
		g.Expect(infra.Status.Initialization.Provisioned).To(gomega.Equal(ptr.To(true)))
		g.Expect(infra.Status.FailureDomains).To(gomega.Equal(infra.Spec.FailureDomains))
	})

	tn.machine()
	tn.claimed()
	tn.G.Expect(tn.Delete(tn.Ctx, infra)).To(gomega.Succeed())
	tn.ready(metav1.ConditionFalse, "Deleting")
	m := &infrav1.Metal3Machine{}
	tn.deleted(machineName, m)
	tn.gone(machineName, m)
	owner := &clusterv1.Machine{}
	tn.deleted(machineName, owner)
	tn.gone(clusterName, infra)
}
