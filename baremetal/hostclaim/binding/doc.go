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
// What a bound host is told goes round in a circle, by locked writes:
//
//	nothing ──tell──▶ told ──▶ provisioned ──take back──▶ emptying ──▶ nothing
//
// Taking back destroys, telling boots, and what is parked is taken back in the end.
// So all of these are written only after the claim was read live, which itself was
// after the host was read: no pass that was suspended, or whose cache is late,
// then acts on what the claim said long ago. The same order makes a one-shot reboot fire once:
// while the host was read, the request was not closed yet, so the last ID noted on
// that version of the host is the request's own if it was passed before, and the
// lock fails if it was passed since.
//
// No host is released with the disks of a former tenant unwiped, although a
// reservation may skip cleaning: a parked host keeps its image, so that its release
// deprovisions it like any other, with cleaning on. It is emptied without cleaning
// only for the same claim, and the mark "uncleaned" is put on by the write that
// switches cleaning off and takes the image back. Until the host reports to run the
// next image, the mark is there, and Releasable says no. From then on cleaning is
// on, and deprovisioning that image wipes all. A manager that dies between these writes
// leaves the mark behind.
package binding
