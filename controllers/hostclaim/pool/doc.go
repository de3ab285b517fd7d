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

// Package pool offers free hosts to waiting claims, to the namespaces in turn and the
// oldest claim of each first, and counts the hosts that are not free by reason.
//
// It keeps the free hosts in a stable order, the others as counts, and the waiting
// claims by age, all in memory and all only as hints: every bind is decided again by
// live reads and locked writes. It is fed by the watch on hosts and by the reconciler of
// claims, wakes claims through their work queue, and never reads or writes the
// API server. After a restart the first pass over hosts and claims fills it.
package pool
