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

// Package claim reconciles HostClaims: it binds a claim to a BareMetalHost, keeps
// the two in step, and releases the host when the claim goes.
//
// It observes (caches, and live reads where a cache would not do), asks
// baremetal/hostclaim/policy, baremetal/hostclaim/selection and baremetal/hostclaim/binding, and carries out
// what they say. It decides nothing itself, trusts no status that it could not
// rebuild, and never writes a Secret that it did not make.
//
// A claim is woken by itself, its host, a host that becomes free, a policy, the
// labels of its namespace, a Secret, and its HardwareData; see watches.go.
// Nothing is polled.
package claim
