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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// This file plays all actors but the provider manager.

const (
	clusterName = "a"
	machineName = "a-cp-1"
	bootSecret  = "a-cp-1-bootstrap"
	hostName    = "host-1"
)

// cluster creates a Cluster as Cluster API would after its Metal3Cluster became
// provisioned. It keeps what the change makes of it.
func (tn *tenant) cluster(change ...func(*clusterv1.Cluster)) *clusterv1.Cluster {
	c := builder.Cluster(tn.Key(clusterName))
	c.Spec.InfrastructureRef.Kind = "OtherCluster"
	for _, f := range change {
		f(c)
	}
	tn.Add(c)
	tn.EditStatus(tn.Named(clusterName, c), func() { c.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
	return c
}

// machine creates a Machine and its Metal3Machine, owned by it.
func (tn *tenant) machine(change ...func(*infrav1.Metal3Machine)) {
	tn.machineNamed(machineName, func(*clusterv1.Machine) {}, change...)
}

// machineNamed is the same for a machine of that name, whose Machine is changed too.
func (tn *tenant) machineNamed(name string, changeOwner func(*clusterv1.Machine), change ...func(*infrav1.Metal3Machine)) {
	owner := builder.Machine(tn.Key(name), clusterName)
	owner.Spec.FailureDomain = "row-1"
	owner.Spec.Bootstrap = clusterv1.Bootstrap{
		ConfigRef:      clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: name},
		DataSecretName: ptr.To(bootSecret),
	}
	changeOwner(owner)
	tn.Add(owner)
	m := &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: clusterName},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Machine"))},
		},
		Spec: infrav1.Metal3MachineSpec{
			Image: &infrav1.Image{URL: "http://images.example/node.qcow2", Checksum: ptr.To("abc"), ChecksumType: "sha256", DiskFormat: "qcow2"},
			HostSelector: &infrav1.HostSelector{
				MatchExpressions: []infrav1.HostSelectorRequirement{{Key: "gpu", Operator: "Exists"}},
			},
		},
	}
	for _, f := range change {
		f(m)
	}
	tn.Add(m)
}

// makeBootstrap plays the bootstrap provider: it makes the user data of the machine.
func (tn *tenant) makeBootstrap(key, value string) {
	tn.Make(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: tn.Namespace, Name: bootSecret, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName},
		},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{key: []byte(value)},
	})
}

// kubeconfig makes the workload cluster reachable: it is this API server.
func (tn *tenant) kubeconfig() {
	tn.MakeSecret(tn.Namespace, clusterName+"-kubeconfig", "value", string(server.Kubeconfig()))
}

// choose plays the hostclaim manager: a host is about to be bound.
func (tn *tenant) choose() {
	tn.claimStatus(func(c *bmov1alpha1.HostClaim) {
		c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: hostName}
	}, metav1.Condition{Type: "Associated", Status: metav1.ConditionUnknown, Reason: "Binding", Message: "binding host-1"})
}

// bind plays the hostclaim manager: a host is bound and its facts are published. The host's UID
// distinguishes the hosts of this story from those of others.
func (tn *tenant) bind() (hostUID string) {
	hostUID = "uid-of-" + tn.Namespace
	claim := &bmov1alpha1.HostClaim{}
	tn.Edit(tn.Named(tn.claim, claim), func() { controllerutil.AddFinalizer(claim, infrav1.HostClaimFinalizer) })
	tn.Add(&bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Name:            tn.claim + infrav1.HardwareDataSuffix,
			Labels:          map[string]string{infrav1.ClaimUIDLabel: string(claim.UID)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(claim, bmov1alpha1.GroupVersion.WithKind("HostClaim"))},
			Annotations: map[string]string{
				infrav1.HostUIDAnnotation:           hostUID,
				infrav1.HostNameAnnotation:          hostName,
				infrav1.HostNamespaceAnnotation:     "infra",
				infrav1.HostFailureDomainAnnotation: "row-1",
			},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{
			Hostname: "host-1.example", NIC: []bmov1alpha1.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01", IP: "192.0.2.11"}},
		}},
	})
	tn.claimStatus(func(c *bmov1alpha1.HostClaim) {
		c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: hostName}
		c.Status.HardwareData = &bmov1alpha1.ObjectReference{Namespace: tn.Namespace, Name: tn.claim + infrav1.HardwareDataSuffix}
	}, metav1.Condition{Type: "Associated", Status: metav1.ConditionTrue, Reason: "BareMetalHostAssociated"})
	return hostUID
}

