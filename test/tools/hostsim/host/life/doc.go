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

// Package life is the state machine of a server as baremetal-operator 0.13.2
// shows it: given a BareMetalHost, the server behind it and the time, Next returns
// the next status of the host, the next state of the server, and the moment to
// look again.
//
//	"" ─▶ registering ─▶ inspecting ─▶ preparing ─▶ available ─▶ provisioning ─▶ provisioned
//	           │                                      ▲   ▲          │              │
//	           └─▶ externally provisioned             │   └─── deprovisioning ◀─────┘
//	                                                  └ (inspection on request)
//
// One call takes one step, so that a watch sees each state. What
// takes time on hardware is a Job of the Server that ends at a computed moment.
// The package does no IO and reads no clock.
package life
