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
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// holding is an index that a Metal3Data takes, and the UID of the claim that owns it; empty when no claim does.
type holding struct {
	Index int32
	Claim types.UID
}

// assignment is the index that a claim holds. Exists means that the Metal3Data of
// that index exists and is the claim's.
type assignment struct {
	Index  int32
	Exists bool
}

// dataName returns the name of the Metal3Data for an index of a template.
func dataName(template string, index int32) string {
	return template + "-" + strconv.Itoa(int(index))
}

// parseIndex reads the index from the name of a Metal3Data of the template. It
// returns false for every name that dataName would not have made.
func parseIndex(template, name string) (int32, bool) {
	digits, found := strings.CutPrefix(name, template+"-")
	if !found {
		return 0, false
	}
	index, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || index < 0 || dataName(template, int32(index)) != name {
		return 0, false
	}
	return int32(index), true
}

// reservedIndex returns the index that was reserved for a claim, by its status.
func reservedIndex(template string, claim *infrav1.Metal3DataClaim) (int32, bool) {
	return parseIndex(template, ptr.Deref(claim.Status.RenderedData, infrav1.Metal3ObjectRef{}).Name)
}

// assignIndexes gives each claim its index, oldest claim first, and returns them by the UID of the claim.
// What exists counts first, then what has been reserved, then the lowest that is free.
func assignIndexes(template string, existing []holding, claims []*infrav1.Metal3DataClaim) map[types.UID]assignment {
	claims = slices.SortedFunc(slices.Values(claims), older)
	used, owned := map[int32]bool{}, map[types.UID]int32{}
	for _, data := range existing {
		used[data.Index] = true
		if lowest, found := owned[data.Claim]; data.Claim != "" && (!found || data.Index < lowest) {
			owned[data.Claim] = data.Index
		}
	}
	assigned := make(map[types.UID]assignment, len(claims))
	var open []types.UID
	for _, claim := range claims {
		index, exists := owned[claim.UID]
		reserved, parsed := reservedIndex(template, claim)
		switch {
		case exists:
			assigned[claim.UID] = assignment{Index: index, Exists: true}
		case parsed && !used[reserved]:
			assigned[claim.UID], used[reserved] = assignment{Index: reserved}, true
		default:
			open = append(open, claim.UID)
		}
	}
	next := int32(0)
	for _, claim := range open {
		for used[next] {
			next++
		}
		assigned[claim], used[next] = assignment{Index: next}, true
	}
	return assigned
}

func older(a, b *infrav1.Metal3DataClaim) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
