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

// Package workload plays the clusters that booted machines form. It decides
// whether a machine may found or join one, and serves each cluster's API and
// etcd on the cluster's own endpoint, on top of the in-memory API server and
// etcd of Cluster API's test module.
//
//	machine boots ─▶ Clusters.Boot ─▶ found or find the cluster of its endpoint
//	                                   check CA, token, name ─▶ Node, static pods, etcd member
//
// Its inputs are machines with what kubeadm would do on them. It checks what the
// real programs check (authorities, pins, tokens, names, client certificates).
// Deployments get their pods at once, and pods can be evicted as far as PodDisruptionBudgets let them.
// It never reads a BareMetalHost or a secret of the management cluster, and
// nothing survives the process: see Machine.Restored.
package workload
