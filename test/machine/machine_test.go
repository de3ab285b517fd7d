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
	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// TestMachineJoins is the whole life of a machine, from the claim to the Node
// and back to the pool, in a Cluster whose infrastructure another provider makes.
func TestMachineJoins(t *testing.T) {
	tn := newTenant(t)
	tn.kubeconfig()
	tn.makeBootstrap("value", "#cloud-config")
	tn.cluster()
	tn.machine(func(m *infrav1.Metal3Machine) {
		m.Spec.MetaData = &corev1.SecretReference{Name: "meta"}
	})

	claim := tn.claimed()
	m := find(tn, machineName, &infrav1.Metal3Machine{})
	want := bmov1alpha1.HostClaimSpec{
		HostSelector: bmov1alpha1.HostSelector{
			MatchExpressions: []bmov1alpha1.HostSelectorRequirement{{Key: "gpu", Operator: "exists", Values: []string{}}},
		},
		ConsumerRef: &corev1.ObjectReference{
			APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Machine",
			Namespace: tn.Namespace, Name: machineName, UID: m.UID,
		},
		FailureDomain: "row-1",
	}
	if diff := cmp.Diff(want, claim.Spec); diff != "" {
		t.Fatalf("first claim (-want +got):\n%s", diff)
	}
	if len(claim.ManagedFields) == 0 || claim.ManagedFields[0].Manager != infrav1.MachineFieldOwner ||
		claim.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("the claim was not applied by %s: %v", infrav1.MachineFieldOwner, claim.ManagedFields)
	}
	tn.claimStatus(func(*bmov1alpha1.HostClaim) {},
		metav1.Condition{Type: "Associated", Status: metav1.ConditionFalse, Reason: "NoBareMetalHost", Message: "8 hosts seen: 8 in use"})
	tn.waits("AssociateBareMetalHost", "HostClaimNotBound", "8 hosts seen: 8 in use")
	tn.waits("Ready", "HostClaimNotBound", "8 hosts seen: 8 in use")

	hostUID := tn.bind()
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) { g.Expect(claim.Spec.Image).NotTo(gomega.BeNil()) })
	want.PoweredOn = true
	want.Image = &bmov1alpha1.Image{URL: "http://images.example/node.qcow2", Checksum: "abc", ChecksumType: "sha256", DiskFormat: ptr.To("qcow2")}
	want.UserData = &corev1.SecretReference{Namespace: tn.Namespace, Name: bootSecret}
	want.MetaData = &corev1.SecretReference{Namespace: tn.Namespace, Name: "meta"}
	if diff := cmp.Diff(want, claim.Spec); diff != "" {
		t.Fatalf("second claim (-want +got):\n%s", diff)
	}
	tn.waits("HostClaimReady", "Provisioning")

	tn.provision()
	m = tn.provisioned()
	wantID := "metal3://" + tn.Namespace + "/host-1/" + machineName
	tn.G.Expect(m.Spec.ProviderID).To(gomega.Equal(wantID))
	tn.G.Expect(m.Annotations).To(gomega.HaveKeyWithValue(infrav1.HostAnnotation, "infra/host-1"))
	wantStatus := infrav1.Metal3MachineStatus{
		Initialization: infrav1.Metal3MachineInitializationStatus{Provisioned: ptr.To(true)},
		Addresses: []clusterv1.MachineAddress{
			{Type: clusterv1.MachineInternalIP, Address: "192.0.2.11"},
			{Type: clusterv1.MachineHostName, Address: "host-1.example"},
			{Type: clusterv1.MachineInternalDNS, Address: "host-1.example"},
		},
		HostClaim:     &infrav1.Metal3ObjectRef{Namespace: tn.Namespace, Name: machineName},
		FailureDomain: "row-1",
		UserData:      &corev1.SecretReference{Namespace: tn.Namespace, Name: bootSecret},
		MetaData:      &corev1.SecretReference{Namespace: tn.Namespace, Name: "meta"},
	}
	ignored := cmpopts.IgnoreFields(infrav1.Metal3MachineStatus{}, "Conditions", "LastUpdated", "Deprecated")
	expect.Equal(t, wantStatus, m.Status, ignored)

	former := clusterv1.Conditions{
		{Type: "Ready", Status: "True"},
		{Type: "AssociateBMH", Status: "True"},
		{Type: "Metal3DataReady", Status: "True"},
	}
	noNode := cmpopts.IgnoreSliceElements(func(c clusterv1.Condition) bool { return c.Type == "KubernetesNodeReady" })
	noTimes := cmpopts.IgnoreFields(clusterv1.Condition{}, "LastTransitionTime")
	expect.Equal(t, former, m.GetV1Beta1Conditions(), noNode, noTimes)

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "node-" + tn.Namespace, Labels: map[string]string{infrav1.NodeUUIDLabel: hostUID},
	}}
	tn.G.Expect(tn.Create(tn.Ctx, node)).To(gomega.Succeed())
	tn.G.Eventually(func(g gomega.Gomega) {
		g.Expect(tn.Get(tn.Ctx, client.ObjectKeyFromObject(node), node)).To(gomega.Succeed())
		g.Expect(node.Spec.ProviderID).To(gomega.Equal(wantID))
	}).Should(gomega.Succeed())
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) {
		g.Expect(harness.Condition(m.Status.Conditions, "KubernetesNodeReady")).To(gomega.Equal("True/NodeFound"))
		g.Expect(m.Status.NodeName).To(gomega.Equal(node.Name))
		g.Expect(m.Status.Addresses).To(gomega.ContainElement(clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: node.Name}))
	})
	tn.G.Eventually(tn.events).Should(gomega.ContainElement("Provisioned"))

	tn.Edit(tn.Named(machineName, claim), func() { claim.Spec.PoweredOn = false })
	tn.provision()
	tn.waits("HostClaimReady", "PoweredOff", "spec.poweredOn")
	tn.waits("Ready", "PoweredOff", "switched off")
	tn.Edit(tn.Named(machineName, claim), func() { claim.Spec.PoweredOn = true })
	tn.provision()
	tn.provisioned()

	tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
	tn.waits("HostClaimReady", "Deprovisioning")
	tn.waits("Ready", "Deleting")
	tn.release()
	tn.gone(machineName, &bmov1alpha1.HostClaim{})
	tn.gone(machineName, &infrav1.Metal3Machine{})
	tn.G.Eventually(tn.events).Should(gomega.ContainElement("Released"))
}

