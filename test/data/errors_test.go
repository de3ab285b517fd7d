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
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
)

// TestWhatIsWrongIsSaidAtTheMachineAndMendingIsEnough has a machine for each thing that can be
// wrong with its data. Metal3Data, Metal3DataClaim and Metal3Machine report the same, and once it
// is mended, that watch alone lets the machine go on.
func TestWhatIsWrongIsSaidAtTheMachineAndMendingIsEnough(t *testing.T) {
	t.Parallel() // its cases install address management, which has to be absent before
	tests := map[string]struct {
		template string
		given    func(tn *tenant)
		reason   string
		parts    []string
		mend     func(tn *tenant)
	}{
		"unknown-pool": {
			template: "metaData: {ipAddressesFromPool: [{key: ip, name: later}]}",
			reason:   infrav1.PoolNotFoundReason, parts: []string{`IPPool.ipam.metal3.io "later"`, "create it"},
			mend: func(tn *tenant) { tn.pool("later") },
		},
		"unknown-interface": {
			template: "networkData: {links: {ethernets: [{id: e, type: phy, macAddress: {fromHostInterface: eth7}}]}}",
			reason:   infrav1.InterfaceNotFoundReason, parts: []string{`"eth7"`, "it has: eth0"},
			mend: func(tn *tenant) { // the card is put in, and the host inspected again
				facts := &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
					Namespace: tn.Namespace, Name: "unknown-interface" + infrav1.HardwareDataSuffix,
				}}
				tn.Edit(facts, func() {
					facts.Spec.HardwareDetails.NIC = append(facts.Spec.HardwareDetails.NIC, bmov1alpha1.NIC{Name: "eth7", MAC: "52:54:00:00:00:07"})
				})
			},
		},
		"missing-annotation": {
			template: "networkData: {links: {ethernets: [{id: e, type: phy, macAddress: {fromAnnotation: {object: metal3machine, annotation: mac}}}]}}",
			reason:   infrav1.RenderingFailedReason, parts: []string{`metal3machine "missing-annotation" has no annotation "mac"`, "set it"},
			mend: func(tn *tenant) { tn.annotate("missing-annotation", "mac", "52:54:00:00:00:01") },
		},
		"malformed-link": {
			template: "networkData: {links: {ethernets: [{id: e, type: phy, macAddress: {fromAnnotation: {object: metal3machine, annotation: mac}}}]}}",
			given:    func(tn *tenant) { tn.annotate("malformed-link", "mac", "52-54") },
			reason:   infrav1.RenderingFailedReason, parts: []string{`"52-54" is not a MAC address`, "six pairs of hex digits"},
			mend: func(tn *tenant) { tn.annotate("malformed-link", "mac", "52:54:00:00:00:01") },
		},
		"pool-of-another-kind": {
			template: `
metaData: {ipAddressesFromPool: [{key: ip, name: six, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}]}
networkData:
  links: {ethernets: [{id: e, type: phy, macAddress: {fromHostInterface: eth0}}]}
  networks: {ipv4: [{id: n, link: e, fromPoolAnnotation: {object: metal3machine, annotation: pool}}]}
`,
			given: func(tn *tenant) {
				tn.pool("four")
				tn.annotate("pool-of-another-kind", "pool", "six")
			},
			reason: infrav1.RenderingFailedReason, parts: []string{"two pools of one name"},
			mend: func(tn *tenant) { tn.annotate("pool-of-another-kind", "pool", "four") },
		},
		"claim-of-a-user": {
			template: nodes,
			given: func(tn *tenant) {
				tn.pool("pool")
				tn.Add(&ipamv1alpha1.IPClaim{
					ObjectMeta: metav1.ObjectMeta{Name: "nodes-0-pool"},
					Spec:       ipamv1alpha1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "pool", Namespace: tn.Namespace}},
				})
			},
			reason: infrav1.AddressUnavailableReason, parts: []string{`"nodes-0-pool"`, "something else"},
			mend: func(tn *tenant) { tn.OK(tn.Delete(tn.Ctx, tn.Named("nodes-0-pool", &ipamv1alpha1.IPClaim{}))) },
		},
		"foreign-secret": {
			template: plain,
			given: func(tn *tenant) {
				tn.Add(&corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Name: "foreign-secret-metadata", OwnerReferences: []metav1.OwnerReference{{
						APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "nodes-0", UID: "another", Controller: ptr.To(true),
					}}},
					Data: map[string][]byte{"metaData": []byte("a: old")},
				})
			},
			reason: infrav1.SecretNameTakenReason, parts: []string{`"foreign-secret-metadata"`, "must be deleted first"},
			mend: func(tn *tenant) { tn.OK(tn.Delete(tn.Ctx, tn.Named("foreign-secret-metadata", &corev1.Secret{}))) },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tn := newTenant(t)
			tn.template("nodes", tc.template)
			tn.live(name, "nodes")
			if tc.given != nil {
				tc.given(tn)
			}
			tn.bound(name)
			tn.waits("nodes-0", tc.reason, tc.parts...)
			tn.saysTheSame(name, "nodes-0")
			tc.mend(tn)
			tn.ready("nodes-0")
			tn.machineHasData(name)
		})
	}
}

