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

// Package binding decides about a claim and its host: the next step of binding,
// what is written on a bound host, which secrets and hardware facts are copied
// between the two, and when the host may go back to the pool.
//
// Its inputs are a HostClaim, a BareMetalHost and what was seen of the two; its
// answers are steps and whole desired objects. It performs no IO, reads no
// clock and never chooses a host or asks a policy.
//
// The states of a binding and who may leave them:
//
//	unrecorded ──intent──▶ intended ──consumerRef──▶ named ──confirm──▶ bound
//	     ▲                    │                                           │
//	     └──drop── fenced ◀───┘ (or gone, or taken)                       ▼
//	                                                   lost (reported, never rebound)
//
// The intent stands in the status of the claim and, for the case that this is lost, in an
// annotation. Only the pass that wrote both writes the consumerRef, at the version of the host
// that the annotation names. A pass that finds an intent of another pass makes that pass lose before
// it drops the intent: by the version of the host, which it bumps if the intent could still be
// carried out, or by that of the claim. The other pass may try again at the version that this has
// made, but writes that into the annotation first: the lock of that write, or of the one that
// drops the intent, ends one of the two.
//
// What the spec of a bound host asks for goes through these states, by locked writes:
//
//	nothing ──tell──▶ told ──▶ provisioned ──take back──▶ emptying ──▶ nothing
//
// Taking back destroys, telling boots, and what is parked is taken back in the end. All of these
// are therefore written only after the host was read and then, live, the claim: no pass that was
// suspended, or whose cache is late, acts on an old version of the claim. The same order makes a
// one-shot reboot fire once: while the host was read, the request was not closed yet, so the last
// ID noted on that version of the host is the request's own if it was passed before, and the lock
// fails if it was passed since.
//
// No host is released with the disks of a former tenant unwiped, although a reservation may skip
// cleaning: a parked host keeps its image, and its release deprovisions it like any other, with
// cleaning on. It is emptied without cleaning only for the same claim, and the mark "uncleaned" is
// put on by the write that switches cleaning off and takes the image back. Until the host reports
// to run the next image, the mark stays, and Releasable refuses. From then on cleaning is on, and
// deprovisioning that image wipes all. A manager that dies between these writes leaves the mark
// behind.
package binding

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Record is what the status of a claim records about its host.
type Record int

// The records of a claim. Only Bound and Lost claim anything about the host;
// Intended names the host that a pass was about to bind. The intent of a claim with
// another record of a host keeps that record, see WithIntentStatus.
const (
	// Unrecorded is a status with condition Associated and no host.
	Unrecorded Record = iota
	// Blank is a status with neither host nor condition Associated: that of a new claim,
	// or one that was lost.
	Blank
	// Intended is a host with condition Associated Unknown.
	Intended
	// Bound is a host with condition Associated True.
	Bound
	// Lost is a host with condition Associated False: it was bound once and does not belong to
	// the claim any more.
	Lost
)

// RecordOf returns what the status of a claim records about its host. A host without the condition
// Associated was not written by us and counts as an intent: it is fenced before anything else
// happens.
func RecordOf(claim *bmov1alpha1.HostClaim) Record {
	switch associated := ConditionOf(claim.Status.Conditions, bmov1alpha1.AssociatedCondition).Status; {
	case claim.Status.BareMetalHost == nil && associated == "":
		return Blank
	case claim.Status.BareMetalHost == nil:
		return Unrecorded
	case associated == metav1.ConditionTrue:
		return Bound
	case associated == metav1.ConditionFalse:
		return Lost
	default:
		return Intended
	}
}