// TestBootstrapSecret follows a machine whose user data comes late.
func TestBootstrapSecret(t *testing.T) {
	tn := newTenant(t)
	tn.cluster()
	tn.machine()
	tn.waits("AssociateBareMetalHost", "BootstrapSecretNotFound", bootSecret, tn.Namespace)
	tn.makeBootstrap("wrong", "")
	tn.waits("AssociateBareMetalHost", "InvalidConfiguration", bootSecret, `key "value"`)
	s := &corev1.Secret{}
	tn.Edit(tn.Named(bootSecret, s), func() { s.Data["value"] = []byte("#cloud-config") })
	tn.claimed()
}

// TestForeignClaim shows that a claim of the wanted name is never taken over.
func TestForeignClaim(t *testing.T) {
	tn := newTenant(t)
	tn.makeBootstrap("value", "#cloud-config")
	foreign := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Name: machineName},
		Spec:       bmov1alpha1.HostClaimSpec{ConsumerRef: &corev1.ObjectReference{Kind: "Pod", Name: "x", UID: "y"}},
	}
	tn.Add(foreign)
	tn.cluster()
	tn.machine()
	tn.waits("AssociateBareMetalHost", "HostClaimNameTaken", machineName, "delete it")
	claim := find(tn, machineName, &bmov1alpha1.HostClaim{})
	tn.G.Expect(claim.ResourceVersion).To(gomega.Equal(foreign.ResourceVersion))
	tn.G.Expect(tn.Delete(tn.Ctx, foreign)).To(gomega.Succeed())
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) { g.Expect(claim.UID).NotTo(gomega.Equal(foreign.UID)) })
}

