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

// Package machine reconciles Metal3Machines. It observes a machine, its HostClaim, its
// data and its Node, lets baremetal/provider/machines decide what should be true next,
// carries that out with a few typed writes, and reports. It reads no BareMetalHost and
// binds none: the hostclaim manager does. Every wait ends by a watch; see watches.go.
//
// A pass is cut into parts, each with the clients that it needs: connector finds the
// cluster of the claim, claimClient reads and writes the claim and what lies next to it,
// bootstrapSteps, dataSteps and nodeSteps see to user data, data and Node. What they
// observe stands in the scope; what was decided and how the pass ended is the result,
// which report turns into conditions.
package machine
