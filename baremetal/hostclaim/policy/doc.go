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

// Package policy answers three questions: does a HostDeployPolicy admit the
// namespace of a claim, what may an admitted claim of another namespace see and
// ask for, and is a policy itself valid?
//
// Its inputs are HostDeployPolicies and the name and labels of a namespace. It
// performs no IO, keeps nothing, and never lets an invalid policy admit
// anybody: such a policy is named in an error and skipped.
package policy
