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

// Package reuse decides which servers stay with their control plane or MachineDeployment
// when a machine is replaced. A machine that goes leaves its HostClaim reserved, and the
// next machine of the same owner adopts it:
//
//	machine goes ─▶ Keeps? ─▶ claim reserved ─▶ host at rest ─▶ Next of another machine: adopt
//	                  │                              │
//	                  └▶ claim deleted               └▶ let go, or expired: claim deleted
//
// It is for the machine controller, which reads the facts and carries out the answers. It
// knows nothing of hosts: that a reserved claim keeps its host, and which, is the hostclaim
// manager's part. docs/adr/0012-node-reuse.md has the protocol.
package reuse
