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

package binding

import (
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// MachineKind is the kind of consumerRefs that CAPM3 writes.
const MachineKind = "Metal3Machine"

// TakesOver reports whether a claim is to take a host over from the Metal3Machine that both name, in the namespace of
// all three.
func TakesOver(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	machine := claim.Spec.ConsumerRef
	return OfMachine(host) && machine != nil && machine.Kind == MachineKind && machine.Name == host.Spec.ConsumerRef.Name &&
		host.Namespace == claim.Namespace && host.Name == claim.Annotations[infrav1.TakeOverAnnotation]
}

// OfMachine reports whether a host has a Metal3Machine of its namespace as its consumer, as CAPM3 has it.
func OfMachine(host *bmov1alpha1.BareMetalHost) bool {
	ref := host.Spec.ConsumerRef
	return ref != nil && ref.GroupVersionKind().GroupKind() == infrav1.GroupVersion.WithKind(MachineKind).GroupKind() &&
		ref.Namespace == host.Namespace
}

// CheckTakeOver returns an error for the administrator if a claim cannot take a host over now. A host that runs what
// the claim asks for, is at rest, and is believed by its Metal3Machine, can be: then nothing on it changes but the name of
// its consumer. The machine is empty if there is none.
func CheckTakeOver(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, machine metav1.ObjectMeta) error {
	key := host.Namespace + "/" + host.Name
	if !TakesOver(claim, host) {
		return fmt.Errorf("BareMetalHost %q cannot be taken over: "+
			"it does not name the Metal3Machine of this claim in spec.consumerRef, so CAPM3 has not bound it to that", key)
	}
	unrest := Unrest(claim, host)
	for _, refused := range []struct {
		holds   bool
		message string
	}{
		{
			machine.UID == "" || machine.UID != claim.Spec.ConsumerRef.UID,
			"there is no Metal3Machine of the name and UID in spec.consumerRef of this claim",
		},
		{
			machine.Annotations[infrav1.HostAnnotation] != key,
			fmt.Sprintf("annotation %s of its Metal3Machine names %.253q", infrav1.HostAnnotation, machine.Annotations[infrav1.HostAnnotation]),
		},
		{
			machine.Annotations[infrav1.TakeOverAnnotation] != "true",
			fmt.Sprintf("its Metal3Machine has no annotation %s: put it on the Metal3Cluster", infrav1.TakeOverAnnotation),
		},
		{!host.DeletionTimestamp.IsZero(), "it is being deleted"},
		{
			ownedByMachine(host),
			"a Metal3Machine is among its metadata.ownerReferences, and the host would be deleted with that: take the reference off",
		},
		{
			metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation),
			"it is paused: remove annotation " + bmov1alpha1.PausedAnnotation,
		},
		{
			metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.DetachedAnnotation),
			"it is detached: remove annotation " + bmov1alpha1.DetachedAnnotation,
		},
		{host.Spec.ExternallyProvisioned, "it is provisioned externally, and could not be wiped"},
		{!HasPayload(host), "CAPM3 was stopped before it wrote an image to it: start CAPM3 until it has, or delete the Machine and free the host"},
		{!Asked(claim) || !same(claim, host), "it was told to run something else than its Metal3Machine asks for: its image must be that of the Metal3Machine"},
		{host.Spec.Online != claim.Spec.PoweredOn, "it is switched off: set spec.online to true"},
		{unrest != "", unrest + ": wait until it is at rest"},
	} {
		if refused.holds {
			return fmt.Errorf("BareMetalHost %q cannot be taken over: %s", key, refused.message)
		}
	}
	return nil
}

// ownedByMachine reports whether a host is deleted with a Metal3Machine. Releases of CAPM3 differ in that.
func ownedByMachine(host *bmov1alpha1.BareMetalHost) bool {
	return slices.ContainsFunc(host.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.Kind == MachineKind })
}
