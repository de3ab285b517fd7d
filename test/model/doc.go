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

// Package model plays random lives of claims and hosts against the reconcilers
// of the hostclaim manager and watches its invariants at every write.
//
// A schedule is one such life: a few claims, hosts, namespaces and policies, two
// managers that may both think they lead, and players for tenants,
// administrators and baremetal-operator. Every pass of a reconciler is a
// coroutine that stops at each request; one runs at a time, and a sequence of
// choices decides which, what the caches have seen, and what goes wrong. The same
// choices give the same schedule. At the end faults stop and everything comes to
// rest, which shows what was left behind and who waits for nothing.
//
// What a claim incarnation suffers is its status wiped or the record of its last intent taken
// off, never both: no protocol survives that, see docs/adr/0002.
package model
