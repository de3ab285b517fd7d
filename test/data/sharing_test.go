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

package data_test

import (
	"fmt"
	"testing"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestClustersShareATemplate shows the rules of sharing: one row of indexes for all
// Clusters of the namespace; data, secrets and claims on pools carry the label of
// the Cluster whose machine they are for; nothing of it belongs to the template,
// and the end of one Cluster's machines touches no other's.
func TestClustersShareATemplate(t *testing.T) {
	tn := newTenant(t)
	tn.pool("pool")
	tn.template("nodes", "metaData: {indexes: [{key: index}], ipAddressesFromPool: [{key: ip, name: pool}]}")
	tn.Add(&clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupName, Kind: "Metal3Cluster", Name: "b",
		}},
	})
	claims := map[string]*infrav1.Metal3DataClaim{}
	for _, cluster := range []string{clusterName, "b"} {
		m := tn.machineOf(cluster, "of-"+cluster)
		tn.bind(m)
		claims[cluster] = tn.claim(m, "nodes")
		tn.Await(tn.Named("of-"+cluster, claims[cluster]), func(g gomega.Gomega) { g.Expect(claims[cluster].Status.RenderedData).NotTo(gomega.BeNil()) })
	}
	of := map[string]string{clusterName: "nodes-0", "b": "nodes-1"}
	for cluster, name := range of {
		metaData, _ := tn.ready(name)
		tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("index", name[len(name)-1:]))
		data := &infrav1.Metal3Data{}
		tn.G.Expect(tn.Find(name, data)).To(gomega.Succeed())
		for _, owner := range data.OwnerReferences {
			tn.G.Expect(owner.Kind).To(gomega.BeElementOf("Metal3DataClaim", "Metal3Machine"), "its template does not own it")
		}
		for object, o := range map[string]client.Object{name: data, name + "-pool": &ipamv1alpha1.IPClaim{}, "of-" + cluster + "-metadata": &corev1.Secret{}} {
			tn.G.Expect(tn.Find(object, o)).To(gomega.Succeed())
			tn.G.Expect(o.GetLabels()).To(gomega.HaveKeyWithValue(clusterv1.ClusterNameLabel, cluster))
		}
	}
	kept := &infrav1.Metal3Data{}
	tn.G.Expect(tn.Find("nodes-1", kept)).To(gomega.Succeed())

	tn.release(claims[clusterName])
	tn.gone("nodes-0", &infrav1.Metal3Data{})
	tn.gone("nodes-0-pool", &ipamv1alpha1.IPClaim{})
	still := &infrav1.Metal3Data{}
	tn.G.Expect(tn.Find("nodes-1", still)).To(gomega.Succeed())
	tn.G.Expect(still.UID).To(gomega.Equal(kept.UID))
	tn.G.Expect(tn.Find("nodes-1-pool", &ipamv1alpha1.IPClaim{})).To(gomega.Succeed())

	// The index that became free goes to whichever Cluster asks next.
	m := tn.machineOf("b", "of-b-too")
	tn.bind(m)
	tn.claim(m, "nodes")
	metaData, _ := tn.ready("nodes-0")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("index", "0"))
}

// TestNewDataDoesNotAdoptADyingClaim has a claim on a pool that a former Metal3Data of
// the name is still giving back: its address is that of a server which may run. The
// new one waits, and has an address of its own.
func TestNewDataDoesNotAdoptADyingClaim(t *testing.T) {
	tn := newTenant(t)
	tn.pool("pool")
	tn.template("nodes", nodes)
	const slow = "example.com/slow"
	dying := &ipamv1alpha1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "nodes-0-pool", Finalizers: []string{slow}},
		Spec:       ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool", Namespace: tn.Namespace}},
	}
	tn.Add(dying)
	tn.Await(tn.Named("nodes-0-pool", dying), func(g gomega.Gomega) { g.Expect(dying.Status.Address).NotTo(gomega.BeNil()) })
	tn.Edit(dying, func() {
		dying.Finalizers = append(dying.Finalizers, infrav1.DataFinalizer)
		dying.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "nodes-0", UID: "former", Controller: ptr.To(true),
		}}
	})
	// There is no Metal3Data of that UID any more, so its hold is taken off; another one stays.
	tn.Await(tn.Named("nodes-0-pool", dying), func(g gomega.Gomega) {
		g.Expect(dying.DeletionTimestamp).NotTo(gomega.BeNil())
		g.Expect(dying.Finalizers).NotTo(gomega.ContainElement(infrav1.DataFinalizer))
	})

	m := tn.machine("m")
	tn.bind(m)
	tn.claim(m, "nodes")
	tn.waits("nodes-0", infrav1.AddressUnavailableReason, `"nodes-0-pool"`, "something else")
	tn.G.Consistently(func() error { return tn.Find("m-metadata", &corev1.Secret{}) }, stillness).ShouldNot(gomega.Succeed())

	tn.Edit(dying, func() { dying.Finalizers = []string{poolFinalizer} })
	tn.ready("nodes-0")
	fresh := &ipamv1alpha1.IPClaim{}
	tn.G.Expect(tn.Find("nodes-0-pool", fresh)).To(gomega.Succeed())
	tn.G.Expect(fresh.UID).NotTo(gomega.Equal(dying.UID))
	tn.G.Expect(fresh.Status.Address).NotTo(gomega.BeNil())
}

// TestATemplateServesMoreMachinesThanItLists goes past the end of status.indexes,
// which is for people only.
func TestATemplateServesMoreMachinesThanItLists(t *testing.T) {
	tn := newTenant(t)
	tn.template("nodes", "metaData: {indexes: [{key: index}]}")
	const listed, many = 512, 515
	for i := range int32(many) {
		tn.Add(&infrav1.Metal3Data{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("nodes-%d", i)},
			Spec: infrav1.Metal3DataSpec{
				Index: ptr.To(i), Claim: &infrav1.Metal3ObjectRef{Name: fmt.Sprintf("m-%d", i)}, Template: &infrav1.Metal3ObjectRef{Name: "nodes"},
			},
		})
	}
	m := tn.machine("m")
	tn.bind(m)
	tn.claim(m, "nodes")
	metaData, _ := tn.ready("nodes-515")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("index", "515"))
	template := &infrav1.Metal3DataTemplate{}
	tn.Await(tn.Named("nodes", template), func(g gomega.Gomega) { g.Expect(template.Status.Indexes).To(gomega.HaveLen(listed)) })
}
