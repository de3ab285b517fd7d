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

// Package remediation reboots the servers of unhealthy machines, as Metal3Remediations ask.
// Parts observe the claim of the machine, in this cluster or in another one, and its Node, and
// carry out what baremetal/provider/remediations decides: one step in a pass, apart from those
// on the Node. The power is switched by an annotation of the claim only, so that the package
// knows neither hosts nor their BMCs. MachineHealthChecks make Metal3Remediations and delete
// them once the machine is healthy.
package remediation