func TestATemplateThatIsMissingIsNamedAtTheMachine(t *testing.T) {
	tn := newTenant(t)
	tn.live("m", "nodes")
	tn.bound("m")
	tn.machineWaits("m", infrav1.TemplateNotFoundReason, `Metal3DataTemplate "nodes" does not exist`, "create it")
	tn.template("nodes", plain)
	tn.machineHasData("m")
}

// live makes a Machine and a Metal3Machine that the machine controller works on,
// in a Cluster whose infrastructure is that of another provider.
func (tn *tenant) live(name, template string) {
	const cluster = "live"
	c := builder.Cluster(tn.Key(cluster))
	c.Spec.InfrastructureRef.Kind = "OtherCluster"
	tn.Add(c, builder.Bootstrap(tn.Namespace, cluster))
	tn.EditStatus(c, func() { c.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
	m := tn.machineOf(cluster, name)
	tn.Edit(m, func() {
		delete(m.Annotations, clusterv1.PausedAnnotation)
		m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: template}
	})
}

// bound plays the hostclaim manager for a machine whose HostClaim its controller
// has made.
func (tn *tenant) bound(name string) {
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(name, claim), func(gomega.Gomega) {})
	tn.publish(claim)
}

// annotate sets an annotation of a Metal3Machine.
func (tn *tenant) annotate(machine, key, value string) {
	m := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: machine}}
	tn.Edit(m, func() { metav1.SetMetaDataAnnotation(&m.ObjectMeta, key, value) })
}

// saysTheSame expects claim and machine to repeat the condition of the Metal3Data.
func (tn *tenant) saysTheSame(machine, data string) {
	said := &infrav1.Metal3Data{}
	tn.G.ExpectWithOffset(1, tn.Find(data, said)).To(gomega.Succeed())
	want := meta.FindStatusCondition(said.Status.Conditions, infrav1.ReadyCondition)
	claim, m := &infrav1.Metal3DataClaim{}, &infrav1.Metal3Machine{}
	same := func(g gomega.Gomega, conditions []metav1.Condition, conditionType string) {
		got := meta.FindStatusCondition(conditions, conditionType)
		g.Expect(got).NotTo(gomega.BeNil())
		g.Expect([]string{string(got.Status), got.Reason, got.Message}).To(gomega.Equal([]string{string(want.Status), want.Reason, want.Message}))
	}
	tn.Await(tn.Named(machine, claim), func(g gomega.Gomega) {
		same(g, claim.Status.Conditions, infrav1.ReadyCondition)
		g.Expect(claim.Status.ErrorMessage).To(gomega.Equal(said.Status.ErrorMessage))
	})
	tn.Await(tn.Named(machine, m), func(g gomega.Gomega) {
		same(g, m.Status.Conditions, infrav1.Metal3DataReadyCondition)
		g.Expect(m.Status.Deprecated.V1Beta1.FailureReason).To(gomega.BeNil(), "nothing of this is terminal")
	})
}

