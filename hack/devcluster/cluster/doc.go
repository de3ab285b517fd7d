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

// Package cluster runs a bare control plane: etcd, kube-apiserver and
// kube-controller-manager on loopback ports, with RBAC.
//
// It begins with an empty etcd in its state folder and keeps there the keys, the
// kubeconfigs and the logs. Service accounts work as in life: tokens by
// TokenRequest, garbage collection, namespace deletion and aggregated roles by
// the controller manager. There are no nodes, pods or services.
package cluster
