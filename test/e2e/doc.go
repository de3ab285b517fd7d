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

// Package e2e asks whether everything together does what the README promises:
// tenants get clusters from a shared pool of servers and learn from a condition
// what to mend. What a tenant may not do is in test/rbac and test/tenant.
//
// Its tests run on a dev cluster of their own, where only the hardware is
// simulated: every manager is a process with the rights of its service account,
// in the hardened form. They write as the tenant or the administrator would,
// and never with the rights, or into the status, of a manager.
//
// The story of the demo is one test, see pool_test.go; that of servers in another
// cluster, which runs before it, is in remote_test.go, and that of moves in which hosts
// go along in move_test.go. What becomes of machines after they run is in life_test.go, on a
// cluster whose hosts have power. With E2E_BMO=0.14, all look as with that release of
// baremetal-operator, as one side of the moves always does. Every version of every host and claim is recorded, and the
// invariants are checked on each of them.
package e2e
