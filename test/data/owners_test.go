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
	"slices"
	"testing"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// The stories of this file take owner references and finalizers away, as the garbage
// collector, a restore from a backup and Cluster API's own end-to-end suite do.

// rendered makes a machine m whose claim has Metal3Data nodes-0 with its secrets.
func (tn *tenant) renderedMachine() (*infrav1.Metal3Machine, *infrav1.Metal3DataClaim, *infrav1.Metal3Data) {
	tn.T.Helper()
	tn.pool("pool")
	tn.template("nodes", nodes)
	m := tn.machine("m")
	tn.bind(m)
	claim, data := tn.claim(m, "nodes"), &infrav1.Metal3Data{}
	tn.ready("nodes-0")
	tn.OK(tn.Find("nodes-0", data))
	return m, claim, data
}

// pauses sets the pause of the Cluster.
func (tn *tenant) pauses(paused bool) {
	tn.T.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: clusterName}}
	tn.Edit(cluster, func() { cluster.Spec.Paused = ptr.To(paused) })
}

// onlyData expects the namespace to have exactly these Metal3Datas.
func (tn *tenant) onlyData(names ...string) {
	tn.T.Helper()
	var all infrav1.Metal3DataList
	tn.OK(tn.List(tn.Ctx, &all, client.InNamespace(tn.Namespace)))
	var found []string
	for _, one := range all.Items {
		found = append(found, one.Name)
	}
	tn.G.Expect(found).To(gomega.ConsistOf(names))
}

// TestAttackForegroundDeletionOfAClaim has the garbage collector take the claim off the
// owners of its Metal3Data, as it does for a claim that waits for its dependents while the
// Metal3Machine is there.
func TestAttackForegroundDeletionOfAClaim(t *testing.T) {
	tn := newTenant(t)
	m, claim, data := tn.renderedMachine()
	tn.Edit(claim, func() { controllerutil.AddFinalizer(claim, metav1.FinalizerDeleteDependents) })
	tn.OK(tn.Delete(tn.Ctx, claim))
	tn.Edit(data, func() {
		data.OwnerReferences = slices.DeleteFunc(data.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == claim.UID })
	})
	tn.Edit(claim, func() { controllerutil.RemoveFinalizer(claim, metav1.FinalizerDeleteDependents) })

	// Deleted by hand, it still keeps its addresses: the server runs.
	tn.OK(tn.Delete(tn.Ctx, data))
	tn.waits("nodes-0", infrav1.DeletingReason, `"m"`)
	tn.OK(tn.Find("nodes-0-pool", &ipamv1alpha1.IPClaim{}))

	tn.OK(tn.Delete(tn.Ctx, m))
	tn.Edit(claim, func() { controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer) })
	tn.gone("m", claim)
	tn.gone("nodes-0", data)
	tn.gone("nodes-0-pool", &ipamv1alpha1.IPClaim{})
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "nodes"}}
	tn.OK(tn.Delete(tn.Ctx, template))
	tn.gone("nodes", template)
}

// TestDataThatLostClaimAndReferenceIsLetGo has finalizers taken off the claim by hand, too.
func TestDataThatLostClaimAndReferenceIsLetGo(t *testing.T) {
	tn := newTenant(t)
	_, claim, data := tn.renderedMachine()
	tn.pauses(true)
	tn.Edit(data, func() { data.OwnerReferences = nil })
	tn.OK(tn.Delete(tn.Ctx, claim))
	tn.Edit(claim, func() { claim.Finalizers = nil })
	tn.gone("m", claim)
	tn.OK(tn.Delete(tn.Ctx, data))
	tn.pauses(false)
	tn.gone("nodes-0", data)
	tn.gone("nodes-0-pool", &ipamv1alpha1.IPClaim{})
}

// TestAttackForgedData has a user of the namespace make Metal3Datas that name the claim of
// another machine: neither a lower index nor a later one takes the claim from its own.
func TestAttackForgedData(t *testing.T) {
	tn := newTenant(t)
	forge := func(name string, index int32, claim string) *infrav1.Metal3Data {
		forged := &infrav1.Metal3Data{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
			Spec: infrav1.Metal3DataSpec{
				Index: ptr.To(index), Template: &infrav1.Metal3ObjectRef{Name: "nodes"}, Claim: &infrav1.Metal3ObjectRef{Name: claim},
			},
		}
		tn.Add(forged)
		return forged
	}
	lower := forge("nodes-0", 0, "other")
	tn.template("nodes", "metaData: {indexes: [{key: index}]}")
	m := tn.machine("m")
	tn.bind(m)
	claim := tn.claim(m, "nodes")
	tn.ready("nodes-1")
	later := forge("nodes-2", 2, "m")
	another := tn.machine("n")
	tn.bind(another)
	tn.claim(another, "nodes")
	tn.ready("nodes-3")
	tn.Read(claim)
	tn.G.Expect(claim.Status.RenderedData.Name).To(gomega.Equal("nodes-1"))
	for _, forged := range []*infrav1.Metal3Data{lower, later} {
		tn.Read(forged)
		tn.G.Expect(forged.OwnerReferences).To(gomega.BeEmpty(), forged.Name)
	}
	tn.release(claim)
	tn.gone("nodes-1", &infrav1.Metal3Data{})
	tn.gone("nodes-2", later)
	tn.OK(tn.Find("nodes-0", lower))
}

