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

// Package copies deletes the secrets that were copied next to a host for claims that
// do not need them any more.
//
// Its inputs are the UID of a claim and the host, or the namespace, next to which
// the copies are, and what the watch on Secrets has seen. It reads their metadata
// live and deletes them by UID. It never touches a secret without our labels, and
// writes none.
//
// Copies of former claims are looked for at the release and not at the bind. They
// can do no harm meanwhile: no host refers to a copy but by a locked patch, and its
// name belongs to one claim. A bind would pay for two lists and still miss what a
// manager writes late; the release happens once, takes all, and the host names its
// claim until they are gone. What comes later than that is deleted by the Reconciler,
// see docs/adr/0002.
package copies