// machineWaits expects the data condition of the machine to be False.
func (tn *tenant) machineWaits(name, reason string, parts ...string) {
	m := &infrav1.Metal3Machine{}
	tn.Await(tn.Named(name, m), func(g gomega.Gomega) {
		c := meta.FindStatusCondition(m.Status.Conditions, infrav1.Metal3DataReadyCondition)
		g.Expect(c).NotTo(gomega.BeNil())
		g.Expect(c.Status).To(gomega.Equal(metav1.ConditionFalse))
		g.Expect(c.Reason).To(gomega.Equal(reason), c.Message)
		for _, part := range parts {
			g.Expect(c.Message).To(gomega.ContainSubstring(part))
		}
	})
}

// machineHasData expects claim and machine to know that the data is there, and the HostClaim to use
// it.
func (tn *tenant) machineHasData(name string) {
	claim, m, host := &infrav1.Metal3DataClaim{}, &infrav1.Metal3Machine{}, &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(name, claim), func(g gomega.Gomega) {
		g.Expect(meta.IsStatusConditionTrue(claim.Status.Conditions, infrav1.ReadyCondition)).To(gomega.BeTrue())
		g.Expect(claim.Status.ErrorMessage).To(gomega.BeEmpty())
	})
	tn.Await(tn.Named(name, m), func(g gomega.Gomega) {
		g.Expect(meta.IsStatusConditionTrue(m.Status.Conditions, infrav1.Metal3DataReadyCondition)).To(gomega.BeTrue())
	})
	tn.Await(tn.Named(name, host), func(g gomega.Gomega) { g.Expect(host.Spec.CustomDeploy).NotTo(gomega.BeNil()) })
}

// The stories of this file are about things that are in the way for a while: once they are mended,
// the machine proceeds by itself.

// TestAnExhaustedPoolIsAskedAgainWhenItChanges has a pool grow, give an address to another claim, and
// get one back. The second shows that it answers again, which it may not have done when it refused.
func TestAnExhaustedPoolIsAskedAgainWhenItChanges(t *testing.T) {
	tn := newTenant(t)
	tn.pool("pool")
	pool := &ipamv1alpha1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "pool"}}
	ends := func(address ipamv1alpha1.IPAddressStr) {
		tn.Edit(pool, func() { pool.Spec.Pools = []ipamv1alpha1.Pool{{End: ptr.To(address)}} })
	}
	ends("192.0.2.10")
	tn.template("nodes", nodes)
	first := tn.joins("first", "nodes")
	tn.ready("nodes-0")
	kept := find(tn, "nodes-0-pool", &ipamv1alpha1.IPClaim{})

	tn.joins("second", "nodes")
	tn.waits("nodes-1", infrav1.AddressUnavailableReason, "Exhausted", "extend the pool")
	ends("192.0.2.11")
	metaData, _ := tn.ready("nodes-1")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("ip", "192.0.2.11"))

	tn.joins("third", "nodes")
	tn.waits("nodes-2", infrav1.AddressUnavailableReason, "Exhausted", "extend the pool")
	refused, later := &ipamv1alpha1.IPClaim{}, &ipamv1alpha1.IPClaim{}
	tn.G.Expect(tn.Find("nodes-2-pool", refused)).To(gomega.Succeed())
	tn.G.Consistently(func(g gomega.Gomega) {
		g.Expect(tn.Find("nodes-2-pool", later)).To(gomega.Succeed())
		g.Expect(later.UID).To(gomega.Equal(refused.UID), "a pool that does not change is not asked twice")
	}, time.Second).Should(gomega.Succeed())
	tn.G.Expect(tn.Find("pool", pool)).To(gomega.Succeed())
	before := pool.DeepCopy()
	pool.Status.Allocations["somebody-else"] = "192.0.2.12"
	tn.G.Expect(tn.Status().Patch(tn.Ctx, pool, client.MergeFrom(before))).To(gomega.Succeed())
	tn.Await(tn.Named("nodes-2-pool", later), func(g gomega.Gomega) {
		g.Expect(later.UID).NotTo(gomega.Equal(refused.UID))
		g.Expect(later.Status.ErrorMessage).NotTo(gomega.BeNil(), "still no address is free")
	})

	still := find(tn, "nodes-0-pool", &ipamv1alpha1.IPClaim{})
	tn.G.Expect(still.UID).To(gomega.Equal(kept.UID), "an address that was given is kept")
	tn.release(first)
	metaData, _ = tn.ready("nodes-2")
	tn.G.Expect(metaData).To(gomega.HaveKeyWithValue("ip", "192.0.2.10"))
}

