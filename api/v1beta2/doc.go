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

// Package v1beta2 holds the kinds of API group infrastructure.cluster.x-k8s.io
// in version v1beta2: what users write about clusters, machines and host data,
// and what the provider reports back.
//
// Fields, names and condition types are those of the public Cluster API
// provider Metal3, so that existing manifests keep working. The package holds
// types, constants and accessors only: it reads no cluster and decides nothing.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta2
