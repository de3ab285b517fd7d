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
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestPrefixes(t *testing.T) {
	for name, tc := range map[string]struct {
		list     string
		want     []string
		problems []string
	}{
		"none":          {},
		"one":           {list: "rack.example.com", want: []string{"rack.example.com"}},
		"spaces, twice": {list: " b.example, a.example ,,b.example", want: []string{"a.example", "b.example"}},
		"metal3's own":  {list: "foo.metal3.io", want: []string{"foo.metal3.io"}},
		"a look-alike":  {list: "notkubernetes.io", want: []string{"notkubernetes.io"}},
		"a whole key":   {list: "rack.example.com/row", problems: []string{"without a slash"}},
		"capitals":      {list: "Rack.example.com", problems: []string{"Rack.example.com"}},
		"roles":         {list: "node-role.kubernetes.io", problems: []string{`"node-role.kubernetes.io" is refused`}},
		"kubernetes.io": {list: "kubernetes.io", problems: []string{"refused"}},
		"k8s.io":        {list: "autoscaler.k8s.io", problems: []string{"refused"}},
		"Cluster API":   {list: "node.cluster.x-k8s.io", problems: []string{"refused"}},
		"all are told":  {list: "a/b,ok.example,node.kubernetes.io", problems: []string{`"a/b"`, "node.kubernetes.io"}},
		"a wild card":   {list: "*", problems: []string{`"*"`}},
		"too many": {
			list:     strings.Repeat("a.example,", 32) + "b.example",
			problems: []string{"there are 33 prefixes: list at most 32"},
		},
		"no domain part": {list: "rack", want: []string{"rack"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LabelPrefixes(tc.list)
			expect.Must(t, slices.Equal(got, tc.want) && (err != nil) == (len(tc.problems) > 0), "got %v, %v", got, err)
			for _, problem := range tc.problems {
				expect.That(t, strings.Contains(err.Error(), problem), "%q does not say %q", err, problem)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	prefixes := []string{"rack.example", "metal3.io"}
	for name, tc := range map[string]struct {
		server, node map[string]string
		want         map[string]*string
	}{
		"nothing": {},
		"new, changed and gone": {
			server: map[string]string{"rack.example/row": "7", "rack.example/unit": "2"},
			node:   map[string]string{"rack.example/row": "6", "rack.example/old": "", "kubernetes.io/os": "linux"},
			want:   map[string]*string{"rack.example/row": ptr.To("7"), "rack.example/unit": ptr.To("2"), "rack.example/old": nil},
		},
		"equal": {
			server: map[string]string{"rack.example/row": ""},
			node:   map[string]string{"rack.example/row": ""},
		},
		"an empty value is a value": {
			server: map[string]string{"rack.example/row": ""},
			want:   map[string]*string{"rack.example/row": ptr.To("")},
		},
		"other prefixes on both": {
			server: map[string]string{"row": "7", "other.example/row": "7", "sub.rack.example/row": "7"},
			node:   map[string]string{"column": "1", "other.example/column": "1"},
		},
		"what identifies the server": {
			server: map[string]string{"metal3.io/uuid": "another"},
			node:   map[string]string{"metal3.io/uuid": "this"},
		},
		"what no Node can carry": {
			server: map[string]string{"rack.example/row": "no value!", "rack.example/a/b": "7"},
			node:   map[string]string{"rack.example/row": "6"},
			want:   map[string]*string{"rack.example/row": nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := LabelChanges(prefixes, tc.server, tc.node)
			equal := func(a, b *string) bool { return ptr.Equal(a, b) }
			expect.That(t, maps.EqualFunc(got, tc.want, equal), "got %v, want %v", got, tc.want)
			for key, value := range got {
				if tc.node == nil {
					tc.node = map[string]string{}
				}
				if value == nil {
					delete(tc.node, key)
				} else {
					tc.node[key] = *value
				}
			}
			again := LabelChanges(prefixes, tc.server, tc.node)
			expect.That(t, again == nil, "after the changes there are more: %v", again)
		})
	}
}

func TestUnpublished(t *testing.T) {
	server := map[string]string{"a.example/x": "1", "row": "2", "c.example": "3"}
	got := UnpublishedPrefixes([]string{"a.example", "b.example", "c.example"}, server)
	expect.That(t, slices.Equal(got, []string{"b.example", "c.example"}), "got %v", got)
}
