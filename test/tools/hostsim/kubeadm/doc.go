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

// Package kubeadm answers what a machine will do when its boot commands run
// kubeadm: found a cluster, join one as control plane, or join one as worker,
// and under which name, labels, provider ID and credentials.
//
// Its input is a parsed cloud-config. It reads kubeadm's own configuration
// kinds, v1beta3 and v1beta4, and the certificates that are written for them.
// It talks to no cluster: whether a token exists or an endpoint answers is for
// the workload package to find out.
package kubeadm
