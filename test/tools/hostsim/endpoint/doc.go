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

// Package endpoint answers the network side of one workload cluster: who may
// talk to its API server and to which of its etcd members, on the address that
// the cluster's control plane endpoint names.
//
// Its inputs are that address, the cluster's authorities, and the two handlers
// that know the content. It holds no cluster object and decides nothing about
// machines.
package endpoint
