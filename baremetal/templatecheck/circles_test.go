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
	"slices"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestCircles compares the search, which follows each reference once, with what circles
// are: there is one if the way down from a link comes back to it.
func TestCircles(t *testing.T) {
	drawn := map[bool]int{}
	for seed := range uint64(3000) {
		draw := rand.New(rand.NewPCG(seed, 2))
		links := 1 + draw.IntN(7)
		var below []reference
		for range draw.IntN(2 * links) {
			from, to := fmt.Sprint(draw.IntN(links)), fmt.Sprint(draw.IntN(links))
			below = append(below, reference{value{text: to}, from})
		}
		want := false
		for i := range links {
			want = want || reaches(below, fmt.Sprint(i), fmt.Sprint(i), map[string]bool{})
		}
		found := slices.Collect(circles(below))
		expect.Must(t, (len(found) > 0) == want, "seed %d: %v: found %v, want a circle: %t", seed, below, found, want)
		for _, problem := range found {
			link := fmt.Sprint(problem.BadValue)
			expect.Must(t, reaches(below, link, link, map[string]bool{}), "seed %d: %v: link %s is on no circle", seed, below, link)
		}
		drawn[want]++
	}
	expect.That(t, drawn[true] >= 500 && drawn[false] >= 500, "circles were drawn, and none: %v: draw others", drawn)
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
