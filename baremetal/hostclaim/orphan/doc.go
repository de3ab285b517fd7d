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

// Package orphan decides what is done with a host whose HostClaim does not exist
// any more.
//
// Its inputs are the host, what a live read showed of the claim that it names,
// the time and the grace; its answer is one step, with the words for the
// administrator. Hosts that we did not bind are left alone. How a host
// is wiped and freed is said by package binding. It performs no IO and reads no
// clock.
//
//	bound ──claim gone──▶ marked ──grace over, or annotation──▶ released
//	  ▲                     │
//	  └──claim turns up─────┘  (same UID; a claim of equal name waits for the annotation)
package orphan
