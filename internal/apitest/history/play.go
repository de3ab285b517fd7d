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

package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Play plays schedules side by side, each as a subtest that has the name
// of its seed. One that fails is played again with -run '<test>/seed_<n>$'; the
// variable SCHEDULES of the environment asks for another number of them.
func Play(t *testing.T, schedules int, play func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	if wanted := os.Getenv("SCHEDULES"); wanted != "" {
		var err error
		if schedules, err = strconv.Atoi(wanted); err != nil {
			t.Fatalf("SCHEDULES: %v", err)
		}
	}
	for seed := range schedules {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			play(t, rand.New(rand.NewPCG(uint64(seed), 0)))
		})
	}
	t.Logf("%d schedules", schedules)
}
