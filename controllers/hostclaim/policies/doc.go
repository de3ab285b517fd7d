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

// Package policies answers one question: does the author of a HostDeployPolicy
// know what it does?
//
// It tells, as warning events on the policy itself, of policies that are invalid
// and therefore skipped, that admit everybody, or that would admit other
// namespaces if their expression were not anchored. It admits nobody itself and
// writes nothing but events.
package policies
