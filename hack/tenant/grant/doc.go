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

// Package grant computes the objects that let the management cluster of a tenant use the hosts of
// another cluster, and nothing else in it.
//
// Its inputs are the tenant, the way to the API server, and what exists in its namespaces; its
// results are what prevents the grant, objects for the cluster with the hosts, and a Secret with a
// kubeconfig for the tenant's own. It talks to no server: package onboard does.
package grant
