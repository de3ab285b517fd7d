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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestTableShowsWhatWasMissed(t *testing.T) {
	var r Report
	r.Add("all bound", 12.345, "s", 60)
	r.Add("p99", 1.5, "s", 1)
	r.Add("explained", 0.01234, "s")
	var out strings.Builder
	expect.NoError(t, r.WriteTable(&out))
	want := "FIGURE     MEASURED  TARGET  \n" +
		"all bound  12.3 s    60 s    \n" +
		"p99        1.5 s     1 s     missed\n" +
		"explained  0.0123 s          \n"
	expect.Equal(t, want, out.String())
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
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Quantile(tc.samples, tc.part)) })
	}
}

func TestChanges(t *testing.T) {
	report := func(figures ...Figure) *Report {
		return &Report{Facts: map[string]string{"date": "2026-08-01", "machine": "m"}, Figures: figures}
	}
	tests := map[string]struct {
		before, now *Report
		want        []string
	}{
		"nothing has changed":             {report(Figure{Name: "a", Value: 3}), report(Figure{Name: "a", Value: 3}), nil},
		"a hundredth is no change":        {report(Figure{Name: "a", Value: 100}), report(Figure{Name: "a", Value: 101}), nil},
		"half of the requests are gone":   {report(Figure{Name: "a", Value: 130}), report(Figure{Name: "a", Value: 65}), []string{"a 130 65 -50 %"}},
		"what was zero has no percentage": {report(Figure{Name: "a"}), report(Figure{Name: "a", Value: 2, Unit: "s"}), []string{"a 0 2 s "}},
		"a new figure and one that left":  {report(Figure{Name: "a", Value: 1}), report(Figure{Name: "b", Value: 1}), []string{"b - 1 ", "a 1 - "}},
		"equal names below different ones": {
			report(Figure{Name: "x"}, Figure{Name: "  get", Value: 1}, Figure{Name: "y"}, Figure{Name: "  get", Value: 2}),
			report(Figure{Name: "x"}, Figure{Name: "  get", Value: 1}, Figure{Name: "y"}, Figure{Name: "  get", Value: 3}),
			[]string{"y, get 2 3 +50 %"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range tc.now.Changes(tc.before) {
				got = append(got, strings.Join([]string{c.Name, c.Before.text(), c.Now.text(), c.percent()}, " "))
			}
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestReportIsReadAsItWasWritten(t *testing.T) {
	r := &Report{Facts: map[string]string{"date": "2026-08-01"}}
	r.Add("requests", 130, "", 45)
	path := filepath.Join(t.TempDir(), "kept.json")
	out, err := os.Create(path)
	expect.NoError(t, err)
	expect.NoError(t, r.WriteJSON(out))
	expect.NoError(t, out.Close())
	got, err := ReadReport(path)
	expect.NoError(t, err)
	expect.Equal(t, r, got)
	expect.NoError(t, os.WriteFile(path, []byte("FIGURE"), 0o600))
	if _, err := ReadReport(path); err == nil {
		t.Error("a table was read as a report")
	}
}
