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

package model

import "math/rand/v2"

// Choices decide what happens next.
type Choices interface {
	// Intn returns a number from 0 to n-1; n is positive and below 65536.
	Intn(n int) int
	// Spent is whether nothing is left to choose from; the schedule then ends.
	Spent() bool
}

// seeded are choices without end.
type seeded struct {
	random *rand.Rand
}

// Seeded returns the choices of one schedule of a run.
func Seeded(seed uint64, schedule int) Choices {
	return &seeded{rand.New(rand.NewPCG(seed, uint64(schedule)))}
}

// Intn returns a number from 0 to n-1.
func (s *seeded) Intn(n int) int {
	return s.random.IntN(n)
}

// Spent is never true.
func (s *seeded) Spent() bool {
	return false
}

// bytes are the choices of a fuzzer.
type bytes struct {
	left []byte
}

// FromBytes returns choices that end with the bytes; what must be chosen later is
// the first of each.
func FromBytes(given []byte) Choices {
	return &bytes{left: given}
}

// Intn returns a number from 0 to n-1, from as many bytes as that takes.
func (b *bytes) Intn(n int) int {
	chosen := 0
	for room := 1; room < n; room *= 256 {
		if len(b.left) == 0 {
			return 0
		}
		chosen = chosen*256 + int(b.left[0])
		b.left = b.left[1:]
	}
	return chosen % n
}

// Spent reports whether the bytes are used up.
func (b *bytes) Spent() bool {
	return len(b.left) == 0
}

// chance is true once in n times.
func chance(c Choices, n int) bool {
	return c.Intn(n) == 0
}

// one returns one of several.
func one[T any](c Choices, of []T) T {
	return of[c.Intn(len(of))]
}
