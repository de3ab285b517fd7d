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

// Package capm3 has the objects of a cluster that a real CAPM3 ran: its main branch of August 2026, with
// baremetal-operator 0.13, as the API server gave them. It has one control plane and its workers, with data templates and
// one pool of addresses, on servers of its own namespace. Keys and tokens are those of simulated clusters.
package capm3
