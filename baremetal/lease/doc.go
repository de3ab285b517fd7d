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

// Package lease answers the questions of a claim and its host: what is the next
// step of binding, what is written on a bound host, which secrets and facts
// travel between the two, and when may the host go back to the pool?
//
// Its inputs are a HostClaim, a BareMetalHost and what was seen of the two; its
// answers are steps and whole desired objects. It performs no IO, reads no
// clock and never chooses a host or asks a policy.
//
// The states of a binding and who may leave them:
//
//	unrecorded ──intent──▶ intended ──mark──▶ marked ──consumerRef──▶ named ──confirm──▶ bound
//	     ▲                    │                  │                                        │
//	     └──drop── fenced ◀───┴──────unmark──────┘ (or gone, or taken)                    ▼
//	                                                          lost (reported, never rebound)
//
// The intent stands in the claim, the mark on the host. Only the pass that wrote
// both writes the consumerRef, with the version that its mark gave the host and
// after it has seen that the claim is still as the intent left it. Whoever finds
// an intent or a mark therefore kills it by any successful write to the host.
package lease
