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

// Package standalone plays what people do with servers without Cluster API: an
// administrator registers BareMetalHosts, a tenant claims one, boots it, reboots it,
// switches it off and gives it back (docs/claims-by-hand.md).
//
// The API server is real, and so is the hostclaim manager; the servers are played
// by hostsim in host mode, without baremetal-operator.
package standalone
