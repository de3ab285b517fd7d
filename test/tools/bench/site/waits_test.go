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

package site

import (
	"math"
	"testing"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestQuantileOfWaits(t *testing.T) {
	limits := []float64{0.1, 1, 10, math.Inf(1)}
	for name, tt := range map[string]struct {
		before, now []float64
		part        float64
		want        time.Duration
	}{
		"without waits":                 {now: []float64{0, 0, 0, 0}, part: 0.99},
		"in the first bucket":           {now: []float64{10, 10, 10, 10}, part: 0.5, want: 50 * time.Millisecond},
		"between two limits":            {now: []float64{0, 10, 10, 10}, part: 0.5, want: 550 * time.Millisecond},
		"at a limit":                    {now: []float64{5, 10, 10, 10}, part: 0.5, want: 100 * time.Millisecond},
		"past empty buckets":            {now: []float64{5, 5, 10, 10}, part: 1, want: 10 * time.Second},
		"longer than the last limit":    {now: []float64{0, 0, 0, 10}, part: 0.5, want: 10 * time.Second},
		"without those of earlier work": {before: []float64{0, 0, 90, 90}, now: []float64{10, 10, 100, 100}, part: 1, want: 100 * time.Millisecond},
	} {
		w := Waits{limits: limits, counts: tt.now}.Since(Waits{limits: limits, counts: tt.before})
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, w.Quantile(tt.part)) })
	}
}
