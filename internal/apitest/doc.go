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

// Package apitest gives the tests of a package one real API server. The packages of
// the root module use it for what only their own tests can reach: requests that
// fail, and caches that are behind. The module test runs its suites on it, with the
// CRDs and the accounts that test/harness adds.
//
// kube-apiserver and etcd are those of KUBEBUILDER_ASSETS, else of the dev
// cluster. Each test takes a namespace of its own, so that tests run in parallel.
// No controller of Kubernetes runs: owner references delete nothing, and a namespace
// that is deleted stays.
package apitest
