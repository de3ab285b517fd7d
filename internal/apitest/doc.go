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

// Package apitest gives the tests of a package one real API server, for what can
// only be seen from inside that package: requests that fail, and caches that are
// behind. Stories that can be told from outside are in the module test instead.
//
// kube-apiserver and etcd are those of KUBEBUILDER_ASSETS, else of the dev
// cluster. They know the CRDs of this repository; the kinds of others that our
// controllers read are there without a schema. No controller of Kubernetes runs.
package apitest
