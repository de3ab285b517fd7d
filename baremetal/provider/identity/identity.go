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

package identity

// Ref names credentials: one context of a kubeconfig in a Secret.
type Ref struct {
	// Namespace and Secret name the Secret, which has the key kubeconfig. The
	// namespace is that of the object with the identityRef.
	Namespace, Secret string
	// Context of the kubeconfig; empty means its current context.
	Context string
}

// Target is where credentials lead: one namespace of one cluster.
type Target struct {
	// Server is the URL of the API server.
	Server string `json:"server"`
	// CAHash is the hex SHA-256 of the certificate authorities in PEM; empty
	// where those of the system are trusted.
	CAHash string `json:"caHash,omitempty"`
	// Namespace in which the claims live.
	Namespace string `json:"namespace"`
}
