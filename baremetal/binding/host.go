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
	"maps"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// hostClaimKind is the kind of consumerRefs that are ours.
const hostClaimKind = "HostClaim"

// ConsumerKey identifies the claim that a host names: namespace, name and UID.
// It is empty for a host that names no HostClaim.
func ConsumerKey(host *bmov1alpha1.BareMetalHost) string {
	ref := host.Spec.ConsumerRef
	if ref == nil || ref.GroupVersionKind().GroupKind() != bmov1alpha1.GroupVersion.WithKind(hostClaimKind).GroupKind() {
		return ""
	}
	return ref.Namespace + "/" + ref.Name + "/" + string(ref.UID)
}

// ClaimKey is the ConsumerKey of the hosts that name a claim.
func ClaimKey(claim *bmov1alpha1.HostClaim) string {
	return NameKey(claim) + string(claim.UID)
}

// NameKey is the ConsumerKey of the hosts that name a claim without its UID, as the controller of baremetal-operator
// has them do.
func NameKey(claim *bmov1alpha1.HostClaim) string {
	return claim.Namespace + "/" + claim.Name + "/"
}

// Has reports whether a host is the claim's: it names the claim, and the status of the claim names the
// host, as an intent at least. That intent comes before the consumerRef, and only the manager writes
// the status of claims, while an administrator of hosts can write anything on a host. If the status was
// lost, the traces of a bind are believed, the label or the claim's own record: those of a claim with
// our finalizer or record, since only such a claim ever had a status with a host, see New.
func Has(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	switch {
	case !Owned(host, claim):
		return false
	case claim.Status.BareMetalHost != nil:
		return StatusNames(claim, types.NamespacedName{Namespace: host.Namespace, Name: host.Name})
	case RecordOf(claim) != Blank || New(claim):
		return false
	default:
		last, _ := LastIntent(claim)
		return host.Labels[infrav1.ClaimUIDLabel] == string(claim.UID) || last.IsFor(host)
	}
}

// StatusNames reports whether the status of a claim names a host.
func StatusNames(claim *bmov1alpha1.HostClaim, host types.NamespacedName) bool {
	ref := claim.Status.BareMetalHost
	return ref != nil && ref.Namespace == host.Namespace && ref.Name == host.Name
}

// New reports whether we never wrote the claim on a host: its status is blank, and it has neither
// our finalizer nor an intent annotation. The status comes before these two, and both before the
// first consumerRef, so neither a crash nor a lost status makes a claim new again. A tenant that
// takes both off leaves the status, which tenants cannot write.
func New(claim *bmov1alpha1.HostClaim) bool {
	_, recorded := LastIntent(claim)
	return RecordOf(claim) == Blank && !recorded && !slices.Contains(claim.Finalizers, infrav1.HostClaimFinalizer)
}

// Foreign reports whether a host names a claim that knows nothing of it: another client
// wrote the consumerRef.
func Foreign(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return Owned(host, claim) && !Has(claim, host) && RecordOf(claim) != Blank
}

// Owned reports whether a host names the claim. An equal name with another UID is
// another claim.
func Owned(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return ConsumerKey(host) == ClaimKey(claim)
}

// MovedKey identifies the claims that a host may have been moved with, by the
// namespace and name that it names: those of its own namespace, for a host that
// has got a new UID since it was bound. It is empty for all other hosts.
func MovedKey(host *bmov1alpha1.BareMetalHost) string {
	boundAs := host.Annotations[infrav1.BoundHostUIDAnnotation]
	if ConsumerKey(host) == "" || host.Spec.ConsumerRef.Namespace != host.Namespace ||
		boundAs == "" || boundAs == string(host.UID) {
		return ""
	}
	return host.Spec.ConsumerRef.Namespace + "/" + host.Spec.ConsumerRef.Name
}

// Moved reports whether host and claim were moved, or restored, together: the host
// names the claim by the UID that it had before, and has a new one itself. A
// host that kept its UID is never inherited by a claim that was made again.
func Moved(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return MovedKey(host) == claim.Namespace+"/"+claim.Name && !Owned(host, claim)
}

// Adoptable reports whether the claim may have a host that was moved or restored with it: the one that its status
// names, since a host keeps its name, or any if the status names none.
func Adoptable(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	key := types.NamespacedName{Namespace: host.Namespace, Name: host.Name}
	return Moved(host, claim) && (claim.Status.BareMetalHost == nil || StatusNames(claim, key))
}

