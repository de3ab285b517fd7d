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

package claims

import (
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// OwnedBy says that the machine is an owner of the claim, so that clusterctl moves both.
func OwnedBy(claim *bmov1alpha1.HostClaim, owner Owner) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.UID })
}

// HandedOver returns a claim in the namespace of its machine as the machine finds it from any
// cluster: by the origin, owned by nothing that clusterctl moves, and not paused with its Cluster.
func HandedOver(claim *bmov1alpha1.HostClaim, owner Owner, origin string) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	out.OwnerReferences = slices.DeleteFunc(out.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.UID })
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels[infrav1.OriginKey] = origin
	if out.Annotations[clusterv1.PausedAnnotation] == PauseValue {
		delete(out.Annotations, clusterv1.PausedAnnotation)
	}
	out.Spec.ConsumerRef = owner.consumer()
	out.Spec.ConsumerRef.Namespace = ""
	return out
}

// CopyBase begins the names of the secrets that are copied next to a claim. It is the name
// of the claim, but for one that was made in the namespace of its machine: secrets of the
// machine have such names there.
func CopyBase(claim, machine, origin string) string {
	if claim == Name(machine) {
		return RemoteName(machine, origin)
	}
	return claim
}

// copyBase is CopyBase of a claim that carries its origin.
func copyBase(claim *bmov1alpha1.HostClaim) string {
	ref := claim.Spec.ConsumerRef
	if ref == nil {
		return claim.Name
	}
	return CopyBase(claim.Name, ref.Name, claim.Labels[infrav1.OriginKey])
}
