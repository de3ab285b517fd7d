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

// Package machines plans the next step of a Metal3Machine from what is observed of it,
// its HostClaim, its data and its Node. Next plans for a live machine, Release for one
// that is being deleted:
//
//	bootstrap secret -> claim -> bound -> facts -> data -> image -> provisioned -> provider ID -> Node
//
// The data is asked for as soon as a host is chosen, unless its template depends on the failure
// domain of the host.
//
// The package performs no IO and reads no clock. Both functions are total: any
// combination of facts has a plan, and the same facts always have the same one.
package machines
