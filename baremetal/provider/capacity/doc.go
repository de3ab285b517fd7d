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

// Package capacity computes the capacity that a Metal3MachineTemplate promises for its
// next machine, so that the cluster autoscaler can decide before the machine exists.
//
// It takes what the template's annotations say, what its machines have shown, what was
// promised before, and what other templates for the same servers promise. It promises
// nothing that a machine of the template did not have: of each resource the least
// counts, and a promise is not raised because a better server came or a lesser one went. It reads no object, and knows neither claims nor hosts.
package capacity
