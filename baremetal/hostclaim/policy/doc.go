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

// Package policy decides which namespaces a HostDeployPolicy admits, what an admitted
// claim of another namespace may see and ask for, and whether the policy is valid.
//
// Its inputs are HostDeployPolicies and the name and labels of a namespace. It
// performs no IO and keeps no state. An invalid policy never admits a claim: it is
// named in an error and skipped.
package policy
