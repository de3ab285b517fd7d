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
	"slices"
	"testing"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
)

// nodes is a template as the cluster templates have it.
const nodes = `
metaData:
  indexes: [{key: index, prefix: node-}]
  fromHostInterfaces: [{key: mac, interface: eth0}]
  ipAddressesFromPool: [{key: ip, name: pool}]
networkData:
  links:
    ethernets: [{id: e0, type: phy, macAddress: {fromHostInterface: eth0}}]
  networks:
    ipv4:
    - id: n0
      link: e0
      ipAddressFromIPPool: pool
      routes: [{network: 0.0.0.0, gateway: {fromIPPool: pool}}]
  services: {dnsFromIPPool: pool}
`

func TestTheDataOfAMachineIsRendered(t *testing.T) {
	tn := newTenant(t)
	tn.templateWithPool()
	m := tn.machine("m")
	claim := tn.claim(m, "nodes")

	tn.waits("nodes-0", infrav1.WaitingForHostClaimReason, `"m"`)
	tn.bind(m)
	metaData, networkData := tn.ready("nodes-0")

	tn.G.Expect(metaData).To(gomega.Equal(map[string]any{
		"index": "node-0", "mac": "52:54:00:00:00:01", "ip": "192.0.2.10",
		"name": "m", "local-hostname": "m", "local_hostname": "m", "metal3-namespace": tn.Namespace,
		"providerid": tn.Namespace + "/server-of-m/m",
	}))
	network, _ := networkData["networks"].([]any)[0].(map[string]any)
	tn.G.Expect(network).To(gomega.And(
		gomega.HaveKeyWithValue("ip_address", "192.0.2.10"), gomega.HaveKeyWithValue("netmask", "255.255.255.0")))
	tn.Await(tn.Named("m", claim), func(g gomega.Gomega) {
		g.Expect(claim.Status.RenderedData).To(gomega.HaveValue(gomega.Equal(infrav1.Metal3ObjectRef{Name: "nodes-0", Namespace: tn.Namespace})))
		g.Expect(meta.IsStatusConditionTrue(claim.Status.Conditions, infrav1.ReadyCondition)).To(gomega.BeTrue())
	})
}

// TestAddressManagementMayBeInstalledLate does not run in parallel and so goes
// first: all others find the kinds that it brings.
func TestAddressManagementMayBeInstalledLate(t *testing.T) {
	tn := newNamespace(t)
	tn.grantSecrets()
	tn.template("metal3", nodes)
	tn.template("other", "metaData: {ipAddressesFromPool: [{key: v6, name: six, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}]}")
	for name, template := range map[string]string{"m": "metal3", "o": "other"} {
		tn.joins(name, template)
	}
	tn.waits("metal3-0", infrav1.PoolAPIMissingReason, `"pool"`, "install ip-address-manager")
	tn.waits("other-0", infrav1.PoolAPIMissingReason, `"six"`, "ipam.cluster.x-k8s.io")
	addressManagement.install(t)
	tn.ready("other-0")
	tn.waits("metal3-0", infrav1.PoolNotFoundReason, `"pool"`)
	tn.pool("pool")
	tn.ready("metal3-0")
}

func TestAFreedIndexIsUsedAgain(t *testing.T) {
	tn := newTenant(t)
	tn.template("nodes", plain)
	var claims []*infrav1.Metal3DataClaim
	for i := range 3 {
		claims = append(claims, tn.joins(fmt.Sprintf("m-%d", i), "nodes"))
		tn.ready(fmt.Sprintf("nodes-%d", i))
	}
	template := &infrav1.Metal3DataTemplate{}
	tn.Await(tn.Named("nodes", template), func(g gomega.Gomega) { g.Expect(template.Status.Indexes).To(gomega.HaveLen(3)) })
	tn.release(claims[1])
	tn.gone("nodes-1", &infrav1.Metal3Data{})
	tn.joins("next", "nodes")
	metaData, _ := tn.ready("nodes-1")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("providerid", tn.Namespace+"/server-of-next/next"))
}

