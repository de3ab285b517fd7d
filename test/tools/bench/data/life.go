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

import (
	"slices"
	"time"
)

// life says when what happened to one Metal3DataClaim: it was about to be created,
// had a Metal3Data, that one had a claim on a pool, that one an address, and the
// Metal3Data was ready. All but the first are when a watch showed it.
type life struct {
	requested, made, asked, answered, ready time.Time
}

// inHand are the parts of a life in which the provider manager is to act, and the
// part in which ip-address-manager is.
func (l life) inHand() (provider [2][2]time.Time, pools [2]time.Time) {
	return [2][2]time.Time{{l.requested, l.asked}, {l.answered, l.ready}}, [2]time.Time{l.asked, l.answered}
}

// each takes one duration from every life.
func each(lives []life, from func(life) time.Duration) []time.Duration {
	out := make([]time.Duration, len(lives))
	for i, l := range lives {
		out[i] = from(l)
	}
	return out
}

// span is from the first claim on a pool to the last address.
func span(lives []life) time.Duration {
	if len(lives) == 0 {
		return 0
	}
	first := slices.MinFunc(lives, func(a, b life) int { return a.asked.Compare(b.asked) }).asked
	last := slices.MaxFunc(lives, func(a, b life) int { return a.answered.Compare(b.answered) }).answered
	return last.Sub(first)
}

// allWait is for how long every Metal3DataClaim that was there and not ready waited
// for an address: time that no provider manager could have saved.
func allWait(lives []life) time.Duration {
	type change struct {
		at              time.Time
		provider, pools int
	}
	var changes []change
	for _, l := range lives {
		provider, pools := l.inHand()
		for _, part := range provider {
			changes = append(changes, change{at: part[0], provider: 1}, change{at: part[1], provider: -1})
		}
		changes = append(changes, change{at: pools[0], pools: 1}, change{at: pools[1], pools: -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	var sum time.Duration
	provider, pools := 0, 0
	for i, c := range changes {
		if i > 0 && provider == 0 && pools > 0 {
			sum += c.at.Sub(changes[i-1].at)
		}
		provider, pools = provider+c.provider, pools+c.pools
	}
	return sum
}
