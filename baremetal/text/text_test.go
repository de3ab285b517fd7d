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

package text

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// problems counts how many of them are looked for.
func problems(n int, looked *int) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		for i := range n {
			*looked++
			if !yield(field.Invalid(field.NewPath("f"), i, "wrong")) {
				return
			}
		}
	}
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		given            []int
		listed, lookedAt int
		more             bool
	}{
		"nothing of nothing":              {},
		"nothing of empty sequences":      {given: []int{0, 0}},
		"all of a few":                    {given: []int{2, 3}, listed: 5, lookedAt: 5},
		"all of as many as there may be":  {given: []int{20, 0}, listed: 20, lookedAt: 20},
		"the first of many":               {given: []int{1000}, listed: 20, lookedAt: 21, more: true},
		"the first of several sequences":  {given: []int{19, 1000, 1000}, listed: 20, lookedAt: 21, more: true},
		"what is in the next one is more": {given: []int{20, 1}, listed: 20, lookedAt: 21, more: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			lookedAt := 0
			var found []iter.Seq[*field.Error]
			for _, n := range tc.given {
				found = append(found, problems(n, &lookedAt))
			}
			got := Problems(found...)
			expect.That(t, len(got) == tc.listed && lookedAt == tc.lookedAt, "%d problems after a look at %d, want %d after %d", len(got), lookedAt, tc.listed, tc.lookedAt)
			for i, problem := range got {
				want := "wrong"
				if tc.more && i == len(got)-1 {
					want += "; further problems were not looked for"
				}
				expect.That(t, problem.Detail == want, "problem %d says %q, want %q", i, problem.Detail, want)
			}
		})
	}
}

func TestWhatIsTooLongForAProblem(t *testing.T) {
	path, long := field.NewPath("f"), strings.Repeat("é", 5000)
	given := field.ErrorList{
		field.Invalid(path, long, long),
		field.Invalid(path, map[string]string{"k": long}, "is much"),
		field.Invalid(path, map[string]string{"k": "v"}, "is little"),
		field.Required(path, "is nothing"),
	}
	var got []string
	for _, problem := range Problems(slices.Values(given)) {
		got = append(got, problem.Error())
	}
	want := []string{
		fmt.Sprintf("f: Invalid value: %q: %s…", strings.Repeat("é", 254)+"…", strings.Repeat("é", 510)),
		"f: Invalid value: is much",
		`f: Invalid value: {"k":"v"}: is little`,
		"f: Required value: is nothing",
	}
	expect.Equal(t, want, got)
	expect.That(t, given[0].Detail == long, "the problems that were given are changed")
}

func TestWarnings(t *testing.T) {
	few := []string{"a", "b"}
	expect.Equal(t, few, Warnings(slices.Values(few)))
	many := slices.Repeat([]string{"a"}, 100)
	want := append(slices.Repeat([]string{"a"}, 20), "further warnings are left out")
	expect.Equal(t, want, Warnings(slices.Values(many)))
}

func TestCut(t *testing.T) {
	expect.Equal(t, "short", Cut("short", 1024))
	if got := Cut(strings.Repeat("é", 512)+"é", 1024); got != strings.Repeat("é", 512) {
		t.Errorf("cut to %d bytes", len(got))
	}
	if got := Cut("x"+strings.Repeat("é", 600), 1024); len(got) != 1023 || !utf8.ValidString(got) {
		t.Errorf("cut to %d bytes, valid text %t", len(got), utf8.ValidString(got))
	}
}

func TestShorten(t *testing.T) {
	tests := map[string]struct{ given, want string }{
		"nothing":                       {"", ""},
		"what just fits":                {strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		"what is a byte too long":       {strings.Repeat("a", 1025), strings.Repeat("a", 1021) + "…"},
		"not within a letter":           {strings.Repeat("ä", 513), strings.Repeat("ä", 510) + "…"},
		"not what is no letter at all":  {strings.Repeat("\x80", 1025), "…"},
		"a long letter across the edge": {strings.Repeat("a", 1020) + "€€", strings.Repeat("a", 1020) + "…"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Shorten(tt.given, 1024)) })
	}
}

// TestNameIsNotCutBehindADot shows a name that no API server would take.
func TestNameIsNotCutBehindADot(t *testing.T) {
	name := strings.Repeat("a", 10) + "." + strings.Repeat("b", 20)
	expect.Equal(t, strings.Repeat("a", 10)+"-"+Hash(name), Name(name, 11+1+HashLength))
}

func TestNames(t *testing.T) {
	many := slices.Repeat([]string{"a"}, 100)
	long := strings.Repeat("l", 200)
	tests := map[string]struct {
		given []string
		want  string
	}{
		"none":                           {want: "none"},
		"a few are listed":               {given: []string{"a", "b"}, want: "a, b"},
		"16 are listed":                  {given: many[:16], want: strings.Join(many[:16], ", ")},
		"17 are cut":                     {given: many[:17], want: strings.Join(many[:16], ", ") + ", … and 1 more"},
		"long ones are cut earlier":      {given: slices.Repeat([]string{long}, 9), want: long + ", " + long + ", … and 7 more"},
		"the first one is listed always": {given: []string{long + long + long, "a"}, want: long + long + long + ", … and 1 more"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, List(tc.given)) })
	}
}
