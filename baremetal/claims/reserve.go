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
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
)

// Keeper is the control plane or the MachineDeployment that a claim is reserved for.
type Keeper struct {
	// Label is the value of infrav1.NodeReuseLabel. Two keepers may have the same one.
	Label string
	// Reference names the keeper; its UID distinguishes it from all others, in any cluster.
	Reference metav1.OwnerReference
}

// KeepersOf are the UIDs of those that a reserved claim in its own cluster may be for. It
// is the value of the field index; none for a claim that is not reserved.
func KeepersOf(claim *bmov1alpha1.HostClaim) []string {
	if !reservation.Holds(claim) {
		return nil
	}
	var uids []string
	for _, owner := range claim.OwnerReferences {
		uids = append(uids, string(owner.UID))
	}
	return uids
}

// Reserve returns the claim as it is kept for the next machine of the keeper: without the
// machine, and without what that ran. In the cluster of the keeper the claim goes with the
// keeper; in another one the UID of the keeper takes the place of the machine's origin.
func Reserve(claim *bmov1alpha1.HostClaim, machine Owner, keeper Keeper, until time.Time, remote bool) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	withoutWork(out)
	out.Spec.ConsumerRef = nil
	metav1.SetMetaDataLabel(&out.ObjectMeta, infrav1.NodeReuseLabel, keeper.Label)
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.ReservedUntilAnnotation, until.UTC().Format(time.RFC3339))
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.ReservedByAnnotation, machine.Name+"/"+string(machine.UID))
	if remote {
		out.Labels[infrav1.OriginKey] = string(keeper.Reference.UID)
		return out
	}
	disown(out, machine.UID)
	out.OwnerReferences = append(out.OwnerReferences, keeper.Reference)
	return out
}

// Adopt returns a reserved claim as that of a machine of the keeper. Remote is where the claim
// lives if that is another cluster.
func Adopt(claim *bmov1alpha1.HostClaim, machine Owner, keeper Keeper, remote *Remote) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	withoutWork(out)
	delete(out.Labels, infrav1.NodeReuseLabel)
	delete(out.Annotations, infrav1.ReservedUntilAnnotation)
	delete(out.Annotations, infrav1.ReservedByAnnotation)
	out.Spec.ConsumerRef = machine.consumer()
	if remote != nil {
		out.Labels[infrav1.OriginKey] = remote.Origin
		out.Spec.ConsumerRef.Namespace = ""
		return out
	}
	disown(out, keeper.Reference.UID)
	out.OwnerReferences = append(out.OwnerReferences, machine.reference())
	return out
}

// WithCleaning returns a claim that is being reserved, or adopted, as its machine wants it cleaned before
// the next image: disabled asks for no cleaning, which policy must permit, and metadata for cleaning. A
// machine that asks for neither leaves what its tenant has written on the claim. Its host is cleaned in
// any case before it goes back to the pool.
func WithCleaning(claim *bmov1alpha1.HostClaim, mode infrav1.CleaningMode) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	switch mode {
	case infrav1.CleaningModeDisabled:
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.SkipCleaningAnnotation, "true")
	case infrav1.CleaningModeMetadata:
		delete(out.Annotations, infrav1.SkipCleaningAnnotation)
	}
	return out
}

// withoutWork takes off a claim what one machine asked of the host.
func withoutWork(claim *bmov1alpha1.HostClaim) {
	spec := &claim.Spec
	spec.PoweredOn, spec.Image, spec.CustomDeploy = false, nil, nil
	spec.UserData, spec.MetaData, spec.NetworkData = nil, nil, nil
	delete(claim.Annotations, infrav1.RebuildAnnotation)
	for key := range claim.Annotations {
		if strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix) {
			delete(claim.Annotations, key)
		}
	}
}

func disown(claim *bmov1alpha1.HostClaim, owner types.UID) {
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// ReservedBy returns the machine that has left a claim reserved; empty if the claim is not
// reserved, or does not name one.
func ReservedBy(claim *bmov1alpha1.HostClaim) (name string, uid types.UID) {
	if !reservation.Holds(claim) {
		return "", ""
	}
	name, rest, _ := strings.Cut(claim.Annotations[infrav1.ReservedByAnnotation], "/")
	return name, types.UID(rest)
}

// Rests reports whether nothing of the former machine runs on the host of a reserved claim any more. It
// believes the hostclaim manager for the claim as it is now only: the host has been deprovisioned, or is
// switched off with what is on it.
func Rests(claim *bmov1alpha1.HostClaim) bool {
	state := Read(claim)
	return state.Empty || (state.HasHost() && !state.HostInError && state.Synchronized && !claim.Status.PoweredOn)
}

// Broken reports whether the host of a reserved claim is gone or in error: no machine may have it.
func Broken(claim *bmov1alpha1.HostClaim) bool {
	state := Read(claim)
	return state.HostInError || state.Phase == Lost
}

// Answers reports whether the host of a reserved claim is one that the wanted claim asks for. Which host a
// claim has was decided by its own criteria, which cannot be changed any more, so they must be the
// same. A preference for a failure domain excludes no host.
func Answers(reserved, wanted *bmov1alpha1.HostClaim) bool {
	if !equality.Semantic.DeepEqual(reserved.Spec.HostSelector, wanted.Spec.HostSelector) || !sameClass(reserved, wanted) {
		return false
	}
	if prefers(wanted) {
		return true
	}
	certain := !prefers(reserved) || reserved.Spec.FailureDomain == "" // else the host may be of another one
	return certain && reserved.Spec.FailureDomain == wanted.Spec.FailureDomain
}

// sameClass reports whether a reserved claim is of the class that is wanted. One without a class takes any, since it may
// have got the default.
func sameClass(reserved, wanted *bmov1alpha1.HostClaim) bool {
	class := wanted.Labels[infrav1.ClassLabel]
	return class == "" || class == reserved.Labels[infrav1.ClassLabel] &&
		wanted.Annotations[infrav1.ClassArgumentsAnnotation] == reserved.Annotations[infrav1.ClassArgumentsAnnotation]
}

// prefers reports whether the failure domain of a claim is no more than a preference.
func prefers(claim *bmov1alpha1.HostClaim) bool {
	return claim.Annotations[infrav1.SoftFailureDomainAnnotation] == "true"
}
