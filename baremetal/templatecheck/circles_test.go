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

package templatecheck

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestOnCircles compares the search, which meets each link once, with what circles
// are: a link is on one if the way down from it comes back to it.
func TestOnCircles(t *testing.T) {
	circles := 0
	for seed := range uint64(3000) {
		draw := rand.New(rand.NewPCG(seed, 2))
		links := 1 + draw.IntN(7)
		var below []reference
		for range draw.IntN(2 * links) {
			from, to := fmt.Sprint(draw.IntN(links)), fmt.Sprint(draw.IntN(links))
			below = append(below, reference{value{text: to}, from})
		}
		got := onCircles(below)
		for i := range links {
			link := fmt.Sprint(i)
			want := reaches(below, link, link, map[string]bool{})
			if got[link] != want {
				t.Fatalf("seed %d: %v: link %s is on a circle: %t, want %t", seed, below, link, got[link], want)
			}
			if want {
				circles++
			}
		}
	}
	if circles < 1000 {
		t.Errorf("%d links on circles were drawn: draw others", circles)
	}
}

// reaches reports whether the references below a link lead to another one.
func reaches(below []reference, from, to string, seen map[string]bool) bool {
	for _, r := range below {
		if r.from != from || seen[r.text] {
			continue
		}
		seen[r.text] = true
		if r.text == to || reaches(below, r.text, to, seen) {
			return true
		}
	}
	return false
}
