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

// Package preflight waits until the cluster serves the kinds that a manager cannot do
// without.
//
// It takes a cluster, or a REST mapper of it, and the kinds, and names every CRD
// that is missing and what to do about it, so that a manager waits with one clear
// line instead of a cache that never syncs. It also logs what else of the install is not as it
// may be meant: CRDs that clusterctl move does not see, and rights in all namespaces. It never
// installs anything.
package preflight
