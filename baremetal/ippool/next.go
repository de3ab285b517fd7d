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

package ippool

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// ClaimState is what is known of the claim on one pool.
type ClaimState int

const (
	// ClaimAbsent means that there is no claim.
	ClaimAbsent ClaimState = iota
	// ClaimHeld means that the claim is ours.
	ClaimHeld
	// ClaimDying means that the claim is ours and was deleted by another
	// client. The address stays ours until we release the claim.
	ClaimDying
	// ClaimForeign means that a claim of that name belongs to something else,
	// perhaps to an earlier Metal3Data that is not quite gone.
	ClaimForeign
)

// Observed is what is known of one address that a pool is asked for.
type Observed struct {
	Ask
	// Namespace is where pool and claim live.
	Namespace string
	// APIMissing means that the cluster does not know the kind of claim.
	APIMissing bool
	// PoolMissing means that there is no such pool. Only pools of
	// ip-address-manager are read; other pools are known to their provider only.
	PoolMissing bool
	// Claim is the state of the claim, ClaimName its name, Answer what its provider
	// wrote into it.
	Claim     ClaimState
	ClaimName string
	Answer    Answer
	// PoolState is the State of a pool that has refused, or given an address that cannot be used, and
	// AskedState the one that it had when
	// the claim was made; empty if that is not known. Only pools of
	// ip-address-manager have one.
	PoolState, AskedState string
}

// Hold adds what is known from the claim that is held for the address.
func (o *Observed) Hold(claim metav1.Object) {
	o.Claim, o.ClaimName, o.Answer = ClaimHeld, claim.GetName(), AnswerOf(claim)
	o.AskedState = claim.GetAnnotations()[infrav1.PoolStateAnnotation]
	if !claim.GetDeletionTimestamp().IsZero() {
		o.Claim = ClaimDying
	}
}

// Step is what to do next about one address. At most one of Apply, Release and
// Read is set.
type Step struct {
	// Apply means that the claim is to be made.
	Apply bool
	// Release means that the claim has no address and will get none: it may go, so
	// that a new one can be made.
	Release bool
	// Read is the name of the address object to be read.
	Read string
	// Reason and Message are those of the wait for the address; empty once it is allocated.
	Reason, Message string
}

// MaxUnanswered is how many claims of a namespace, of IPClaims and of IPAddressClaims each, wait for an answer
// at a time, and so how long another namespace waits for its turn: ip-address-manager answers the
// claims of all in one queue. It sends 20 requests a second, at least three for each claim, so a claim waits
// for three requests of each that is ahead of it. More claims at a time are answered no sooner.
const MaxUnanswered = 5

// AnswerTime is how long a claim counts as unanswered. What is older is in no queue: its pool is paused,
// or no provider serves it, and the other pools of the namespace are asked without waiting for it.
const AnswerTime = time.Minute

// madeAtATime is how many claims one pass makes: the passes of other Metal3Datas that run beside it
// may count the same room.
const madeAtATime = 2

// Room returns how many claims may be made where so many are unanswered.
func Room(unanswered int) int {
	return max(0, min(madeAtATime, MaxUnanswered-unanswered))
}

// Later is the step for an address whose claim there is no room for.
func Later(ask Ask) Step {
	return Step{Reason: infrav1.WaitingForAddressesReason, Message: fmt.Sprintf(
		"Waiting to ask %s: %d claims of a namespace wait for an answer at a time, each for a minute at most", ask, MaxUnanswered)}
}

// Next returns the next step for one address.
func Next(o Observed) Step {
	switch {
	case o.APIMissing:
		return Step{Reason: infrav1.PoolAPIMissingReason, Message: missingAPI(o.Pool)}
	case o.Claim == ClaimForeign:
		return Step{Reason: infrav1.AddressUnavailableReason, Message: fmt.Sprintf(
			"%s %q belongs to something else: it must be deleted before pool %q can be asked", o.claimKind(), o.ClaimName, o.Name)}
	case o.Claim != ClaimAbsent && o.Answer.AddressName != "":
		return Step{Read: o.Answer.AddressName}
	case o.Claim == ClaimDying:
		return Step{Release: true, Reason: infrav1.WaitingForAddressesReason, Message: fmt.Sprintf(
			"%s %q was deleted before it was answered, a new one follows", o.claimKind(), o.ClaimName)}
	case o.PoolMissing:
		return Step{Reason: infrav1.PoolNotFoundReason, Message: fmt.Sprintf(
			"There is no %s in namespace %q: create it", o.Pool, o.Namespace)}
	case o.Answer.Problem != "":
		return refused(o)
	default:
		return Step{Apply: o.Claim == ClaimAbsent, Reason: infrav1.WaitingForAddressesReason, Message: fmt.Sprintf(
			"Waiting for an address of %s", o.Ask)}
	}
}

// refused is the step after a pool gave no address. ip-address-manager looks at
// no claim twice, so once its pool has changed the claim is made anew. Providers
// of other pools try again by themselves.
func refused(o Observed) Step {
	step := Step{Reason: infrav1.AddressUnavailableReason}
	switch {
	case !o.Metal3():
		step.Message = fmt.Sprintf("%s gives no address, it says %q: mend the pool; "+
			"if its provider does not try again by itself, delete %s %q", o.Pool, o.Answer.Problem, o.claimKind(), o.ClaimName)
	case o.PoolState != o.AskedState:
		step.Release, step.Reason = true, infrav1.WaitingForAddressesReason
		step.Message = fmt.Sprintf("%s %q was refused, it says %q; the pool has changed since, so a new one follows",
			o.claimKind(), o.ClaimName, o.Answer.Problem)
	default:
		step.Message = fmt.Sprintf("%s gives no address, it says %q: extend the pool, or free an address of it", o.Pool, o.Answer.Problem)
	}
	return step
}

// Unfit returns the next step for an address that cannot be used because of the problem. Addresses
// are never written again, so once the spec of the pool has changed, or the claim was deleted by
// another client, the address is given back and asked for anew.
func Unfit(o Observed, problem string) Step {
	step := Step{Reason: infrav1.RenderingFailedReason}
	anew := fmt.Sprintf("then delete %s %q, so that it is asked anew", o.claimKind(), o.ClaimName)
	switch {
	case o.Claim == ClaimDying:
		step.Release = true
		step.Message = fmt.Sprintf("%s; %s %q was deleted, a new one follows", problem, o.claimKind(), o.ClaimName)
	case o.Metal3() && otherSpec(o.AskedState, o.PoolState):
		step.Release = true
		step.Message = fmt.Sprintf("%s; the pool has changed since, so a new %s follows", problem, o.claimKind())
	case o.Metal3() && o.AskedState != "":
		step.Message = problem + "; it is asked anew once its spec has changed"
	default:
		step.Message = problem + "; " + anew
	}
	return step
}

func missingAPI(pool Pool) string {
	if pool.Metal3() {
		return fmt.Sprintf("%s cannot be asked, the cluster does not know IPClaims of group %s: install ip-address-manager", pool, metal3Group)
	}
	return fmt.Sprintf("%s cannot be asked, the cluster does not know IPAddressClaims of group ipam.cluster.x-k8s.io: "+
		"install an IPAM provider of Cluster API", pool)
}

func (p Pool) claimKind() string {
	if p.Metal3() {
		return "IPClaim"
	}
	return "IPAddressClaim"
}