// owned is what the objects of a machine's data lose and get back.
func (tn *tenant) owned() map[string]client.Object {
	return map[string]client.Object{
		"nodes-0": &infrav1.Metal3Data{}, "m-metadata": &corev1.Secret{}, "m-networkdata": &corev1.Secret{}, "nodes-0-pool": &ipamv1alpha1.IPClaim{},
	}
}

// TestOwnerReferencesComeBack takes all references away while the Cluster is paused, as Cluster
// API's ValidateOwnerReferencesResilience does.
func TestOwnerReferencesComeBack(t *testing.T) {
	tn := newTenant(t)
	_, claim, _ := tn.renderedMachine()
	before := map[string][]metav1.OwnerReference{}
	tn.pauses(true)
	for name, o := range tn.owned() {
		tn.OK(tn.Find(name, o))
		before[name] = o.GetOwnerReferences()
		tn.Edit(o, func() { o.SetOwnerReferences(nil) })
	}
	tn.EditStatus(claim, func() { claim.Status.RenderedData = nil }) // a restore brings no status
	tn.pauses(false)
	for name, o := range tn.owned() {
		tn.Await(tn.Named(name, o), func(g gomega.Gomega) { g.Expect(o.GetOwnerReferences()).To(gomega.ConsistOf(before[name]), name) })
	}
	tn.ready("nodes-0")
	tn.Await(tn.Named("m", claim), func(g gomega.Gomega) {
		g.Expect(claim.Status.RenderedData).To(gomega.HaveValue(gomega.HaveField("Name", "nodes-0")))
	})
	tn.onlyData("nodes-0")
	tn.release(claim)
	for name, o := range tn.owned() {
		tn.gone(name, o)
	}
}

// TestFinalizersComeBack takes all finalizers away, as ValidateFinalizersResilience does.
func TestFinalizersComeBack(t *testing.T) {
	tn := newTenant(t)
	tn.renderedMachine()
	held := map[string]client.Object{"nodes-0": &infrav1.Metal3Data{}, "nodes-0-pool": &ipamv1alpha1.IPClaim{}}
	before := map[string][]string{}
	for name, o := range held {
		tn.Await(tn.Named(name, o), func(g gomega.Gomega) { g.Expect(o.GetFinalizers()).To(gomega.HaveLen(2)) })
		before[name] = o.GetFinalizers()
	}
	tn.pauses(true)
	for _, o := range held {
		tn.Edit(o, func() {
			o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f != poolFinalizer }))
		})
	}
	tn.pauses(false)
	for name, o := range held {
		tn.Await(o, func(g gomega.Gomega) { g.Expect(o.GetFinalizers()).To(gomega.ConsistOf(before[name]), name) })
	}
}

// TestVersionsInOwnerReferencesAreBroughtUpToDate writes an old API version into the references to
// our kinds, as ValidateOwnerReferencesOnUpdate does.
func TestVersionsInOwnerReferencesAreBroughtUpToDate(t *testing.T) {
	tn := newTenant(t)
	tn.renderedMachine()
	before, versions := map[string][]metav1.OwnerReference{}, map[types.UID]string{}
	for name, o := range tn.owned() {
		tn.OK(tn.Find(name, o))
		before[name] = o.GetOwnerReferences()
		versions[o.GetUID()] = o.GetResourceVersion()
		tn.Edit(o, func() {
			owners := o.GetOwnerReferences()
			for i := range owners {
				owners[i].APIVersion = infrav1.GroupName + "/v1alpha1"
			}
			o.SetOwnerReferences(owners)
		})
	}
	for name, o := range tn.owned() {
		tn.Await(tn.Named(name, o), func(g gomega.Gomega) {
			g.Expect(o.GetOwnerReferences()).To(gomega.ConsistOf(before[name]), name)
			g.Expect(o.GetResourceVersion()).NotTo(gomega.Equal(versions[o.GetUID()]))
		})
	}
}
