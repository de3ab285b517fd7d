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

package builder

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// infra is the namespace of the hosts that claims are bound to.
const infra = "infra"

// HostClaim is the claim of a Metal3Machine that exists, under its name.
func HostClaim(m *infrav1.Metal3Machine) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name},
		Spec: bmov1alpha1.HostClaimSpec{ConsumerRef: &corev1.ObjectReference{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: m.Namespace, Name: m.Name, UID: m.UID,
		}},
	}
}

// Published is what the hostclaim manager publishes of the host of a claim that
// exists: a HardwareData that the claim owns.
func Published(claim *bmov1alpha1.HostClaim, hardware *bmov1alpha1.HardwareDetails) *bmov1alpha1.HardwareData {
	return &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: claim.Name + infrav1.HardwareDataSuffix,
			OwnerReferences: []metav1.OwnerReference{controller(bmov1alpha1.GroupVersion.String(), "HostClaim", claim)},
			Annotations: map[string]string{
				infrav1.HostNameAnnotation: hostOf(claim), infrav1.HostNamespaceAnnotation: infra, infrav1.HostUIDAnnotation: "uid-of-" + hostOf(claim),
			},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: hardware},
	}
}

// Bind changes the status of a claim to that of one that is bound to the host of Published.
func Bind(claim *bmov1alpha1.HostClaim) {
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: infra, Name: hostOf(claim)}
	claim.Status.HardwareData = &bmov1alpha1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name + infrav1.HardwareDataSuffix}
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionTrue, Reason: "BareMetalHostAssociated",
	})
}

func hostOf(claim *bmov1alpha1.HostClaim) string {
	return "server-of-" + claim.Name
}

// FreeHost is a host with a BMC that can be claimed; its status is to be written after
// the rest.
func FreeHost(key types.NamespacedName) *bmov1alpha1.BareMetalHost {
	return &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BootMACAddress: "02:00:00:00:00:01", AutomatedCleaningMode: bmov1alpha1.CleaningModeDisabled,
			BMC: bmov1alpha1.BMCDetails{Address: "redfish://192.0.2.77/redfish/v1", CredentialsName: "bmc"},
		},
		Status: bmov1alpha1.BareMetalHostStatus{
			OperationalStatus: bmov1alpha1.OperationalStatusOK,
			Provisioning:      bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateAvailable},
			HardwareDetails:   &bmov1alpha1.HardwareDetails{Hostname: key.Name, RAMMebibytes: 1024},
		},
	}
}

// Policy admits the namespaces of the names.
func Policy(key types.NamespacedName, names ...string) *bmov1alpha1.HostDeployPolicy {
	return &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: names}},
	}
}

// Claim is a claim by hand that wants its server powered on.
func Claim(key types.NamespacedName, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: true},
	}
	for _, change := range changes {
		change(claim)
	}
	return claim
}

// Cluster is a Cluster that has a Metal3Cluster of its name.
func Cluster(key types.NamespacedName) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupName, Kind: "Metal3Cluster", Name: key.Name,
		}},
	}
}

// Bootstrap is the Secret with the user data of all Machines of a Cluster, as a bootstrap
// provider makes it.
func Bootstrap(namespace, cluster string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "bootstrap", Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
		},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{"value": []byte("#cloud-config\n{}\n")},
	}
}

// Machine is a Machine of a Cluster with bootstrap data and a Metal3Machine of its
// name.
func Machine(key types.NamespacedName, cluster string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:       cluster,
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To("bootstrap")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "Metal3Machine", Name: key.Name},
		},
	}
}

// PausedMetal3Machine is the Metal3Machine of a Machine that exists, paused after it got
// its finalizer, so that the test and not the machine controller writes what belongs
// to it.
func PausedMetal3Machine(owner *clusterv1.Machine) *infrav1.Metal3Machine {
	return &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.Namespace, Name: owner.Name,
			Labels: owner.Labels, Annotations: map[string]string{clusterv1.PausedAnnotation: ""},
			Finalizers:      []string{infrav1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{controller(clusterv1.GroupVersion.String(), "Machine", owner)},
		},
		Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "install"}},
	}
}

// DataClaim is the Metal3DataClaim by which the machine controller asks a template
// for the data of a Metal3Machine that exists.
func DataClaim(m *infrav1.Metal3Machine, template string) *infrav1.Metal3DataClaim {
	return &infrav1.Metal3DataClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Finalizers: []string{infrav1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{controller(infrav1.GroupVersion.String(), "Metal3Machine", m)},
		},
		Spec: infrav1.Metal3DataClaimSpec{Template: &infrav1.Metal3ObjectRef{Name: template}},
	}
}

func controller(apiVersion, kind string, owner metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true),
	}
}
