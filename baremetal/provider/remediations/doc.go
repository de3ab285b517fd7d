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

// Package remediations decides what is done next for an unhealthy machine whose server is
// rebooted:
//
//	hold the server off ─▶ off ─▶ move the workload away ─▶ switch on ─▶ on ─▶ restore the Node ─▶ wait
//	└──────────────── phase Running ───────────────────┘   └───────────── phase Waiting ───────────┘
//
// Next takes everything from the objects as they are now, so that a manager that was killed
// between any two writes goes on where it was. All writes of a server's power are one
// annotation on its HostClaim: as long as it is there, the server is held off, so that no two
// reboots of a remediation run at once. A second one begins only after the server was seen on.
package remediations
