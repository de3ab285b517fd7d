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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
)

// deleteForMoveAnnotation is put by clusterctl on what it deletes after a move.
const deleteForMoveAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"

// OnHold says that a claim must be neither bound, written nor released: it is
// paused, or on the move to another cluster. A missing finalizer is no such sign:
// a tenant that strips it from its claim does not keep the host.
func OnHold(claim *bmov1alpha1.HostClaim) bool {
	for _, key := range []string{clusterv1.PausedAnnotation, deleteForMoveAnnotation} {
		if _, found := claim.Annotations[key]; found {
			return true
		}
	}
	return false
}

// MovedAway says that clusterctl is deleting the claim or host, which exists in another
// cluster. It replaces all other annotations when it says so.
func MovedAway(object metav1.Object) bool {
	_, found := object.GetAnnotations()[deleteForMoveAnnotation]
	return found
}

// inputs are everything in a claim that decides what is written to its bound host.
// A decision that reads another field of the claim adds it here, since a copy of
// the claim in a cache is compared with the live claim by them.
type inputs struct {
	UID                       types.UID
	Deleting, OnHold          bool
	PoweredOn                 bool
	Image                     *bmov1alpha1.Image
	CustomDeploy              *bmov1alpha1.CustomDeploy
	Secrets                   [len(SecretKinds)]string
	Rebuild                   string
	Reserved, WantsNoCleaning bool
	Reboots                   Reboots
}

func inputsOf(claim *bmov1alpha1.HostClaim) inputs {
	w := inputs{
		UID: claim.UID, Deleting: !claim.DeletionTimestamp.IsZero(), OnHold: OnHold(claim),
		PoweredOn: claim.Spec.PoweredOn, Image: claim.Spec.Image, CustomDeploy: claim.Spec.CustomDeploy,
		Rebuild: token(claim), Reserved: reservation.Holds(claim), WantsNoCleaning: WantsNoCleaning(claim),
		Reboots: ReadReboots(claim),
	}
	w.Reboots.Invalid = nil // reported, and never written
	for i, kind := range SecretKinds {
		w.Secrets[i] = SecretName(claim, kind)
	}
	return w
}

// SameInputs says that two versions of a claim ask for the same of its bound host.
// What differs besides, such as the annotation of kubectl apply, which caches drop,
// changes no decision.
func SameInputs(a, b *bmov1alpha1.HostClaim) bool {
	return equality.Semantic.DeepEqual(inputsOf(a), inputsOf(b))
}
