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

// Package story has the steps of the demo as functions: register servers, let
// tenants in, create a cluster from our template, scale it, see who waits.
//
// Each step creates the objects that a user would, or waits for what shows that the step has
// worked. The demo shows the steps to a person, the end-to-end tests assert on them. A tenant's
// steps use the tenant's own credentials.
package story
