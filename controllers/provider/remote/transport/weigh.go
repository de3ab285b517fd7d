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

package transport

const (
	// itemWeight is what an item of a list adds to its bytes. An empty one has two, and
	// takes a whole HostClaim in memory, about twice while the list grows.
	itemWeight = 2 << 10
	// objectWeight is what any other object adds, or a null, which may stand for one.
	objectWeight = 256
	// commaWeight is what every further value adds: an empty string, an entry of a map.
	commaWeight = 16
	// maxTopString is how long a string may be that is no deeper than topDepth, where a
	// list, an object and an event have their kinds: errors of client-go repeat them.
	maxTopString = 4 << 10
	topDepth     = 2
)

// scale weighs JSON by about the memory that it takes once it is decoded: a few bytes
// can become a large object. The zero value is at the beginning of a text.
type scale struct {
	depth  int
	list   bool // in an array of the outermost object
	items  int  // of such arrays
	quoted bool
	escape bool
	length int   // of the string, so far
	wordy  bool  // a string of the outer objects was longer than maxTopString
	ended  bool  // an outermost object
	since  int64 // the weight since an outermost object ended
	outer  int64 // that part of it which is in no list
}

// weigh returns the weight of the next part of the text.
func (s *scale) weigh(part []byte) int64 {
	var sum int64
	for _, b := range part {
		listed, added := s.list, int64(1)
		if s.quoted {
			s.inString(b)
		} else {
			added += s.token(b)
		}
		sum += added
		if !listed && !s.list {
			s.outer += added
		}
		if s.ended {
			s.ended, s.outer = false, 0
			s.since = -sum // so that it is what follows, below
		}
	}
	s.since += sum
	return sum
}

// token returns what a character outside of strings adds to its byte.
func (s *scale) token(b byte) (weight int64) {
	switch b {
	case '"':
		s.quoted, s.length = true, 0
	case '{':
		weight = s.value()
		s.depth++
	case '[':
		s.list = s.list || s.depth == 1
		weight = commaWeight
		s.depth++
	case '}', ']':
		s.depth--
		s.list = s.list && s.depth > 1
		s.ended = s.depth <= 0
	case 'n': // of null; no other word has it first or later
		weight = s.value()
	case ',':
		weight = commaWeight
	}
	return weight
}

func (s *scale) inString(b byte) {
	s.length++
	s.wordy = s.wordy || s.length > maxTopString && s.depth <= topDepth
	switch {
	case s.escape:
		s.escape = false
	case b == '\\':
		s.escape = true
	case b == '"':
		s.quoted = false
	}
}

// value is the weight of an object that begins here.
func (s *scale) value() int64 {
	if s.list && s.depth == 2 {
		s.items++
		return itemWeight
	}
	return objectWeight
}

// Weigh returns the weight of a text.
func Weigh(text []byte) int64 {
	return (&scale{}).weigh(text)
}