// TestAPoolThatIsMendedIsAskedAnew gives back an address that no server can use, since
// ip-address-manager never writes one again. One that a server may have stays.
func TestAPoolThatIsMendedIsAskedAnew(t *testing.T) {
	tn := newTenant(t)
	tn.pool("pool")
	pool := &ipamv1alpha1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "pool"}}
	gateway := func(address *ipamv1alpha1.IPAddressStr) { tn.Edit(pool, func() { pool.Spec.Gateway = address }) }
	gateway(nil)
	tn.template("nodes", nodes)
	tn.joins("m", "nodes")
	tn.waits("nodes-0", infrav1.RenderingFailedReason, `pool "pool"`, "set spec.gateway", "once its spec has changed")
	gateway(ptr.To(ipamv1alpha1.IPAddressStr("192.0.2.1")))
	_, networkData := tn.ready("nodes-0")
	tn.G.Expect(fmt.Sprint(networkData["networks"])).To(gomega.ContainSubstring("gateway:192.0.2.1"))

	kept, still := &ipamv1alpha1.IPClaim{}, &ipamv1alpha1.IPClaim{}
	tn.G.Expect(tn.Find("nodes-0-pool", kept)).To(gomega.Succeed())
	gateway(nil)
	tn.joins("another", "nodes")
	tn.waits("nodes-1", infrav1.RenderingFailedReason, "set spec.gateway")
	tn.G.Expect(tn.Find("nodes-0-pool", still)).To(gomega.Succeed())
	tn.G.Expect(still.UID).To(gomega.Equal(kept.UID))
	tn.G.Expect(still.DeletionTimestamp).To(gomega.BeNil())
}

func TestNothingOfAnotherNamespaceIsUsed(t *testing.T) {
	tn := newTenant(t)
	tn.Add(&infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs-0"},
		Spec:       infrav1.Metal3DataSpec{Template: &infrav1.Metal3ObjectRef{Namespace: "default", Name: "theirs"}},
	})
	tn.waits("theirs-0", infrav1.InvalidConfigurationReason, `namespace "default"`, tn.Namespace)

	tn.template("nodes", plain)
	m := tn.machine("m")
	tn.claim(m, "nodes")
	tn.waits("nodes-0", infrav1.WaitingForHostClaimReason)
	data := &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "nodes-0"}}
	tn.Edit(data, func() { data.Spec.MetaData.Namespace = "default" })
	tn.bind(m)
	tn.waits("nodes-0", infrav1.InvalidConfigurationReason, "spec.metaData", `"m-metadata"`, `namespace "default"`)
	tn.Edit(data, func() { data.Spec.MetaData.Namespace = "" })
	tn.ready("nodes-0")
}

