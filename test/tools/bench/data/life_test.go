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
	"testing"
	"time"
)

func TestShareOfTheAddressManager(t *testing.T) {
	at := func(seconds ...int) life {
		times := make([]time.Time, len(seconds))
		for i, s := range seconds {
			times[i] = time.Unix(int64(s), 0)
		}
		return life{times[0], times[1], times[2], times[3], times[4]}
	}
	tests := map[string]struct {
		lives         []life
		span, allWait time.Duration
	}{
		"is nothing without machines":                     {nil, 0, 0},
		"is the wait of the only one":                     {[]life{at(0, 1, 2, 5, 6)}, 3 * time.Second, 3 * time.Second},
		"is not what passes while another one is at work": {[]life{at(0, 1, 2, 5, 6), at(0, 1, 4, 7, 8)}, 5 * time.Second, 2 * time.Second},
		"counts common waits once":                        {[]life{at(0, 1, 2, 5, 6), at(0, 1, 2, 5, 6)}, 3 * time.Second, 3 * time.Second},
		"goes on after some are ready":                    {[]life{at(0, 1, 2, 3, 4), at(0, 1, 2, 9, 10)}, 7 * time.Second, 6 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := poolSpan(tc.lives); got != tc.span {
				t.Errorf("poolSpan() = %s, want %s", got, tc.span)
			}
			if got := allWait(tc.lives); got != tc.allWait {
				t.Errorf("allWait() = %s, want %s", got, tc.allWait)
			}
		})
	}
}
