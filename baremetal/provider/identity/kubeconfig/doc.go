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

// Package kubeconfig decides whether a manager may use a kubeconfig that a tenant
// wrote, and resolves where a context of it leads.
//
// Tenants write kubeconfigs: those of their workload clusters and those of clusters
// with hosts for them. client-go does whatever a kubeconfig asks for: it reads
// files of the process, its own service-account token among them, and sends
// them to a server that the kubeconfig names; it runs programs. Only what is
// embedded is therefore accepted, and of that an Access holds all that a connection
// may be made of. The package parses and decides; it connects to nothing and reads
// no file.
package kubeconfig
