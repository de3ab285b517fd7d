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

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Run is many schedules of one seed.
type Run struct {
	// Config is that of each schedule.
	Config Config
	// Seed and Start choose the schedules: Start is the first.
	Seed  uint64
	Start int
	// Schedules is how many are played.
	Schedules int
}

// Result is what came of a run.
type Result struct {
	// Failed are the schedules that violated an invariant, by number.
	Failed map[int]*Violation
	// Counts are what was played, all schedules together.
	Counts map[string]int
}

// Play plays all schedules of the run, several at a time.
func (r Run) Play() Result {
	// Each schedule makes much garbage and keeps none of it.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	out := Result{Failed: map[int]*Violation{}, Counts: map[string]int{}}
	numbers := make(chan int)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for number := range numbers {
				w := r.One(number, false)
				mu.Lock()
				out.Add(number, w)
				mu.Unlock()
			}
		})
	}
	for i := range r.Schedules {
		numbers <- r.Start + i
	}
	close(numbers)
	workers.Wait()
	return out
}

// One plays one schedule of the run.
func (r Run) One(number int, trace bool) *World {
	config := r.Config
	config.Trace = config.Trace || trace
	return Play(config, Seeded(r.Seed, number))
}

// Add counts a schedule in.
func (r *Result) Add(number int, w *World) {
	if w.Failure != nil {
		r.Failed[number] = w.Failure
	}
	r.Counts["schedules"]++
	for what, n := range w.Counts {
		r.Counts[what] += n
	}
}

// Table is everything that was played, one kind a line.
func (r *Result) Table() string {
	var out strings.Builder
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&out, "%10d  %s\n", r.Counts[what], what)
	}
	return out.String()
}

// First returns the first failed schedule of each way to violate an invariant, and
// how often there was one.
func (r *Result) First() (first, times map[string]int) {
	first, times = map[string]int{}, map[string]int{}
	for _, number := range slices.Sorted(maps.Keys(r.Failed)) {
		way := r.Failed[number].Invariant + ": " + r.Failed[number].Rule
		if times[way]++; times[way] == 1 {
			first[way] = number
		}
	}
	return first, times
}

// Number reads a variable of the environment that chooses schedules; it is the other number
// where the variable is not set.
func Number(tb testing.TB, name string, otherwise uint64) uint64 {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return n
}
