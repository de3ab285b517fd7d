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

package program

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableShowsWhatWasMissed(t *testing.T) {
	var r Report
	r.Add("all bound", 12.345, "s", 60)
	r.Add("p99", 1.5, "s", 1)
	r.Add("explained", 0.01234, "s")
	var out strings.Builder
	if err := r.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	want := "FIGURE     MEASURED  TARGET  \n" +
		"all bound  12.3 s    60 s    \n" +
		"p99        1.5 s     1 s     missed\n" +
		"explained  0.0123 s          \n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQuantile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	tests := map[string]struct {
		samples []time.Duration
		part    float64
		want    time.Duration
	}{
		"is zero without samples":               {nil, 0.5, 0},
		"is the only sample":                    {[]time.Duration{7}, 0.99, 7},
		"is the middle":                         {[]time.Duration{3, 1, 2}, 0.5, 2},
		"leaves one of a hundred beyond itself": {hundred, 0.99, 99},
		"is the largest in the end":             {hundred, 1, 100},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Quantile(tc.samples, tc.part); got != tc.want {
				t.Errorf("Quantile() = %d, want %d", got, tc.want)
			}
		})
	}
}