func TestASecretOfAUserIsTakenAsItIsAndNeverTakenOver(t *testing.T) {
	tn := newTenant(t)
	tn.template("nodes", plain)
	m := tn.machine("m")
	tn.bind(m)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "m-metadata"}, Data: map[string][]byte{"other": []byte("x")}}
	tn.Add(secret)
	tn.claim(m, "nodes")
	tn.waits("nodes-0", infrav1.SecretNameTakenReason, `"m-metadata"`, `"metaData"`, "delete the secret")
	tn.Edit(secret, func() { secret.Data["metaData"] = []byte("a: mine") })
	data := &infrav1.Metal3Data{}
	tn.Await(tn.Named("nodes-0", data), func(g gomega.Gomega) { g.Expect(data.Status.Ready).To(gomega.HaveValue(gomega.BeTrue())) })
	tn.G.Expect(tn.Find("m-metadata", secret)).To(gomega.Succeed())
	tn.G.Expect(secret.OwnerReferences).To(gomega.BeEmpty())
	tn.G.Expect(secret.Data).To(gomega.HaveKeyWithValue("metaData", []byte("a: mine")))
}

func TestAClaimIsNotHeldByAMachineThatVanished(t *testing.T) {
	tn := newTenant(t)
	tn.templateWithPool()
	for name, claimFirst := range map[string]bool{"machine-first": false, "claim-first": true} {
		m := tn.machine(name)
		tn.bind(m)
		claim := tn.claim(m, "nodes")
		tn.ready("nodes-0")
		if claimFirst {
			tn.G.Expect(tn.Delete(tn.Ctx, claim)).To(gomega.Succeed())
			tn.Await(tn.Named(name, claim), func(g gomega.Gomega) {
				g.Expect(claim.DeletionTimestamp).NotTo(gomega.BeNil())
				g.Expect(claim.Finalizers).To(gomega.ContainElement(infrav1.MachineFinalizer))
			})
		}
		// A user takes the machine's finalizer off: it releases nothing.
		tn.Await(tn.Named(name, m), func(g gomega.Gomega) { g.Expect(m.Finalizers).NotTo(gomega.BeEmpty()) })
		tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
		tn.Edit(m, func() { m.Finalizers = nil })
		if !claimFirst { // as the garbage collector does
			tn.G.Expect(tn.Delete(tn.Ctx, claim)).To(gomega.Succeed())
		}
		tn.gone(name, claim)
		tn.gaveBack("nodes-0")
	}
}

// TestAnObjectAboveTheDataMayComeLate starts at a Metal3Data that a user made by
// hand, before anything that it is for.
func TestAnObjectAboveTheDataMayComeLate(t *testing.T) {
	tn := newTenant(t)
	m := tn.machine("m")
	owner := m.OwnerReferences
	tn.Edit(m, func() { m.OwnerReferences = nil })
	tn.bind(m)
	data := &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{
			Name: "nodes-7", Labels: m.Labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: m.Name, UID: m.UID,
			}},
		},
		Spec: infrav1.Metal3DataSpec{Index: ptr.To[int32](7), Template: &infrav1.Metal3ObjectRef{Name: "nodes"}},
	}
	tn.Add(data)
	tn.waits("nodes-7", infrav1.TemplateNotFoundReason, `"nodes"`, "create it")
	tn.template("nodes", "metaData: {fromLabels: [{key: role, object: machine, label: role}]}")
	tn.waits("nodes-7", infrav1.OwnerNotFoundReason, `Metal3Machine "m" has no Machine`)
	tn.Edit(m, func() { m.OwnerReferences = owner })
	tn.ready("nodes-7")
}

// TestDataWithoutATemplateCanGo shows that nothing of a template is needed to give
// back what was taken because of it.
func TestDataWithoutATemplateCanGo(t *testing.T) {
	tn := newTenant(t)
	_, claim, _ := tn.renderedMachine()
	template := find(tn, "nodes", &infrav1.Metal3DataTemplate{})
	tn.G.Expect(tn.Delete(tn.Ctx, template)).To(gomega.Succeed())
	tn.Edit(template, func() { template.Finalizers = nil })
	tn.gone("nodes", template)
	tn.release(claim)
	tn.gone("m", claim)
	tn.gaveBack("nodes-0")
}