func TestAnAnnotationThatIsMissingIsNamedAndWaitedFor(t *testing.T) {
	tn := newTenant(t)
	tn.pool("pool-of-rack-1")
	tn.template("nodes", `
networkData:
  links: {ethernets: [{id: e, type: phy, macAddress: {fromHostInterface: eth0}}]}
  networks:
    ipv4DHCP:
    - {id: n, link: e, routes: [{network: 198.51.100.0, prefix: 24, gateway: {fromPoolAnnotation: {object: machine, annotation: pool}}}]}
`)
	claim := tn.joins("m", "nodes")
	tn.waits("nodes-0", infrav1.RenderingFailedReason, `machine "m" has no annotation "pool"`)
	owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "m"}}
	tn.Edit(owner, func() { owner.Annotations = map[string]string{"pool": "pool-of-rack-1"} })
	tn.ready("nodes-0")

	// The claim on a pool that an annotation named is given back like any other.
	tn.release(claim)
	tn.gone("nodes-0", &infrav1.Metal3Data{})
	tn.gone("nodes-0-pool-of-rack-1", &ipamv1alpha1.IPClaim{})
}

func TestPoolsOfClusterAPIAreAskedTooAndBothFamiliesRendered(t *testing.T) {
	tn := newTenant(t)
	tn.pool("pool")
	tn.template("nodes", `
metaData:
  ipAddressesFromPool:
  - {key: v4, name: pool}
  - {key: v6, name: six, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}
  dnsServersFromPool: [{key: dns, name: pool}]
networkData:
  links: {ethernets: [{id: e, type: phy, macAddress: {fromHostInterface: eth0}}]}
  networks:
    ipv4: [{id: n4, link: e, ipAddressFromIPPool: pool}]
    ipv6: [{id: n6, link: e, fromPoolRef: {name: six, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}}]
`)
	claim := tn.joins("m", "nodes")
	metaData, networkData := tn.ready("nodes-0")
	tn.G.Expect(metaData).To(gomega.And(gomega.HaveKeyWithValue("v4", "192.0.2.10"),
		gomega.HaveKeyWithValue("v6", "2001:db8::42"), gomega.HaveKeyWithValue("dns", "192.0.2.53")))
	tn.G.Expect(networkData["networks"]).To(gomega.HaveLen(2))
	tn.release(claim)
	tn.gone("nodes-0-six", &capipamv1.IPAddressClaim{})
	tn.gone("nodes-0-pool", &ipamv1alpha1.IPClaim{})
}

func TestAnAddressStaysWhileItsMachineLives(t *testing.T) {
	tn := newTenant(t)
	_, claim, data := tn.renderedMachine()
	// Everything that can be deleted is; the machine still holds its claim.
	ipClaim := &ipamv1alpha1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "nodes-0-pool"}}
	template := find(tn, "nodes", &infrav1.Metal3DataTemplate{})
	for _, o := range []client.Object{claim, data, ipClaim, template} {
		tn.G.Expect(tn.Delete(tn.Ctx, o)).To(gomega.Succeed())
	}
	tn.waits("nodes-0", infrav1.DeletingReason, `"m"`)
	tn.G.Expect(tn.Find("nodes-0-pool", ipClaim)).To(gomega.Succeed())
	tn.G.Expect(ipClaim.Finalizers).To(gomega.ContainElements(infrav1.DataFinalizer, poolFinalizer))
	tn.G.Expect(tn.Find("pool-10", &ipamv1alpha1.IPAddress{})).To(gomega.Succeed())

	tn.Edit(claim, func() {
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == infrav1.MachineFinalizer })
	})
	for name, o := range map[string]client.Object{
		"m": claim, "nodes-0": data, "nodes-0-pool": ipClaim, "pool-10": &ipamv1alpha1.IPAddress{}, "nodes": template,
		"m-metadata": &corev1.Secret{}, "m-networkdata": &corev1.Secret{},
	} {
		tn.gone(name, o)
	}
}

