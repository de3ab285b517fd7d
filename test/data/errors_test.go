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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
)

// TestWhatIsWrongIsSaidAtTheMachineAndMendingIsEnough has a machine for each thing
// that can be wrong with its data. Metal3Data, Metal3DataClaim and Metal3Machine
// say the same, and once it is mended, that watch alone lets the machine go on.
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
		"exhausted-pool": {
			template: "metaData: {ipAddressesFromPool: [{key: ip, name: small}]}",
			given: func(tn *tenant) {
				tn.pool("small")
				tn.ends("small", "192.0.2.9")
			},
			reason: infrav1.AddressUnavailableReason, parts: []string{"Exhausted", "extend the pool"},
			mend: func(tn *tenant) { tn.ends("small", "192.0.2.10") },
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
		"foreign-secret": {
			template: "metaData: {strings: [{key: a, value: b}]}",
			given: func(tn *tenant) {
				tn.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "foreign-secret-metadata"}})
			},
			reason: infrav1.SecretNameTakenReason, parts: []string{`"foreign-secret-metadata"`, "delete the secret"},
			mend: func(tn *tenant) {
				tn.G.Expect(tn.Delete(tn.Ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
					Namespace: tn.Namespace, Name: "foreign-secret-metadata",
				}})).To(gomega.Succeed())
			},
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
	tn.template("nodes", "metaData: {strings: [{key: a, value: b}]}")
	tn.machineHasData("m")
}

// live makes a Machine and a Metal3Machine that the machine controller works on,
// in a Cluster whose infrastructure is that of another provider.
func (tn *tenant) live(name, template string) {
	const cluster = "live"
	c := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: cluster},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupName, Kind: "OtherCluster", Name: cluster,
		}},
	}
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

// ends sets the last address of a pool.
func (tn *tenant) ends(name string, address ipamv1alpha1.IPAddressStr) {
	pool := &ipamv1alpha1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: name}}
	tn.Edit(pool, func() { pool.Spec.Pools = []ipamv1alpha1.Pool{{End: ptr.To(address)}} })
}

// saysTheSame expects claim and machine to repeat what the Metal3Data says.
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

// machineHasData expects claim and machine to know that the data is there, and the
// HostClaim to be told to use it.
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