// ConditionOf returns a condition; the zero value if it is not there.
func ConditionOf(all []metav1.Condition, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(all, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// RecordedHost is what a live read showed of the recorded host when it is not ours.
type RecordedHost int

// What a live read can show.
const (
	// Unread means that no live read was made in this pass.
	Unread RecordedHost = iota
	// Gone means that the host does not exist.
	Gone
	// Taken means that the host names another consumer.
	Taken
	// Idle means that the host names no consumer.
	Idle
	// Fenced means that the host names no consumer and was written by this pass.
	Fenced
)

// Binding is everything that the next step of a claim depends on.
type Binding struct {
	// Deleting is whether the claim has a deletionTimestamp.
	Deleting bool
	// Reserved is whether the claim is kept for the next machine.
	Reserved bool
	// Own is whether a host is the claim's, see Has.
	Own bool
	// Record is that of the claim's status.
	Record Record
	// Unresolved is whether the intent annotation names a host that is neither the claim's nor
	// the one in its status, and that this pass has not looked at.
	Unresolved bool
	// Recorded is what a live read showed of the recorded host.
	Recorded RecordedHost
	// NoHostNamesIt is whether no host names the claim, for sure: a live list found
	// none, or there cannot be any yet.
	NoHostNamesIt bool
	// Moved is whether there are hosts that seem to have been moved with the claim.
	Moved bool
	// Candidate is whether a host was found that the claim could have.
	Candidate bool
}

// Step is what to do next about the binding of a claim.
type Step string

// The steps of binding and unbinding.
const (
	// Keep means that the claim has its host, as its status reports.
	Keep Step = "Keep"
	// Release means that the claim goes and its host must be freed.
	Release Step = "Release"
	// ReadRecorded asks for a live read of the recorded host.
	ReadRecorded Step = "ReadRecorded"
	// ListOwn asks for a live list of hosts that name the claim.
	ListOwn Step = "ListOwn"
	// Fence asks for a write to the intended host that bumps its version.
	Fence Step = "Fence"
	// FenceUnresolved asks for a live read of the host that only the intent annotation names, and
	// for such a write if another pass may still bind it.
	FenceUnresolved Step = "FenceUnresolved"
	// DropIntent asks for the intent to be taken out of the record, locked.
	DropIntent Step = "DropIntent"
	// ReportLost means that the host is gone and that nothing replaces it.
	ReportLost Step = "ReportLost"
	// Rest means that the claim is reserved and has no host: nothing is kept,
	// and no machine needs a host.
	Rest Step = "Rest"
	// Choose asks for a host that the claim could have.
	Choose Step = "Choose"
	// Take asks for that host to be bound.
	Take Step = "Take"
	// Finish means that nothing names the claim, and that its finalizer may go.
	Finish Step = "Finish"
)

// MaxSteps is how often Next may have to be asked until it ends: for two
// dead intents FenceUnresolved, ReadRecorded, Fence, DropIntent, ListOwn, the end.
const MaxSteps = 6

// Next returns the next step. Each step adds a fact to Binding, so that asking
// again ends in Keep, Release, ReportLost, Rest, Choose, Take or Finish.
//
// A status that does not name the host of the intent annotation may have been lost, or put back to an
// older one, while a pass was about to bind that host: it is fenced before anything else. If the
// status is blank, hosts are listed live before it records that there is no host. From then on,
// a host that names the claim is not believed any more.
func Next(b Binding) Step {
	switch {
	case b.Unresolved:
		return FenceUnresolved
	case b.Own && b.Deleting:
		return Release
	case b.Own:
		return Keep
	case b.Record == Intended:
		return dropIntent(b)
	case b.Record == Blank && !b.NoHostNamesIt:
		return ListOwn
	case b.Record == Unrecorded, b.Record == Blank:
		return withoutHost(b)
	default:
		return missing(b)
	}
}

// withoutHost is for a claim that has no host as far as we know. Before it is
// bound anew or let go, that is made sure of, and never concluded from a cache.
// While there is nothing to bind it to, nothing depends on it, so a claim that
// waits costs no live list in every pass. A reserved one binds nothing but the host
// that was moved with it.
func withoutHost(b Binding) Step {
	switch {
	case b.Reserved && !b.Deleting && !b.Moved:
		return Rest
	case !b.Deleting && !b.Candidate:
		return Choose
	case !b.NoHostNamesIt:
		return ListOwn
	case b.Deleting:
		return Finish
	default:
		return Take
	}
}

// missing is for a claim whose host, once bound, does not name it any more. What
// was lost stays lost: only a host that names the claim again ends that, or one
// that was moved with it and names it by the UID that it had before.
func missing(b Binding) Step {
	switch {
	case b.Recorded == Unread && (b.Record == Bound || b.Deleting):
		return ReadRecorded
	case !b.Deleting && !b.Moved:
		return ReportLost
	default:
		return withoutHost(b)
	}
}

// dropIntent leads out of an intent that did not come to a consumerRef. A host
// that is gone or names another consumer needs no fence: its version is not the one that
// the intent was made for, so a writer that still acts on the intent loses, or writes the
// claim before the consumerRef and loses by that.
func dropIntent(b Binding) Step {
	switch b.Recorded {
	case Unread:
		return ReadRecorded
	case Idle:
		return Fence
	default:
		return DropIntent
	}
}
