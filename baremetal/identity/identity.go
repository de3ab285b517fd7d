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

// Package identity has what identifies the claim of a machine in another cluster: the record that
// is put on the machine before the first remote write, and the problems that conditions report
// about an identityRef and its connection.
//
// The record wins over the identityRefs of machine and cluster, and holds the origin: a random UUID
// by which the claim is found again, whatever the names of clusters, namespaces and
// machines. The package reads no Secret, opens no connection and makes no random
// number.
package identity

import (
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

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

// Of is the reference that an object of the namespace gives.
func Of(namespace string, ref *infrav1.IdentityReference) Ref {
	return Ref{Namespace: namespace, Secret: ref.Name, Context: ref.Context}
}
