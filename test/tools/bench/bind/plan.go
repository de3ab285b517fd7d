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

package main

import "time"

// plan says how much of everything is measured.
type plan struct {
	// pools are sizes of the pool at which claims are bound one by one, and
	// sequential is how many are bound, explained how many find nothing.
	pools                 []int
	sequential, explained int
	// crowdClaims come at once when crowdHosts are free.
	crowdHosts, crowdClaims int
	// late hosts become free under waiting claims, one each lateEvery; then as many
	// again all together.
	late      int
	lateEvery time.Duration
	// idle is how long nothing happens.
	idle time.Duration
	// quiet is how long nothing must happen before a part is taken to be over, and
	// patience how long any one thing is waited for.
	quiet, patience time.Duration
}

// plans are what --size chooses from. Pools are in ascending order; the crowd comes
// before the last one.
var plans = map[string]plan{
	"full": {
		pools: []int{100, 1000, 10000}, sequential: 50, explained: 20, crowdHosts: 2000, crowdClaims: 1000,
		late: 200, lateEvery: 500 * time.Millisecond, idle: 10 * time.Minute, quiet: time.Second, patience: 10 * time.Minute,
	},
	"medium": {
		pools: []int{100, 1000}, sequential: 50, explained: 20, crowdHosts: 400, crowdClaims: 200,
		late: 50, lateEvery: 200 * time.Millisecond, idle: 10 * time.Second, quiet: time.Second, patience: 10 * time.Minute,
	},
	"small": {
		pools: []int{10, 60}, sequential: 3, explained: 2, crowdHosts: 20, crowdClaims: 10,
		late: 3, lateEvery: 10 * time.Millisecond, idle: time.Second, quiet: 200 * time.Millisecond, patience: time.Minute,
	},
}
