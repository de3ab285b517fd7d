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
	"encoding/json"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// A host moves with its claim in these states; each arrow is one locked write:
//
//	guarded ──pause, status, record──▶ ready ──(clusterctl)──▶ remote: adopted ──▶ guarded
//	   ▲                                 │
//	   └────────── unpaused ─────────────┘
//
// A host is guarded from the bind on: clusterctl waits only for objects that carry
// block-move when a move begins. The claim carries it as well, and loses it last and
// gets it back first, so that clusterctl never moves one without the other.

// Guarded returns a bound host with what keeps clusterctl from moving it, and, if the
// claim is moved by clusterctl, with the label that takes the host along. A host that was
// restored while its claim was kept gets the record of its new UID, so that no later
// claim of that name takes it for one that was moved with it.
func Guarded(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	guard(out, claim)
	return out
}

func guard(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) {
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.BoundHostUIDAnnotation, string(host.UID))
	if !metav1.HasAnnotation(host.ObjectMeta, infrav1.BlockMoveAnnotation) {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.BlockMoveAnnotation, infrav1.HostClaimManagerFieldOwner)
	}
	if host.Namespace != claim.Namespace || !IsMoved(claim) {
		unlabel(host)
		return
	}
	if !metav1.HasLabel(host.ObjectMeta, infrav1.MoveHierarchyLabel) {
		metav1.SetMetaDataLabel(&host.ObjectMeta, infrav1.MoveHierarchyLabel, infrav1.HostClaimManagerFieldOwner)
	}
}

// TakenAlong reports whether clusterctl takes the host along when it moves the claim. The label is
// needed when a move begins, so it is not put on a host whose claim is paused already.
func TakenAlong(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return metav1.HasLabel(host.ObjectMeta, infrav1.MoveHierarchyLabel) || !IsMoved(claim)
}

// IsMoved reports whether clusterctl moves the claim with a Cluster, or because of a label. That
// of a machine in another cluster stays.
func IsMoved(claim *bmov1alpha1.HostClaim) bool {
	if claim.Labels[infrav1.OriginKey] != "" {
		return false
	}
	if metav1.HasLabel(claim.ObjectMeta, infrav1.MoveLabel) || metav1.HasLabel(claim.ObjectMeta, infrav1.MoveHierarchyLabel) {
		return true
	}
	for _, owner := range claim.OwnerReferences {
		group, _, _ := strings.Cut(owner.APIVersion, "/")
		if group == infrav1.GroupVersion.Group || strings.HasSuffix(group, "cluster.x-k8s.io") {
			return true
		}
	}
	return false
}

// GuardedClaim returns the claim with what keeps clusterctl from moving it, if it must
// block, and with the record of its own UID, if it is bound or about to be. The record of
// a claim that was moved or restored stays until its status reports its host as bound
// again. A value that another client put on block-move stays. The claim of a machine in
// another cluster is not moved: the machine finds it from any management cluster.
func GuardedClaim(claim *bmov1alpha1.HostClaim, bound, block bool) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	record, block := claim.Annotations[infrav1.BoundClaimUIDAnnotation], block && claim.Labels[infrav1.OriginKey] == ""
	switch {
	case bound && (record == "" || RecordOf(claim) == Bound):
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.BoundClaimUIDAnnotation, string(claim.UID))
	case !bound && !BoundBefore(claim):
		delete(out.Annotations, infrav1.BoundClaimUIDAnnotation)
	}
	switch value, found := claim.Annotations[infrav1.BlockMoveAnnotation]; {
	case block && !found:
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.BlockMoveAnnotation, infrav1.HostClaimManagerFieldOwner)
	case !block && value == infrav1.HostClaimManagerFieldOwner:
		delete(out.Annotations, infrav1.BlockMoveAnnotation)
	}
	return out
}

// BoundBefore reports whether the claim was made from one that had a host, or was about to get
// one: it was moved or restored. Such a claim waits for that host, which a cache may
// not show yet: with any other, the server that it had would run on beside it.
func BoundBefore(claim *bmov1alpha1.HostClaim) bool {
	record := claim.Annotations[infrav1.BoundClaimUIDAnnotation]
	return record != "" && record != string(claim.UID)
}

// ReadyToMove returns the host as it can be moved with its claim: paused, with its
// status where baremetal-operator restores it from, and with a record of the claim. The
// record names the version of the claim, so that a pass that read the claim before it
// was paused conflicts with this write. The host comes from the API server, since caches
// lack parts of its status. CAPM3 leaves the hardware out of the annotation, too:
// it is restored from the HardwareData.
func ReadyToMove(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) (*bmov1alpha1.BareMetalHost, error) {
	out := host.DeepCopy()
	status := host.Status.DeepCopy()
	status.HardwareDetails = nil
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, bmov1alpha1.PausedAnnotation, infrav1.MovePausedValue)
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, bmov1alpha1.StatusAnnotation, string(text))
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.MovingAnnotation, moveRecord(claim))
	unblock(out)
	return out, nil
}

func moveRecord(claim *bmov1alpha1.HostClaim) string {
	return string(claim.UID) + "/" + claim.ResourceVersion
}

// IsReadyToMove reports whether a host was made ready to be moved with this claim.
func IsReadyToMove(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.StatusAnnotation) &&
		!metav1.HasAnnotation(host.ObjectMeta, infrav1.BlockMoveAnnotation) && PausedForMove(host) &&
		strings.HasPrefix(host.Annotations[infrav1.MovingAnnotation], string(claim.UID)+"/")
}

