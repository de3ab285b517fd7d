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
	"crypto/sha256"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
)

// ReleasePlan is what to do now for a machine that is being deleted.
type ReleasePlan struct {
	// DeleteClaim asks for the HostClaim to be deleted.
	DeleteClaim bool
	// ReserveClaim asks for it to be reserved for the next machine instead.
	ReserveClaim bool
	// LetGo are the names of reserved claims that no machine will use.
	LetGo []string
	// ReleaseData asks for our finalizer to be taken off the Metal3DataClaim and for its
	// deletion.
	ReleaseData bool
	// Done reports whether the finalizer of the machine may go.
	Done bool
	// Waits are the conditions that show why the deletion is not finished.
	Waits []metav1.Condition
}

// Release returns the plan for a machine that is being deleted: first the
// server, then its data. The other way round, the addresses of a server that is
// still running would go to the next machine. Where the claim is reserved, the
// machine stays until its server is at rest. Claims that are reserved for a group which is
// being deleted go with its machines.
func Release(o Observed) ReleasePlan {
	p := ReleasePlan{LetGo: ended(o.Group)}
	switch host := o.notTakenOver(); {
	case host != "":
		p.Waits = neverTakenOver(host)
	case o.Claim.Phase != claims.Absent && keeps(o.Group, o.Claim, o.Unhealthy):
		p.ReserveClaim, p.Waits = true, kept(o.Claim.Name)
	case o.Claim.Phase != claims.Absent:
		p.DeleteClaim, p.Waits = !o.Claim.Deleting, releasing(o.Claim)
	case o.Left != nil && (ends(o.Left) || !claims.Rests(o.Left)):
		p.Waits = kept(o.Left.Name)
	default:
		p.Done, p.ReleaseData = true, o.Data.ClaimExists && o.Data.ClaimHeld
	}
	return p
}

// releasing returns what a machine waits for while its claim gives the host back.
func releasing(claim claims.State) []metav1.Condition {
	message := fmt.Sprintf("Waiting for HostClaim %q to be released", claim.Name)
	if claim.Deleting && claim.Message != "" && !onItsWay(claim.Reason) {
		message += ": " + claim.Message
	}
	return []metav1.Condition{waiting(infrav1.HostClaimReadyCondition, infrav1.DeprovisioningReason, message)}
}

// onItsWay reports whether the host of a deleted claim goes through the steps that each host does. The machine
// does not repeat them.
func onItsWay(reason string) bool {
	switch reason {
	case infrav1.HostDeprovisioningReason, infrav1.HostPoweringOffReason, bmov1alpha1.HostClaimDeletingReason:
		return true
	default:
		return false
	}
}

// kept returns what a machine waits for while its claim is reserved.
func kept(claim string) []metav1.Condition {
	return []metav1.Condition{waiting(infrav1.HostClaimReadyCondition, infrav1.ReservedReason, fmt.Sprintf(
		"Waiting for the host of HostClaim %q to be deprovisioned; it is kept for the next machine", claim))}
}

// Group is the control plane or MachineDeployment of a machine, as far as its template asks
// for reuse. The zero value means that no server is reused.
type Group struct {
	// Asked reports whether the template has nodeReuse and Keeper is known.
	Asked bool
	// Keeper is the control plane or MachineDeployment.
	Keeper claims.Keeper
	// Going reports whether it, or its Cluster, is being deleted.
	Going bool
	// Desired is how many machines it should have.
	Desired int
	// Holding is how many other machines of it that stay have a claim.
	Holding int
	// Leaving is how many others are being deleted and may reserve the claim they have.
	Leaving int
	// Left are others which are being deleted and have reserved their claim by their status.
	Left []types.UID
	// Reserved are the claims that are reserved for it.
	Reserved []bmov1alpha1.HostClaim
}

// keeps reports whether a machine that is being deleted leaves its claim to the next machine of
// its group. Claims are kept only for machines that are missing: not when the group shrinks or
// goes, nor where the next machine has a server already. An unhealthy machine keeps none, since
// its server may be the cause.
func keeps(g Group, claim claims.State, unhealthy bool) bool {
	if !g.Asked || g.Going || unhealthy || claim.Deleting || claim.HostInError {
		return false
	}
	return (claim.Phase == claims.Bound || claim.Phase == claims.Provisioned) && g.Holding+g.kept() < g.Desired
}

// kept counts the reservations that have not ended.
func (g Group) kept() int {
	n := 0
	for i := range g.Reserved {
		if claim := &g.Reserved[i]; !ends(claim) && !claims.Broken(claim) {
			n++
		}
	}
	return n
}

// ends reports whether a reservation has ended, and the host goes back.
func ends(claim *bmov1alpha1.HostClaim) bool {
	return !claim.DeletionTimestamp.IsZero()
}

// ended are the names of the claims that are reserved for a group which is being deleted.
func ended(g Group) []string {
	if !g.Asked || !g.Going {
		return nil
	}
	var names []string
	for i := range g.Reserved {
		if claim := &g.Reserved[i]; !ends(claim) {
			names = append(names, claim.Name)
		}
	}
	return names
}

// ReusePlan is what a machine without a claim does about the reservations of its group.
type ReusePlan struct {
	// Adopt is the name of the claim to adopt; empty for none.
	Adopt string
	// Wait reports whether a server will become free soon; no other one is asked for until
	// then.
	Wait bool
	// LetGo are the names of claims whose servers the machine cannot use.
	LetGo []string
}

// unseen reports whether a leaving machine has reserved a claim that is not among the reserved
// ones: the cache does not show it yet, or it was adopted.
func (g Group) unseen() bool {
	return slices.ContainsFunc(g.Left, func(leaver types.UID) bool {
		return !slices.ContainsFunc(g.Reserved, func(claim bmov1alpha1.HostClaim) bool {
			_, by := claims.ReservedBy(&claim)
			return by == leaver
		})
	})
}

// nextReserved returns the plan of a machine that is to have the wanted claim. It takes a server
// that is at rest, whatever the others do, and waits for one only if there is none.
func nextReserved(g Group, wanted *bmov1alpha1.HostClaim) ReusePlan {
	var p ReusePlan
	if !g.Asked || g.Going {
		return p
	}
	p.Wait = g.Leaving > 0 || g.unseen()
	for i := range g.Reserved {
		switch claim := &g.Reserved[i]; {
		case ends(claim):
		case claims.Broken(claim), !claims.Answers(claim, wanted):
			p.LetGo = append(p.LetGo, claim.Name)
		case claims.Rests(claim) && (p.Adopt == "" || preference(wanted, claim.Name) > preference(wanted, p.Adopt)):
			p.Adopt = claim.Name
		default:
			p.Wait = true
		}
	}
	p.Wait = p.Wait && p.Adopt == ""
	return p
}

// preference orders the reserved claims for a machine, which adopts the highest. The order
// differs between machines, so that those which choose at the same time seldom choose the same.
func preference(wanted *bmov1alpha1.HostClaim, reserved string) string {
	sum := sha256.Sum256([]byte(wanted.Name + "/" + reserved))
	return string(sum[:])
}