// TestClaimUnderAnotherName shows that the consumer decides, not the name.
func TestClaimUnderAnotherName(t *testing.T) {
	tn := newTenant(t)
	tn.cluster()
	tn.machine() // waits for its bootstrap secret
	m := find(tn, machineName, &infrav1.Metal3Machine{})
	reserved := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "reserved-7"},
		Spec: bmov1alpha1.HostClaimSpec{ConsumerRef: &corev1.ObjectReference{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: tn.Namespace, Name: machineName, UID: m.UID,
		}},
	}
	tn.Add(reserved)
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) { // the manager has seen it
		g.Expect(m.Status.HostClaim).To(gomega.Equal(&infrav1.Metal3ObjectRef{Namespace: tn.Namespace, Name: "reserved-7"}))
	})
	tn.makeBootstrap("value", "#cloud-config")
	tn.Await(tn.Named("reserved-7", reserved), func(g gomega.Gomega) {
		g.Expect(reserved.Spec.FailureDomain).To(gomega.Equal("row-1"))
		g.Expect(reserved.OwnerReferences).To(gomega.HaveLen(1))
	})
	tn.G.Expect(apierrors.IsNotFound(tn.Find(machineName, &bmov1alpha1.HostClaim{}))).To(gomega.BeTrue())
}

// TestData follows a machine with a data template, which the data controllers of
// the same manager render: the data comes before the image, and goes after the
// server.
func TestData(t *testing.T) {
	tn := newTenant(t)
	tn.asks(withTemplate)
	tn.bind()
	tn.waits("Metal3DataReady", "TemplateNotFound", "template")
	tn.Add(&infrav1.Metal3DataTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "template"},
		Spec: infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{
			Strings:            []infrav1.MetaDataString{{Key: "color", Value: "green"}},
			FromHostInterfaces: []infrav1.MetaDataHostInterface{{Key: "mac", Interface: "eth0"}},
		}},
	})
	tn.provision()
	m := tn.provisioned()
	claim := tn.claimed()
	tn.G.Expect(claim.Spec.MetaData).To(gomega.Equal(&corev1.SecretReference{Namespace: tn.Namespace, Name: machineName + "-metadata"}))
	tn.G.Expect(claim.Spec.NetworkData).To(gomega.BeNil())
	tn.G.Expect(m.Status.RenderedData.Name).To(gomega.Equal("template-0"))
	tn.G.Expect(harness.Condition(m.Status.Conditions, "Metal3DataReady")).To(gomega.Equal("True/Metal3DataSecretsReady"))

	tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
	tn.waits("HostClaimReady", "Deprovisioning")
	dataClaim := find(tn, machineName, &infrav1.Metal3DataClaim{})
	tn.G.Expect(dataClaim.DeletionTimestamp).To(gomega.BeNil(), "the addresses of a running server are not given away")
	tn.release()
	tn.gone(machineName, m)
	tn.gone(machineName, dataClaim)
}

// TestForeignData shows that a claim for data which belongs to something else is
// not used, and that its end wakes the machine whose name it had.
func TestForeignData(t *testing.T) {
	tn := newTenant(t)
	tn.makeBootstrap("value", "#cloud-config")
	foreign := &infrav1.Metal3DataClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: machineName,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "example.com/v1", Kind: "Other", Name: "x", UID: "y", Controller: ptr.To(true),
			}},
		},
		Spec: infrav1.Metal3DataClaimSpec{Template: &infrav1.Metal3ObjectRef{Name: "theirs"}},
	}
	tn.Add(foreign)
	tn.cluster()
	tn.machine(withTemplate)
	tn.claimed()
	tn.bind()
	tn.waits("AssociateMetal3MachineMetaData", "AssociateMetal3MachineMetaDataFailed", machineName, "delete it")
	tn.G.Expect(tn.Delete(tn.Ctx, foreign)).To(gomega.Succeed())
	own := &infrav1.Metal3DataClaim{}
	tn.Await(tn.Named(machineName, own), func(g gomega.Gomega) { g.Expect(own.Spec.Template.Name).To(gomega.Equal("template")) })
}

// TestPausedCluster shows that the claim is paused with its Cluster, as clusterctl
// does before a move, and unpaused with it.
func TestPausedCluster(t *testing.T) {
	tn := newTenant(t)
	tn.makeBootstrap("value", "#cloud-config")
	c := tn.cluster()
	tn.machine()
	tn.claimed()
	tn.bind()
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.Paused = ptr.To(true) })
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) {
		g.Expect(claim.Annotations).To(gomega.HaveKeyWithValue(clusterv1.PausedAnnotation, infrav1.MachineFieldOwner))
	})
	m := &infrav1.Metal3Machine{}
	tn.shows(machineName, m, "Paused", "True/Paused")
	tn.movesWithItsClaim()
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.Paused = nil })
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) {
		g.Expect(claim.Annotations).NotTo(gomega.HaveKey(clusterv1.PausedAnnotation))
	})
	tn.shows(machineName, m, "Paused", "False/NotPaused")
}

