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
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// manySchedules and fewSchedules are played when nobody says how many: the
	// race detector makes each ten times as slow.
	steps = 250
)

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, found := os.LookupEnv(name)
	if !found || text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// without reads the features that are left out, separated by commas.
func without() []Feature {
	var out []Feature
	for name := range strings.SplitSeq(os.Getenv("WITHOUT"), ",") {
		out = append(out, Feature(name))
	}
	return out
}

func TestSchedules(t *testing.T) {
	run := Run{
		Seed:      number(t, "SEED", rand.Uint64()),
		Start:     int(number(t, "START", 0)),
		Schedules: int(number(t, "SCHEDULES", 10000)),
		Config:    Config{Steps: int(number(t, "STEPS", steps)), Without: without()},
	}
	t.Logf("SEED=%d START=%d SCHEDULES=%d", run.Seed, run.Start, run.Schedules)
	result := run.Play()
	t.Logf("\n%s", result.Table())
	first, times := result.First()
	for _, invariant := range slices.Sorted(maps.Keys(first)) {
		n := first[invariant]
		t.Errorf("%d of %d schedules violated %q\nreplay: SEED=%d START=%d SCHEDULES=1\n%s",
			times[invariant], run.Schedules, invariant, run.Seed, n, run.One(n, true).Report())
	}
}
