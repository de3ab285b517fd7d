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

// Package drive reads what the config drive of a BareMetalHost would hold out of
// the secrets next to the host, the way baremetal-operator does when it starts to
// provision.
//
// Its inputs are a host and a reader of secrets, which must not be a cache: a
// drive is made once. It never looks into what it reads.
package drive
