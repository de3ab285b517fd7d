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

// Package orphans releases hosts that name a HostClaim that does not exist any more.
//
// It looks at the hosts that we bound, believes that a claim is gone only by a
// live read, asks baremetal/hostclaim/orphan for the next step, and carries it out in the
// way in which a claim is released. It never touches a host whose claim exists
// with the UID that the host names, nor one that another controller bound. From a
// host that names no claim it removes the traces of binds, and the fences of those that broke off.
//
// A host is woken by itself while it carries our traces, by a HostClaim that is
// created, deleted or replaced under the name (or UID) that the host knows, or whose
// status or record ceases to name a host, by rights on the Secrets of its namespace when it
// waits for them, and by the end of its grace. Nothing is polled.
package orphans
