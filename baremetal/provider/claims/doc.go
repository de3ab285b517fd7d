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

// Package claims computes the HostClaim that a Metal3Machine wants, as a whole object
// for server-side apply, and reads a HostClaim as the State of its machine's server, so
// that no other package has to know the conditions of a HostClaim.
// Inputs are plain values; the package performs no IO.
package claims