func TestARenderedSecretThatIsDeletedIsRenderedAgain(t *testing.T) {
	tn := newTenant(t)
	tn.renderedMachine()
	before, _ := tn.ready("nodes-0")
	secret := find(tn, "m-metadata", &corev1.Secret{})
	tn.G.Expect(tn.Delete(tn.Ctx, secret)).To(gomega.Succeed())
	again := &corev1.Secret{}
	tn.Await(tn.Named("m-metadata", again), func(g gomega.Gomega) { g.Expect(again.UID).NotTo(gomega.Equal(secret.UID)) })
	after, _ := tn.ready("nodes-0")
	tn.G.Expect(after).To(gomega.Equal(before))
	tn.G.Expect(again.Data).To(gomega.Equal(secret.Data))
}

func TestMissingRightsOnSecretsAreNamedAndWaitedFor(t *testing.T) {
	tn := newTenantWithoutRights(t)
	tn.template("nodes", plain)
	tn.joins("m", "nodes")
	tn.waits("nodes-0", infrav1.SecretsForbiddenReason, "get secrets", tn.Namespace)
	tn.grantSecrets()
	tn.ready("nodes-0")
}

func TestClustersThatShareATemplateDoNotPauseEachOther(t *testing.T) {
	tn := newTenant(t)
	cluster := builder.Cluster(tn.Key("b"))
	cluster.Spec.Paused = ptr.To(true)
	tn.Add(cluster)
	tn.template("nodes", "metaData: {indexes: [{key: index}]}")
	first := tn.machineOf("b", "first")
	tn.bind(first)
	paused := tn.claim(first, "nodes")
	tn.Await(tn.Named("first", paused), func(g gomega.Gomega) {
		g.Expect(meta.IsStatusConditionTrue(paused.Status.Conditions, infrav1.PausedCondition)).To(gomega.BeTrue())
		g.Expect(paused.Status.RenderedData).To(gomega.BeNil())
	})
	tn.joins("second", "nodes")
	tn.ready("nodes-0")

	tn.Edit(cluster, func() { cluster.Spec.Paused = ptr.To(false) })
	metaData, _ := tn.ready("nodes-1")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("index", "1"))
	tn.Edit(cluster, func() { cluster.Spec.Paused = ptr.To(true) })
	data := &infrav1.Metal3Data{}
	tn.Await(tn.Named("nodes-1", data), func(g gomega.Gomega) {
		g.Expect(meta.IsStatusConditionTrue(data.Status.Conditions, infrav1.PausedCondition)).To(gomega.BeTrue())
	})
}

func TestDataWhoseClaimVanishedIsReleased(t *testing.T) {
	tn := newTenant(t)
	_, claim, _ := tn.renderedMachine()
	// A user takes all finalizers off: the usual order cannot be kept.
	tn.G.Expect(tn.Delete(tn.Ctx, claim)).To(gomega.Succeed())
	tn.Edit(claim, func() { claim.Finalizers = nil })
	tn.gaveBack("nodes-0")
}

func TestClaimsOfDataThatVanishedAreReleased(t *testing.T) {
	tn := newTenant(t)
	tn.Add(&ipamv1alpha1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: "nodes-0-pool", Finalizers: []string{infrav1.DataFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "nodes-0", UID: "gone", Controller: ptr.To(true),
			}},
		},
		Spec: ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool", Namespace: tn.Namespace}},
	})
	tn.gone("nodes-0-pool", &ipamv1alpha1.IPClaim{})
}

// The stories of this file take owner references and finalizers away, as the garbage
// collector, a restore from a backup and Cluster API's own end-to-end suite do.

// renderedMachine makes a machine m whose claim has Metal3Data nodes-0 with its secrets.
func (tn *tenant) renderedMachine() (*infrav1.Metal3Machine, *infrav1.Metal3DataClaim, *infrav1.Metal3Data) {
	tn.T.Helper()
	tn.templateWithPool()
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
	tn.gaveBack("nodes-0")
	template := find(tn, "nodes", &infrav1.Metal3DataTemplate{})
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
	tn.gaveBack("nodes-0")
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
	claim := tn.joins("m", "nodes")
	tn.ready("nodes-1")
	later := forge("nodes-2", 2, "m")
	tn.joins("n", "nodes")
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
