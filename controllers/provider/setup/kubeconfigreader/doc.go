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

// Package kubeconfigreader connects ClusterCache with workload clusters. It reads their
// kubeconfigs, which tenants write, withholds those that would make the manager read its
// own files, run programs, use a proxy or skip the checks of TLS, and hands out one that
// leads to a round tripper of this process:
//
//	Secret ─▶ kubeconfig.Access ─▶ transport.Transport
//	                                   ▲
//	ClusterCache ─▶ http.DefaultTransport, by the scheme of the URL in the kubeconfig
//
// So the requests of ClusterCache have the bounds of package transport, and the
// credentials reach neither client-go nor another server. The package never changes a
// Secret in the cluster.
package kubeconfigreader