// Bind returns the host as it is while the claim has it, before anything is
// provisioned. A host that was moved with the claim keeps its notes, the
// administrator's cleaning mode among them, from when it was bound first; those of
// a claim that lost it to an administrator count for no other, but for that mode.
func Bind(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	if !Moved(host, claim) {
		WithoutWork(out)
		if mode := host.Spec.AutomatedCleaningMode; mode != bmov1alpha1.CleaningModeMetadata || host.Annotations[infrav1.FormerCleaningModeAnnotation] == "" {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.FormerCleaningModeAnnotation, string(mode))
		}
	}
	out.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: bmov1alpha1.GroupVersion.String(),
		Kind:       hostClaimKind,
		Namespace:  claim.Namespace,
		Name:       claim.Name,
		UID:        claim.UID,
	}
	setClaimUID(out, string(claim.UID))
	if OfMachine(host) { // as CAPM3 takes it off a host that it frees, or moves
		delete(out.Labels, clusterv1.ClusterNameLabel)
		if out.Annotations[infrav1.BlockMoveAnnotation] == "" {
			delete(out.Annotations, infrav1.BlockMoveAnnotation)
		}
	}
	delete(out.Annotations, infrav1.FenceAnnotation)
	guard(out, claim)
	return out
}

// BindAtOnce returns the host as Bind does, and with the power that the claim asks for if the
// claim asks for nothing else yet: what comes next would be a write of its own. A host that
// was moved with the claim, or was switched too often, is left to that write.
func BindAtOnce(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim, now time.Time) *bmov1alpha1.BareMetalHost {
	bound := Bind(host, claim)
	if _, limited := PowerLimited(bound, now); limited || Moved(host, claim) || Compare(claim, bound, false) != NothingAsked {
		return bound
	}
	desired := Desired(claim, bound, &Payload{})
	if desired.Spec.Online == bound.Spec.Online {
		return desired
	}
	return PowerChanged(desired, now)
}

// BoundAs reports whether a host carries what a bind has tried to write on it as it was seen: the conflict that
// the bind met was the answer to a repetition of its own write, by a client or proxy that had lost the
// first answer. What the bind left as it was may have changed since.
func BoundAs(now, seen, tried *bmov1alpha1.BareMetalHost) bool {
	return equality.Semantic.DeepEqual(now.Spec.ConsumerRef, tried.Spec.ConsumerRef) &&
		added(seen.Labels, tried.Labels).Matches(labels.Set(now.Labels)) &&
		added(seen.Annotations, tried.Annotations).Matches(labels.Set(now.Annotations))
}

// added selects what has the entries that a map has got.
func added(before, after map[string]string) labels.Selector {
	out := maps.Clone(after)
	maps.DeleteFunc(out, func(key, value string) bool {
		old, found := before[key]
		return found && old == value
	})
	return labels.SelectorFromSet(out)
}

func setClaimUID(host *bmov1alpha1.BareMetalHost, uid string) {
	metav1.SetMetaDataLabel(&host.ObjectMeta, infrav1.ClaimUIDLabel, uid)
}

// deleteForMoveAnnotation is put by clusterctl on what it deletes after a move.
const deleteForMoveAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"

// OnHold reports whether a claim must be neither bound, written nor released: it is
// paused, or on the move to another cluster. A missing finalizer is no such sign:
// a tenant that strips it from its claim does not keep the host.
func OnHold(claim *bmov1alpha1.HostClaim) bool {
	return metav1.HasAnnotation(claim.ObjectMeta, clusterv1.PausedAnnotation) || MovedAway(claim)
}

// MovedAway reports whether clusterctl is deleting the claim or host, which exists in another
// cluster. clusterctl replaces all other annotations by the one for that.
func MovedAway(object metav1.Object) bool {
	_, found := object.GetAnnotations()[deleteForMoveAnnotation]
	return found
}

// SameInputs reports whether two versions of a claim ask for the same: they differ at most in their
// status, their finalizers, and the annotation of kubectl apply, which caches drop.
func SameInputs(a, b *bmov1alpha1.HostClaim) bool {
	return a.UID == b.UID && a.DeletionTimestamp.IsZero() == b.DeletionTimestamp.IsZero() &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec) && maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(withoutApplied(a.Annotations), withoutApplied(b.Annotations))
}

func withoutApplied(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	delete(out, corev1.LastAppliedConfigAnnotation)
	return out
}