// provision plays the hostclaim manager once the image has been asked for.
func (tn *tenant) provision() {
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(tn.claim, claim), func(g gomega.Gomega) { g.Expect(claim.Spec.Image).NotTo(gomega.BeNil()) })
	tn.claimStatus(func(*bmov1alpha1.HostClaim) {},
		metav1.Condition{Type: "Synchronized", Status: metav1.ConditionTrue, Reason: "ConfigurationSynced"},
		metav1.Condition{Type: "Provisioned", Status: metav1.ConditionTrue, Reason: "Provisioned"})
}

// claimStatus writes the status of the machine's claim.
func (tn *tenant) claimStatus(change func(*bmov1alpha1.HostClaim), conditions ...metav1.Condition) {
	claim := &bmov1alpha1.HostClaim{}
	tn.EditStatus(tn.Named(tn.claim, claim), func() {
		change(claim)
		for _, c := range conditions {
			c.ObservedGeneration = claim.Generation
			meta.SetStatusCondition(&claim.Status.Conditions, c)
		}
	})
}

// release plays the hostclaim manager: the host has been wiped.
func (tn *tenant) release() {
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(tn.claim, claim), func(g gomega.Gomega) { g.Expect(claim.DeletionTimestamp).NotTo(gomega.BeNil()) })
	tn.Edit(tn.Named(tn.claim, claim), func() { controllerutil.RemoveFinalizer(claim, infrav1.HostClaimFinalizer) })
}

// waits expects a condition of the machine to be False for the reason, with a
// message that contains the parts.
func (tn *tenant) waits(conditionType, reason string, parts ...string) {
	tn.T.Helper()
	tn.waitsFor(machineName, conditionType, reason, parts...)
}

// waitsFor is waits for a machine of any name.
func (tn *tenant) waitsFor(name, conditionType, reason string, parts ...string) {
	tn.T.Helper()
	m := &infrav1.Metal3Machine{}
	tn.Await(tn.Named(name, m), func(g gomega.Gomega) {
		c := meta.FindStatusCondition(m.Status.Conditions, conditionType)
		g.Expect(c).NotTo(gomega.BeNil(), "condition %s", conditionType)
		g.Expect(c.Status).To(gomega.Equal(metav1.ConditionFalse))
		g.Expect(c.Reason).To(gomega.Equal(reason))
		for _, part := range parts {
			g.Expect(c.Message).To(gomega.ContainSubstring(part))
		}
	})
}

// claimed expects the machine to have its claim.
func (tn *tenant) claimed() *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(tn.claim, claim), func(gomega.Gomega) {})
	return claim
}

// begins makes a Cluster and a machine with its user data.
func (tn *tenant) begins(change ...func(*infrav1.Metal3Machine)) {
	tn.makeBootstrap("value", "#cloud-config")
	tn.cluster()
	tn.machine(change...)
}

// asks is begins for a machine that asks for a host here, and returns its claim.
func (tn *tenant) asks(change ...func(*infrav1.Metal3Machine)) *bmov1alpha1.HostClaim {
	tn.begins(change...)
	return tn.claimed()
}

// find reads an object by its name.
func find[T client.Object](tn *tenant, name string, o T) T {
	tn.T.Helper()
	tn.OK(tn.Find(name, o))
	return o
}

// shown is an object with conditions.
type shown interface {
	client.Object
	GetConditions() []metav1.Condition
}

// shows waits until a condition of an object is as given.
func (tn *tenant) shows(name string, o shown, kind, want string) {
	tn.T.Helper()
	tn.Await(tn.Named(name, o), func(g gomega.Gomega) { g.Expect(harness.Condition(o.GetConditions(), kind)).To(gomega.Equal(want)) })
}

// runs gives the machine, whose claim is with the holder, a server.
func (tn *tenant) runs(holder *tenant) *infrav1.Metal3Machine {
	holder.bind()
	holder.provision()
	return tn.provisioned()
}

// leaves deletes the machine, whose claim is with the holder.
func (tn *tenant) leaves(holder *tenant, m *infrav1.Metal3Machine) {
	tn.OK(tn.Delete(tn.Ctx, m))
	holder.release()
	tn.gone(machineName, m)
}

// provisioned expects the machine to be reported provisioned.
func (tn *tenant) provisioned() *infrav1.Metal3Machine {
	m := &infrav1.Metal3Machine{}
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) {
		g.Expect(ptr.Deref(m.Status.Initialization.Provisioned, false)).To(gomega.BeTrue())
		g.Expect(meta.IsStatusConditionTrue(m.Status.Conditions, "Ready")).To(gomega.BeTrue())
	})
	return m
}