// movesWithItsClaim plays a hostclaim manager that lets the claim be moved after a while.
// The machine, although it is paused, is blocked as long, and its condition has the reason.
func (tn *tenant) movesWithItsClaim() {
	claim, m := &bmov1alpha1.HostClaim{}, &infrav1.Metal3Machine{}
	says := func(status metav1.ConditionStatus, reason string) {
		tn.claimStatus(func(*bmov1alpha1.HostClaim) {}, metav1.Condition{Type: infrav1.MovableCondition, Status: status, Reason: reason})
		tn.shows(machineName, m, infrav1.MovableCondition, string(status)+"/"+reason)
	}
	tn.Edit(tn.Named(machineName, claim), func() {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.BlockMoveAnnotation, infrav1.HostClaimManagerFieldOwner)
	})
	says(metav1.ConditionFalse, infrav1.HostNotAtRestReason)
	tn.G.Expect(m.Annotations).To(gomega.HaveKey(infrav1.BlockMoveAnnotation))
	tn.Edit(tn.Named(machineName, claim), func() { delete(claim.Annotations, infrav1.BlockMoveAnnotation) })
	says(metav1.ConditionTrue, infrav1.ReadyToMoveReason)
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) { g.Expect(m.Annotations).NotTo(gomega.HaveKey(infrav1.BlockMoveAnnotation)) })
}

// events returns the reasons of the events of the namespace.
func (tn *tenant) events() ([]string, error) {
	var list eventsv1.EventList
	if err := tn.List(tn.Ctx, &list, client.InNamespace(tn.Namespace)); err != nil {
		return nil, err
	}
	var reasons []string
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons, nil
}

// gone expects an object to vanish.
func (tn *tenant) gone(name string, o client.Object) {
	tn.G.Eventually(func() bool { return apierrors.IsNotFound(tn.Find(name, o)) }).Should(gomega.BeTrue(), "%T %s", o, name)
}

// TestEditedAfterTheBind edits what a machine asks of its host when it has the host.
// The claim, on which the API server refuses such a change, keeps what it was chosen
// by, and everything else goes on.
func TestEditedAfterTheBind(t *testing.T) {
	tn := newTenant(t)
	tn.begins()
	chosen := tn.claimed().Spec
	tn.claimStatus(func(*bmov1alpha1.HostClaim) {},
		metav1.Condition{Type: "Associated", Status: metav1.ConditionFalse, Reason: "NoBareMetalHost"})
	tn.waits("AssociateBareMetalHost", "HostClaimNotBound")
	owner := &clusterv1.Machine{}
	domain := func(name string) { tn.Edit(tn.Named(machineName, owner), func() { owner.Spec.FailureDomain = name }) }
	claim := &bmov1alpha1.HostClaim{}
	domain("row-2")
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) { g.Expect(claim.Spec.FailureDomain).To(gomega.Equal("row-2")) })
	domain("row-1")
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) { g.Expect(claim.Spec.FailureDomain).To(gomega.Equal("row-1")) })

	tn.bind()
	domain("row-2")
	tn.provision()
	tn.provisioned()
	tn.G.Expect(tn.Find(machineName, claim)).To(gomega.Succeed())
	tn.G.Expect(claim.Spec.FailureDomain).To(gomega.Equal("row-1"))
	tn.G.Expect(claim.Spec.HostSelector).To(gomega.Equal(chosen.HostSelector))

	m := &infrav1.Metal3Machine{}
	image := claim.Spec.Image.URL
	tn.Edit(tn.Named(machineName, m), func() { m.Spec.Image.URL = "http://images.example/other.qcow2" })
	tn.provisioned()
	domain("row-1")
	tn.G.Expect(tn.Find(machineName, claim)).To(gomega.Succeed())
	tn.G.Expect(claim.Spec.Image.URL).To(gomega.Equal(image))
}
