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

package indexes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Claim is a Metal3DataClaim on the template.
type Claim struct {
	// UID and Name identify the claim.
	UID  types.UID
	Name string
	// Created is when the claim was made; the oldest claim is served first.
	Created time.Time
	// Rendered is the name of the Metal3Data in the status of the claim: the
	// index that was reserved for it. Empty when none was, or when it was lost.
	Rendered string
}

// Data is a Metal3Data of the template.
type Data struct {
	// Index is the index that it takes.
	Index int32
	// Claim is the UID of the claim that owns it; empty when no claim does.
	Claim types.UID
}

// Assignment is the index that a claim holds.
type Assignment struct {
	// Claim is the UID of the claim.
	Claim types.UID
	// Index is its index.
	Index int32
	// Exists says that the Metal3Data of that index exists and is the claim's.
	Exists bool
}

// Name returns the name of the Metal3Data for an index of a template.
func Name(template string, index int32) string {
	return template + "-" + strconv.Itoa(int(index))
}

// Parse reads the index from the name of a Metal3Data of the template. It
// returns false for every name that Name would not have made.
func Parse(template, name string) (int32, bool) {
	digits, found := strings.CutPrefix(name, template+"-")
	if !found {
		return 0, false
	}
	index, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || index < 0 || Name(template, int32(index)) != name {
		return 0, false
	}
	return int32(index), true
}

// Allocate gives each claim its index, oldest claim first. What exists counts
// first, then what has been reserved, then what is free.
func Allocate(template string, existing []Data, claims []Claim) []Assignment {
	claims = slices.SortedFunc(slices.Values(claims), older)
	used := map[int32]bool{}
	owned := map[types.UID]int32{}
	for _, data := range existing {
		used[data.Index] = true
		if lowest, found := owned[data.Claim]; data.Claim != "" && (!found || data.Index < lowest) {
			owned[data.Claim] = data.Index
		}
	}
	assignments := make([]Assignment, len(claims))
	var open []int
	for i, claim := range claims {
		assignments[i].Claim = claim.UID
		index, exists := owned[claim.UID]
		reserved, parsed := Parse(template, claim.Rendered)
		switch {
		case exists:
			assignments[i].Index, assignments[i].Exists = index, true
		case parsed && !used[reserved]:
			assignments[i].Index, used[reserved] = reserved, true
		default:
			open = append(open, i)
		}
	}
	next := int32(0)
	for _, i := range open {
		for used[next] {
			next++
		}
		assignments[i].Index, used[next] = next, true
	}
	return assignments
}

func older(a, b Claim) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}
