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

// Package capie2e plays the end-to-end specs of Cluster API itself (sigs.k8s.io/cluster-api/test/e2e) with this
// provider, on a dev cluster that the suite starts, or on a kind cluster.
//
// The specs, their framework, the form of the configuration and of the artifacts are Cluster API's. The suite
// gives them a management cluster, servers, and the rights that a namespace needs in the hardened install. It is
// a module of its own because Cluster API's test module brings Ginkgo, kind and a container client along.
package capie2e
