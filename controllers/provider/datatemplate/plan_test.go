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

package datatemplate

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func claim(name string, minutes int, rendered string) *infrav1.Metal3DataClaim {
	c := &infrav1.Metal3DataClaim{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID("uid-" + name), Name: name, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)),
	}}
	if rendered != "" {
		c.Status.RenderedData = &infrav1.Metal3ObjectRef{Name: rendered}
	}
	return c
}

func TestAssignIndexes(t *testing.T) {
	tests := map[string]struct {
		existing []holding
		claims   []*infrav1.Metal3DataClaim
		want     map[types.UID]assignment
	}{
		"no claim, no index": {want: map[types.UID]assignment{}},
		"the oldest claim gets the lowest index, whatever the order of the list": {
			claims: []*infrav1.Metal3DataClaim{claim("b", 2, ""), claim("a", 1, "")},
			want:   map[types.UID]assignment{"uid-a": {Index: 0}, "uid-b": {Index: 1}},
		},
		"claims of the same age are served by name": {
			claims: []*infrav1.Metal3DataClaim{claim("b", 0, ""), claim("a", 0, "")},
			want:   map[types.UID]assignment{"uid-a": {Index: 0}, "uid-b": {Index: 1}},
		},
		"a gap is filled before a higher index is used": {
			existing: []holding{{Index: 0, Claim: "uid-a"}, {Index: 2, Claim: "uid-c"}},
			claims:   []*infrav1.Metal3DataClaim{claim("a", 0, "t-0"), claim("c", 1, "t-2"), claim("d", 2, "")},
			want: map[types.UID]assignment{
				"uid-a": {Index: 0, Exists: true}, "uid-c": {Index: 2, Exists: true}, "uid-d": {Index: 1},
			},
		},
		"an index whose claim is gone stays taken until its data is gone": {
			existing: []holding{{Index: 0, Claim: "uid-gone"}, {Index: 1}},
			claims:   []*infrav1.Metal3DataClaim{claim("a", 0, "")},
			want:     map[types.UID]assignment{"uid-a": {Index: 2}},
		},
		"a claim that lost its status finds its data again": {
			existing: []holding{{Index: 7, Claim: "uid-a"}},
			claims:   []*infrav1.Metal3DataClaim{claim("a", 0, "")},
			want:     map[types.UID]assignment{"uid-a": {Index: 7, Exists: true}},
		},
		"what exists counts more than what the status says": {
			existing: []holding{{Index: 7, Claim: "uid-a"}, {Index: 9, Claim: "uid-a"}},
			claims:   []*infrav1.Metal3DataClaim{claim("a", 0, "t-3")},
			want:     map[types.UID]assignment{"uid-a": {Index: 7, Exists: true}},
		},
		"a reserved index is kept until its data exists": {
			claims: []*infrav1.Metal3DataClaim{claim("a", 0, ""), claim("b", 1, "t-0")},
			want:   map[types.UID]assignment{"uid-a": {Index: 1}, "uid-b": {Index: 0}},
		},
		"a reserved index that another claim took is given up": {
			existing: []holding{{Index: 0, Claim: "uid-x"}},
			claims:   []*infrav1.Metal3DataClaim{claim("b", 1, "t-0")},
			want:     map[types.UID]assignment{"uid-b": {Index: 1}},
		},
		"of two that reserved one index the older keeps it": {
			claims: []*infrav1.Metal3DataClaim{claim("b", 1, "t-0"), claim("a", 0, "t-0")},
			want:   map[types.UID]assignment{"uid-a": {Index: 0}, "uid-b": {Index: 1}},
		},
		"a name of another template reserves nothing": {
			claims: []*infrav1.Metal3DataClaim{claim("a", 0, "other-5")},
			want:   map[types.UID]assignment{"uid-a": {Index: 0}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, assignIndexes("t", tc.existing, tc.claims)) })
	}
}

// TestAssignIndexesProperties checks, on random states, what must hold for all.
func TestAssignIndexesProperties(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		existing, claims := randomState(random)
		got := assignIndexes("t", existing, claims)
		seen := map[int32]types.UID{}
		for _, data := range existing {
			seen[data.Index] = data.Claim
		}
		highest := len(existing) + len(claims)
		for claim, a := range got {
			if holder, taken := seen[a.Index]; taken && holder != claim {
				t.Fatalf("seed %d: index %d goes to %s and %s", seed, a.Index, holder, claim)
			}
			if _, taken := seen[a.Index]; taken != a.Exists {
				t.Fatalf("seed %d: %+v, but its data exists: %v", seed, a, taken)
			}
			seen[a.Index] = claim
			if !a.Exists && int(a.Index) >= highest && !reservedBy(claims, claim, a.Index) {
				t.Fatalf("seed %d: index %d is not the lowest that is free", seed, a.Index)
			}
		}
		if len(got) != len(claims) {
			t.Fatalf("seed %d: %d claims got %d indexes", seed, len(claims), len(got))
		}
		random.Shuffle(len(existing), func(i, j int) { existing[i], existing[j] = existing[j], existing[i] })
		random.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		if diff := cmp.Diff(got, assignIndexes("t", existing, claims)); diff != "" {
			t.Fatalf("seed %d: the order of the input matters:\n%s", seed, diff)
		}
	}
}

func TestThereIsNoLastIndex(t *testing.T) {
	const many = 20000
	claims := make([]*infrav1.Metal3DataClaim, many)
	for i := range claims {
		claims[i] = claim(strconv.Itoa(i), i, "")
	}
	got := assignIndexes("t", nil, claims)
	if last := got[claims[many-1].UID]; last != (assignment{Index: many - 1}) {
		t.Errorf("the last of %d claims got %+v", many, last)
	}
}

func reservedBy(claims []*infrav1.Metal3DataClaim, by types.UID, index int32) bool {
	return slices.ContainsFunc(claims, func(c *infrav1.Metal3DataClaim) bool {
		reserved, found := reservedIndex("t", c)
		return c.UID == by && found && reserved == index
	})
}

func randomState(random *rand.Rand) ([]holding, []*infrav1.Metal3DataClaim) {
	var claims []*infrav1.Metal3DataClaim
	for i := range random.IntN(12) {
		age, rendered := random.IntN(4), ""
		if random.IntN(3) == 0 {
			rendered = dataName("t", random.Int32N(15))
		}
		claims = append(claims, claim("c"+strconv.Itoa(i), age, rendered))
	}
	var existing []holding
	for index := range int32(15) {
		switch random.IntN(4) {
		case 0:
			existing = append(existing, holding{Index: index, Claim: types.UID("uid-c" + strconv.Itoa(random.IntN(14)))})
		case 1:
			existing = append(existing, holding{Index: index})
		}
	}
	return existing, claims
}

func TestParseIndex(t *testing.T) {
	tests := map[string]struct {
		name  string
		index int32
		ok    bool
	}{
		"a name with an index":         {name: "t-12", index: 12, ok: true},
		"the name of another template": {name: "u-12"},
		"no index":                     {name: "t-"},
		"a leading zero":               {name: "t-01"},
		"a negative index":             {name: "t--1"},
		"a longer template name":       {name: "t-a-1"},
		"an index out of range":        {name: "t-99999999999"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if index, ok := parseIndex("t", tc.name); index != tc.index || ok != tc.ok {
				t.Errorf("got %d, %v", index, ok)
			}
		})
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add("t-1")
	f.Add("t--0")
	f.Fuzz(func(t *testing.T, name string) {
		if index, ok := parseIndex("t", name); ok && dataName("t", index) != name {
			t.Errorf("%q is read as %d", name, index)
		}
	})
}
