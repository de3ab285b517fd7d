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

// Package host plays baremetal-operator and the servers under it: it keeps the
// status of every BareMetalHost of a cluster without baremetal-operator.
//
//	BareMetalHost ─▶ Reconcile ─▶ life.Next ─▶ finalizer and annotations
//	Server (book) ─▶     ▲                     HardwareData
//	                     │                     status, with the host's version
//	                     └── at the moment that Next names
//
// What happens next is decided in package life; this package reads what that needs,
// the secrets of a config drive among it, and carries out the answer. Tests see by
// Server what is on the disks of a host. BMCs, images and credentials are never
// looked at.
package host
