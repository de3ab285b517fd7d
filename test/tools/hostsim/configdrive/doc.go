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

// Package configdrive answers what the config drive of a BareMetalHost holds:
// which secrets and keys baremetal-operator would read for it, and what it makes
// of their content.
//
// Its inputs are a host and the data of its secrets. It never reads a secret
// itself, and never looks into the user data, which baremetal-operator hands
// through as it is.
package configdrive
