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
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// Figure is one measured number.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Target is the most that is wanted; nil where nothing is promised.
	Target *float64 `json:"target,omitempty"`
}

// Met reports whether the figure keeps its promise; true where there is none.
func (f Figure) Met() bool {
	return f.Target == nil || f.Value <= *f.Target
}

// Report is what one run has measured.
type Report struct {
	// Facts are where and on what it was measured.
	Facts map[string]string `json:"facts"`
	// Figures stand in the order in which they were added.
	Figures []Figure `json:"figures"`
}

// Add notes a figure, which is to be no more than its target if it has one.
func (r *Report) Add(name string, value float64, unit string, target ...float64) {
	f := Figure{Name: name, Value: value, Unit: unit}
	if len(target) > 0 {
		f.Target = &target[0]
	}
	r.Figures = append(r.Figures, f)
}

// AddTimes notes the median of some durations, which it returns, and their 99th
// percentile with its target, in seconds or in milliseconds.
func (r *Report) AddTimes(name string, took []time.Duration, unit time.Duration, target ...float64) float64 {
	text := map[time.Duration]string{time.Second: "s", time.Millisecond: "ms"}[unit]
	median := float64(Quantile(took, 0.5)) / float64(unit)
	r.Add(name+", median", median, text)
	r.Add(name+", p99", float64(Quantile(took, 0.99))/float64(unit), text, target...)
	return median
}

// AddRequests notes how many requests were made for each of something.
func (r *Report) AddRequests(name string, each map[string]float64, sum float64) {
	r.Add("  "+name, sum, "")
	for _, request := range slices.Sorted(maps.Keys(each)) {
		r.Add("    "+request, each[request], "")
	}
}

// AddPasses notes the passes of each controller, for each of a number of things.
func (r *Report) AddPasses(work site.Work, number int, unit string) {
	for _, controller := range slices.Sorted(maps.Keys(work.Passes)) {
		if passes := work.PassesOf(controller); passes > 0 {
			r.Add("      of "+controller, passes/float64(number), unit)
		}
	}
}

// WriteTable prints one line for each figure.
func (r *Report) WriteTable(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tMEASURED\tTARGET\t")
	for _, f := range r.Figures {
		target, verdict := "", ""
		if f.Target != nil {
			target = number(*f.Target) + " " + f.Unit
			if !f.Met() {
				verdict = "missed"
			}
		}
		fmt.Fprintf(table, "%s\t%s %s\t%s\t%s\n", f.Name, number(f.Value), f.Unit, target, verdict)
	}
	return table.Flush()
}

// WriteJSON prints everything.
func (r *Report) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// number prints three or four digits that matter.
func number(v float64) string {
	switch {
	case v == float64(int64(v)), v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// Quantile is the smallest sample that at least the given part of all samples do
// not exceed: Quantile(s, 0.5) is the median. Without samples it is zero.
func Quantile(samples []time.Duration, part float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := int(math.Ceil(part*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// ReadReport reads what WriteJSON wrote.
func ReadReport(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s is no report of a benchmark: %w", path, err)
	}
	return r, nil
}

// smallest is the part of a figure that must have changed for the change to be shown.
const smallest = 0.01

// Change is a figure of two runs. One that only one of them has is nil in the other.
type Change struct {
	// Name is that of the figure with those that it is indented below.
	Name        string
	Before, Now *Figure
}

// Changes are the figures that differ from those of an earlier run by more than a
// hundredth: first in the order of this run, then those that are gone.
func (r *Report) Changes(before *Report) []Change {
	old, seen := map[string]*Figure{}, map[string]bool{}
	before.each(func(name string, f *Figure) { old[name] = f })
	var changes []Change
	r.each(func(name string, f *Figure) {
		seen[name] = true
		if was := old[name]; was == nil || differ(was.Value, f.Value) {
			changes = append(changes, Change{Name: name, Before: was, Now: f})
		}
	})
	before.each(func(name string, f *Figure) {
		if !seen[name] {
			changes = append(changes, Change{Name: name, Before: f})
		}
	})
	return changes
}

func differ(a, b float64) bool {
	return math.Abs(a-b) > smallest*math.Max(math.Abs(a), math.Abs(b))
}

// each shows the figures with unique names: "create, manager, patch hostclaims".
func (r *Report) each(see func(name string, f *Figure)) {
	var above []string
	for i := range r.Figures {
		f := &r.Figures[i]
		text := strings.TrimLeft(f.Name, " ")
		depth := (len(f.Name) - len(text)) / 2
		above = append(above[:min(depth, len(above))], text)
		see(strings.Join(above, ", "), f)
	}
}

// WriteChanges prints what has changed since an earlier run.
func (r *Report) WriteChanges(out io.Writer, before *Report) error {
	fmt.Fprintf(out, "\nChanged since %s on %s:\n", before.Facts["date"], before.Facts["machine"])
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tBEFORE\tNOW\tCHANGE")
	for _, c := range r.Changes(before) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Name, c.Before.text(), c.Now.text(), c.percent())
	}
	return table.Flush()
}

// text is the value with its unit; of a figure that is not there, a dash.
func (f *Figure) text() string {
	if f == nil {
		return "-"
	}
	return strings.TrimSpace(number(f.Value) + " " + f.Unit)
}

func (c Change) percent() string {
	if c.Before == nil || c.Now == nil || c.Before.Value == 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f %%", 100*(c.Now.Value/c.Before.Value-1))
}
