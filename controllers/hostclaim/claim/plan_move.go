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

package claim

import (
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
)

// moveFacts is everything that the answer depends on.
type moveFacts struct {
	// claim is paused and not being deleted.
	claim *bmov1alpha1.HostClaim
	// host is the claim's own, nil while no host names the claim.
	host *bmov1alpha1.BareMetalHost
	// unlabeled are the CustomResourceDefinitions of claims, hosts and hardware that lack
	// the label by which clusterctl finds objects.
	unlabeled []string
	// handOver reports whether the infrastructure team lets the hosts of the namespace move.
	handOver bool
}

// moveStep is what to do next about a move.
type moveStep string

// The steps of a move.
const (
	// moveNothing means that the claim has no host, and nothing keeps it from being moved.
	moveNothing moveStep = "Nothing"
	// moveUnblock asks for block-move to be taken off a claim that has no host.
	moveUnblock moveStep = "Unblock"
	// moveWait means that the claim must not be moved, for Reason and Message.
	moveWait moveStep = "Wait"
	// movePrepare asks for the host to be made ready, and then for block-move to be taken
	// off the claim. It is decided again on a live read of the host.
	movePrepare moveStep = "Prepare"
	// moveDone means that claim and host may be moved.
	moveDone moveStep = "Ready"
)

// movePlan is the next step. Reason and Message are those of the condition Movable; they
// are empty for moveNothing and moveUnblock.
type movePlan struct {
	Step            moveStep
	Reason, Message string
}

// nextMove returns what to do about a paused claim.
func nextMove(o moveFacts) movePlan {
	ready := movePlan{Step: movePrepare, Reason: infrav1.ReadyToMoveReason, Message: "The host is paused and keeps its status for the move"}
	switch {
	case o.host == nil:
		return o.withoutHost()
	case !o.blocked() && o.handOver && binding.IsReadyToMove(o.host, o.claim):
		ready.Step = moveDone
		return ready
	}
	if reason, message := o.obstacle(); reason != "" {
		return movePlan{Step: moveWait, Reason: reason, Message: message}
	}
	return ready
}

// moveRefused is the plan after a write that failed; empty if the API server did not refuse it for a reason
// that holds until a person removes it. The parameter what names what was to be written.
func moveRefused(what string, err error) movePlan {
	reason := refusal(err)
	if reason == "" {
		return movePlan{}
	}
	return movePlan{
		Step: moveWait, Reason: infrav1.PreparationRefusedReason,
		Message: "The API server refuses to have " + what + ": " + reason + ". It is tried again; the log of the hostclaim manager has the answer",
	}
}

// blocked reports whether block-move is on the claim, and ours.
func (o moveFacts) blocked() bool {
	return o.claim.Annotations[infrav1.BlockMoveAnnotation] == infrav1.HostClaimManagerFieldOwner
}

// withoutHost decides about a claim that no host names. Only a status without a host proves
// that none is being bound: an empty status may have been lost, and one that names a host is an
// intent, or the record of a lost host, which a move would drop.
func (o moveFacts) withoutHost() movePlan {
	switch {
	case !o.blocked():
		return movePlan{Step: moveNothing}
	case binding.RecordOf(o.claim) == binding.Unrecorded:
		return movePlan{Step: moveUnblock}
	default:
		return movePlan{
			Step: moveWait, Reason: infrav1.BindingInProgressReason,
			Message: "The claim was paused while it was being bound, or its host is gone; unpause it until it has its host, or delete it",
		}
	}
}

// obstacle returns what keeps a claim with a host from being moved, what lasts first.
func (o moveFacts) obstacle() (reason, message string) {
	switch {
	case o.host.Namespace != o.claim.Namespace:
		return infrav1.HostInOtherNamespaceReason, "The host is in another namespace and cannot be moved with the claim, so clusterctl move waits; " +
			"use identityRef on the machines instead, which reach their hosts from any management cluster"
	case binding.RecordOf(o.claim) != binding.Bound:
		return infrav1.BindingInProgressReason, "The claim was paused before its status named its host; unpause it until condition Associated is True"
	case len(o.unlabeled) > 0:
		return infrav1.HostsNotMovableReason, "clusterctl would leave objects behind: label CustomResourceDefinition " +
			strings.Join(o.unlabeled, ", ") + " with " + infrav1.ClusterctlLabel + ", then begin the move again"
	case !binding.IsMoved(o.claim):
		return infrav1.HostsNotMovableReason, "The claim belongs to no Cluster, so clusterctl would not take its host along; label the claim with " +
			infrav1.MoveLabel + " to have it moved, then begin the move again"
	case !binding.TakenAlong(o.host, o.claim):
		return infrav1.HostsNotMovableReason, "The claim was paused before the host was labeled for clusterctl; unpause it for a moment, then begin the move again"
	case !o.handOver:
		return infrav1.HandOverNotConfirmedReason, unconfirmed(o.host)
	case heldByAnother(o.host):
		return infrav1.MovingHostPausedReason, "The host is paused or detached by another client, or being deleted; the infrastructure team must end that"
	}
	if why := binding.Unrest(o.claim, o.host); why != "" {
		return infrav1.HostNotAtRestReason, "The server is being changed, so clusterctl move waits until it is at rest: " + why
	}
	return "", ""
}

// unconfirmed is what is missing on the Namespace. It may be that the annotation was taken off while clusterctl
// may be moving the claim already. block-move goes back on the claim then, for a clusterctl that
// still waits, but the host stays paused until the claim is unpaused: the server may run for
// the target cluster.
func unconfirmed(host *bmov1alpha1.BareMetalHost) string {
	if binding.PausedForMove(host) {
		return "Annotation " + infrav1.HostsMayMoveAnnotation + ` of the Namespace is not "true" any more. The host stays paused, since ` +
			"clusterctl may be moving it already; if it is not, unpause the Cluster, which unpauses the host"
	}
	return "The infrastructure team has not confirmed that Ironic serves the hosts of this namespace wherever they are moved; " +
		"once that is so, they set annotation " + infrav1.HostsMayMoveAnnotation + `: "true" on the Namespace`
}

// heldByAnother reports whether another client keeps baremetal-operator from the host.
func heldByAnother(host *bmov1alpha1.BareMetalHost) bool {
	paused := metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation) && !binding.PausedForMove(host)
	return paused || metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.DetachedAnnotation) || !host.DeletionTimestamp.IsZero()
}
