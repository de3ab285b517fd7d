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
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
)

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