// IsRecorded reports whether the record of a move on the host names this version of the claim.
func IsRecorded(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return host.Annotations[infrav1.MovingAnnotation] == moveRecord(claim)
}

// HasMoveRecord reports whether a host was made ready for a move, with whichever claim.
func HasMoveRecord(host *bmov1alpha1.BareMetalHost) bool {
	return metav1.HasAnnotation(host.ObjectMeta, infrav1.MovingAnnotation)
}

// PausedForMove reports whether the hostclaim manager itself has paused the host.
func PausedForMove(host *bmov1alpha1.BareMetalHost) bool {
	return host.Annotations[bmov1alpha1.PausedAnnotation] == infrav1.MovePausedValue
}

// Held reports whether a host carries what a move has put on it, so that nothing else is
// written to it before that is taken off.
func Held(host *bmov1alpha1.BareMetalHost) bool {
	return HasMoveRecord(host) || PausedForMove(host)
}

// Resumed returns the host without what ReadyToMove put on it. The status annotation
// stays while the host has no status: baremetal-operator restores it from there. A pause
// with another value stays.
func Resumed(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	resume(out)
	return out
}

func resume(host *bmov1alpha1.BareMetalHost) {
	if !Held(host) {
		return
	}
	if PausedForMove(host) {
		delete(host.Annotations, bmov1alpha1.PausedAnnotation)
	}
	delete(host.Annotations, infrav1.MovingAnnotation)
	if !WithoutStatus(host) {
		delete(host.Annotations, bmov1alpha1.StatusAnnotation)
	}
}

// WithoutStatus reports whether a bound host has no status yet: it was moved or restored, and
// baremetal-operator has not brought its status back. A host is bound only with one.
func WithoutStatus(host *bmov1alpha1.BareMetalHost) bool {
	return host.Status.Provisioning.State == bmov1alpha1.StateNone
}

// StatusLost reports whether a host without status has none in its annotation either, so
// that baremetal-operator would take the server for a new one.
func StatusLost(host *bmov1alpha1.BareMetalHost) bool {
	return WithoutStatus(host) && host.Annotations[bmov1alpha1.StatusAnnotation] == ""
}

// WithoutMove takes off a host that names no claim what Guarded and ReadyToMove put on it.
func WithoutMove(host *bmov1alpha1.BareMetalHost) {
	resume(host)
	unguard(host)
}

// unguard takes off a host that is given back what Guarded put on it, and the mark of a
// clusterctl that died before it deleted the host: to the orphan reconciler, a later claim
// of the host would have left by a move.
func unguard(host *bmov1alpha1.BareMetalHost) {
	unblock(host)
	unlabel(host)
	delete(host.Annotations, deleteForMoveAnnotation)
}

func unlabel(host *bmov1alpha1.BareMetalHost) {
	if host.Labels[infrav1.MoveHierarchyLabel] == infrav1.HostClaimManagerFieldOwner {
		delete(host.Labels, infrav1.MoveHierarchyLabel)
	}
}

func unblock(host *bmov1alpha1.BareMetalHost) {
	if host.Annotations[infrav1.BlockMoveAnnotation] == infrav1.HostClaimManagerFieldOwner {
		delete(host.Annotations, infrav1.BlockMoveAnnotation)
	}
}

// Unrest returns what is being done, or is about to be done, to the server of a bound claim; empty
// when the host is at rest: it runs what its claim asks for, or is free of any image where the
// claim asks for none, its power is as wanted, and no operation is under way. Only then is its
// status complete for another baremetal-operator.
func Unrest(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) string {
	switch status := host.Status; {
	case WithoutStatus(host):
		return "baremetal-operator has not restored its status yet"
	case InError(host):
		return "it is in error"
	case !settledState(host):
		return "its state is " + StateName(host)
	case status.OperationalStatus != "" && status.OperationalStatus != bmov1alpha1.OperationalStatusOK:
		return "it is serviced, or waits for its turn"
	case rebootOrInspection(claim, host):
		return "a reboot or an inspection was asked for"
	case !settledPayload(claim, host):
		return "what the claim asks for is not on it yet"
	case status.PoweredOn != host.Spec.Online, Online(claim, host) != host.Spec.Online:
		return "its power is being switched"
	default:
		return ""
	}
}

// settledPayload reports whether nothing is about to be written to a host for its claim, or taken back.
func settledPayload(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	switch Compare(claim, host, WantsNoCleaning(claim)) {
	case NothingAsked, Frozen, Diverged, Parked:
		return true
	default:
		return false
	}
}

// settledState reports whether nothing is under way in the provisioning state of a host, and it
// runs what its spec asks for.
func settledState(h *bmov1alpha1.BareMetalHost) bool {
	switch h.Status.Provisioning.State {
	case bmov1alpha1.StateProvisioned:
		return runsItsPayload(h)
	case bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
		return !HasPayload(h) && !left(h)
	case bmov1alpha1.StateExternallyProvisioned:
		return true
	default:
		return false
	}
}

// rebootOrInspection reports whether a reboot or an inspection was asked for.
func rebootOrInspection(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	for _, keys := range []map[string]string{claim.Annotations, host.Annotations} {
		for key := range keys {
			if strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix) || key == infrav1.RebootRequestAnnotation ||
				key == bmov1alpha1.InspectAnnotationPrefix {
				return true
			}
		}
	}
	return false
}
