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

// Package nodes relates the Nodes of a workload cluster to the machines of this provider: their
// provider IDs, which Node runs on the server of a machine, and which labels of the server it carries.
package nodes

import "slices"

// Query is what is known about the Node that a machine should have.
type Query struct {
	// ProviderID is the provider ID of the machine.
	ProviderID string
	// HostUID is the UID of the bound host; empty when it is not known.
	HostUID string
	// Hostnames are the names under which the Node may have registered. Empty
	// unless nothing better can be expected of the Node: a host name may be
	// shared, a provider ID or UID may not.
	Hostnames []string
}

// Node is what Match needs to know of a Node.
type Node struct {
	// Name of the Node.
	Name string
	// ProviderID is spec.providerID; empty until the kubelet, a cloud provider or this provider sets it.
	ProviderID string
	// HostUID is the label with the UID of the host; empty without the label.
	HostUID string
	// Hostname is the label kubernetes.io/hostname.
	Hostname string
	// Labels are all labels of the Node that may be those of its server.
	Labels map[string]string
}

// Patch is what a Node lacks. Empty fields are left as they are.
type Patch struct {
	// Node is the name of the Node.
	Node string
	// ProviderID is the value for spec.providerID.
	ProviderID string
	// HostUID is the value for the label with the UID of the host.
	HostUID string
	// Labels are the labels to be set, and nil for those to be removed.
	Labels map[string]*string
}

// Kind is how a Node was found, or why none was.
type Kind string

const (
	// Unknown means that no Node was looked for, since the workload cluster cannot
	// be reached or the machine is not ready for it. It is the zero value.
	Unknown Kind = ""
	// None means that no Node fits yet.
	None Kind = "None"
	// ByProviderID means that one Node carries the provider ID.
	ByProviderID Kind = "ByProviderID"
	// ByHostUID means that one Node without provider ID carries the UID of the host.
	ByHostUID Kind = "ByHostUID"
	// ByHostname means that one Node without provider ID has the host name.
	ByHostname Kind = "ByHostname"
	// Ambiguous means that several Nodes fit equally well.
	Ambiguous Kind = "Ambiguous"
	// Taken means that the Node on this host carries another provider ID.
	Taken Kind = "Taken"
)

// Result is the answer of Match.
type Result struct {
	// Kind is how the Node was found, or why none was.
	Kind Kind
	// Node is the Node found, or with Taken the Node in question; empty otherwise.
	Node Node
}

// Found reports whether the Node of the machine is known.
func (r Result) Found() bool {
	return r.Kind == ByProviderID || r.Kind == ByHostUID || r.Kind == ByHostname
}

// Match finds the Node of a machine among candidates of which some may fit nothing: by its provider
// ID, else by the UID of the host, else by its host name. It finds no Node rather than a wrong one.
func Match(q Query, candidates []Node) Result {
	if q.ProviderID == "" {
		return Result{Kind: None}
	}
	if r := only(ByProviderID, candidates, func(n Node) bool { return n.ProviderID == q.ProviderID }); r.Kind != None {
		return r
	}
	if r := only(ByHostUID, candidates, func(n Node) bool { return q.HostUID != "" && n.HostUID == q.HostUID }); r.Kind != None {
		if r.Kind == ByHostUID && r.Node.ProviderID != "" { // it is that of another machine
			r.Kind = Taken
		}
		return r
	}
	return only(ByHostname, candidates, func(n Node) bool {
		// A Node that names its host or its machine would have been found above if it were
		// ours.
		return n.ProviderID == "" && n.HostUID == "" && slices.Contains(q.Hostnames, n.Hostname)
	})
}

// only returns the one candidate that fits.
func only(kind Kind, candidates []Node, fits func(Node) bool) Result {
	r := Result{Kind: None}
	for _, n := range candidates {
		if !fits(n) {
			continue
		}
		if r.Kind != None && r.Node.Name != n.Name {
			return Result{Kind: Ambiguous}
		}
		r = Result{Kind: kind, Node: n}
	}
	return r
}
