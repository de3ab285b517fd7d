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

package nodes

import (
	"slices"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestMatch(t *testing.T) {
	const id, uid = "metal3://a/host-1/m", "uid-1"
	query := Query{ProviderID: id, HostUID: uid, Hostnames: []string{"host-1"}}
	withID := Node{Name: "n1", ProviderID: id}
	withUID := Node{Name: "n2", HostUID: uid}
	withName := Node{Name: "n3", Hostname: "host-1"}
	tests := map[string]struct {
		query      Query
		candidates []Node
		want       Result
	}{
		"finds nothing among no Nodes": {
			query: query, want: Result{Kind: None},
		},
		"finds nothing before the provider ID is known": {
			query: Query{HostUID: uid}, candidates: []Node{withUID}, want: Result{Kind: None},
		},
		"prefers the provider ID to everything else": {
			query: query, candidates: []Node{withName, withUID, withID}, want: Result{Kind: ByProviderID, Node: withID},
		},
		"prefers the UID of the host to the host name": {
			query: query, candidates: []Node{withName, withUID}, want: Result{Kind: ByHostUID, Node: withUID},
		},
		"falls back to the host name": {
			query: query, candidates: []Node{{Name: "other", Hostname: "host-2"}, withName}, want: Result{Kind: ByHostname, Node: withName},
		},
		"does not look at host names unless it is told to": {
			query: Query{ProviderID: id, HostUID: uid}, candidates: []Node{withName}, want: Result{Kind: None},
		},
		"does not take a Node of that host name which runs on another host": {
			query:      query,
			candidates: []Node{{Name: "n3", Hostname: "host-1", HostUID: "uid-2"}, {Name: "n4", Hostname: "host-1", ProviderID: "metal3://a/host-9/x"}},
			want:       Result{Kind: None},
		},
		"does not match an empty UID with Nodes without the label": {
			query: Query{ProviderID: id}, candidates: []Node{{Name: "n"}}, want: Result{Kind: None},
		},
		"is at a loss when two Nodes carry the provider ID": {
			query: query, candidates: []Node{withID, {Name: "n9", ProviderID: id}}, want: Result{Kind: Ambiguous},
		},
		"is at a loss when two Nodes carry the UID": {
			query: query, candidates: []Node{withUID, {Name: "n9", HostUID: uid}}, want: Result{Kind: Ambiguous},
		},
		"is at a loss when two Nodes have the host name": {
			query: query, candidates: []Node{withName, {Name: "n9", Hostname: "host-1"}}, want: Result{Kind: Ambiguous},
		},
		"does not mind to be given the same Node twice": {
			query: query, candidates: []Node{withID, withID}, want: Result{Kind: ByProviderID, Node: withID},
		},
		"leaves a Node on this host alone that carries another provider ID": {
			query:      query,
			candidates: []Node{{Name: "n2", HostUID: uid, ProviderID: "metal3://a/host-1/old"}},
			want:       Result{Kind: Taken, Node: Node{Name: "n2", HostUID: uid, ProviderID: "metal3://a/host-1/old"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tc.want, Match(tc.query, tc.candidates))
			reversed := slices.Clone(tc.candidates)
			slices.Reverse(reversed)
			expect.Equal(t, tc.want, Match(tc.query, reversed))
		})
	}
}

func TestFound(t *testing.T) {
	found := map[Kind]bool{
		Unknown: false, None: false, Ambiguous: false, Taken: false,
		ByProviderID: true, ByHostUID: true, ByHostname: true,
	}
	for kind, want := range found {
		got := (Result{Kind: kind}).Found()
		expect.That(t, got == want, "Found is %v for %q, want %v", got, kind, want)
	}
}
