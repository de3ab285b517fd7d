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

// Package harness gives the tests of a package one real API server.
//
// The server is the kube-apiserver of the dev cluster with its etcd, or what
// KUBEBUILDER_ASSETS names, and knows every CRD that the two managers use. Each
// test takes a namespace of its own, so that tests run in parallel. Nothing here
// imitates an API server, and no controller of Kubernetes runs: owner references
// delete nothing, and a namespace that is deleted stays.
package harness
