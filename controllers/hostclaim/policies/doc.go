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

// Package policies warns the author of a HostDeployPolicy of what it may not mean, and
// evaluates policies for the controller of claims (Evaluator).
//
// The controller emits warning events on the policy itself if the policy is invalid and therefore
// skipped, is one too many in its namespace, admits every namespace, has options that do not exist, or would admit other
// namespaces if its expression were not anchored. It admits no claim itself and writes
// nothing but events.
package policies
