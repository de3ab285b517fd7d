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

// Bind changes the status of a claim to that of one that is bound to the host of
// which Published tells.
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
