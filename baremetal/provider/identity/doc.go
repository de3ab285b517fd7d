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

// Package identity decides which cluster holds the claim of a machine, and by which
// credentials it is reached. Its inputs are the identityRefs of machine and
// cluster, what was recorded on the machine before the first remote write, and
// where the credentials lead now.
//
// The record wins over both references, and holds the origin: a random UUID by
// which the claim is found again, whatever the names of clusters, namespaces and
// machines. The package reads no Secret, opens no connection and makes no random
// number.
package identity
