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

// Package identity decides which cluster holds the claim of a machine, and by which
// credentials it is reached. Its inputs are the identityRefs of machine and
// cluster, what was recorded on the machine before the first remote write, and
// where the credentials lead now.
//
// The record wins over both references, and holds the origin: a random UUID by
// which the claim is found again, whatever the names of clusters, namespaces and
// machines. The package reads no Secret, opens no connection and makes no random
// number.
package identity

import (
	"fmt"

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

// Requested is what is asked for, and what a machine without a record has already.
type Requested struct {
	// Machine and Cluster are the identityRefs of Metal3Machine and Metal3Cluster;
	// nil where there is none.
	Machine, Cluster *infrav1.IdentityReference
	// HasLocalClaim is set if the machine has a claim in its own namespace, or has
	// become a server that came from one. It keeps that.
	HasLocalClaim bool
}

// Answer is where the claim of a machine lives.
type Answer struct {
	// Remote is set if it lives in another cluster.
	Remote bool
	// Ref are the credentials for that cluster; also those that a machine is asked to use
	// which keeps its claim in this one.
	Ref Ref
	// Note is a message about what is asked for now and is not in effect; empty
	// when they are the same.
	Note string
}

// Resolve decides which credentials are in effect for a machine of the namespace.
// What was recorded wins, then the machine's own reference, then that of its
// Metal3Cluster. The record is nil when there is none.
func Resolve(namespace string, record *Record, w Requested) Answer {
	asked := w.Machine
	if asked == nil {
		asked = w.Cluster
	}
	switch {
	case record != nil:
		return Answer{Remote: true, Ref: record.Ref(namespace), Note: recordedNote(*record, asked)}
	case asked == nil:
		return Answer{}
	case w.HasLocalClaim:
		return Answer{Ref: Of(namespace, asked), Note: fmt.Sprintf("This machine keeps its HostClaim and its server in this cluster; "+
			"the identityRef to Secret %q counts for new machines only", asked.Name)}
	default:
		return Answer{Remote: true, Ref: Of(namespace, asked)}
	}
}

// Of is the reference that an object of the namespace gives.
func Of(namespace string, ref *infrav1.IdentityReference) Ref {
	return Ref{Namespace: namespace, Secret: ref.Name, Context: ref.Context}
}

// recordedNote returns the note for a record that differs from what is asked for now, or that
// leads to a claim which was made without it; empty for any other.
func recordedNote(r Record, asked *infrav1.IdentityReference) string {
	switch {
	case asked != nil && asked.Name == r.Secret && asked.Context == r.Context && r.Claim != "":
		return fmt.Sprintf("HostClaim %q stays where it is when this machine is moved", r.Claim)
	case asked != nil && asked.Name == r.Secret && asked.Context == r.Context:
		return ""
	}
	return fmt.Sprintf("This machine keeps Secret %q, by which its HostClaim was made; "+
		"another identityRef counts for new machines only", r.Secret)
}
