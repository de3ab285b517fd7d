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

package check

import (
	"iter"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// circles finds links that rest on themselves, over however many others.
func circles(below []reference) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		circled := onCircles(below)
		for _, r := range below {
			if circled[r.text] && !yield(field.Invalid(r.path, r.text, "this link rests on itself: put it on another link")) {
				return
			}
		}
	}
}

// onCircles finds the links that rest on themselves.
func onCircles(below []reference) map[string]bool {
	s := search{on: map[string][]string{}, met: map[string]int{}, open: map[string]bool{}, circled: map[string]bool{}}
	for _, r := range below {
		s.on[r.from] = append(s.on[r.from], r.text)
	}
	for _, r := range below {
		if s.met[r.from] == 0 {
			s.visit(r.from)
		}
	}
	return s.circled
}

// search goes down from link to link, to each link once. Links that rest on each
// other stay open until the first of them that was met is left again: this is how
// Tarjan finds the strongly connected components of a graph.
type search struct {
	// on lists what each link rests on.
	on map[string][]string
	// met numbers the links as they are met, from 1.
	met map[string]int
	// trail has the links that are open, in the order in which they were met.
	trail []string
	open  map[string]bool
	// circled are the links that were found to rest on themselves.
	circled map[string]bool
}

// visit goes down from a link, and returns the number of the first open link that it
// comes back to, or that of the link itself.
func (s *search) visit(link string) int {
	number := len(s.met) + 1
	s.met[link] = number
	s.trail = append(s.trail, link)
	s.open[link] = true
	back, at := number, len(s.trail)-1
	for _, lower := range s.on[link] {
		switch {
		case lower == link:
			s.circled[link] = true
		case s.met[lower] == 0:
			back = min(back, s.visit(lower))
		case s.open[lower]:
			back = min(back, s.met[lower])
		}
	}
	if back == number {
		s.leave(at)
	}
	return back
}

// leave closes the links that were met from a place of the trail on. If they are
// several, they rest on each other.
func (s *search) leave(at int) {
	for _, link := range s.trail[at:] {
		s.open[link] = false
		s.circled[link] = s.circled[link] || len(s.trail)-at > 1
	}
	s.trail = s.trail[:at]
}
