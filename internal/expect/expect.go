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

// Package expect compares what tests get with what they want.
package expect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal reports what a test wants and did not get, as cmp.Diff compares them, and lets it go on.
func Equal[T any](t *testing.T, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// NoError ends a test that cannot go on after an error.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Error ends a test unless an error has the part; without a part, one that cannot go on after an error.
func Error(t *testing.T, part string, err error) {
	t.Helper()
	if part == "" {
		NoError(t, err)
	} else if err == nil || !strings.Contains(err.Error(), part) {
		t.Fatalf("error %v, want one with %q", err, part)
	}
}

// That fails a test unless a condition holds; the format describes the failure.
func That(tb testing.TB, holds bool, format string, args ...any) {
	tb.Helper()
	if !holds {
		tb.Errorf(format, args...)
	}
}

// Must ends a test that cannot go on unless a condition holds; the format describes the failure.
func Must(tb testing.TB, holds bool, format string, args ...any) {
	tb.Helper()
	if !holds {
		tb.Fatalf(format, args...)
	}
}

// Rendered renders each testdata/*.yaml and compares the result with the .golden file beside it.
func Rendered(t *testing.T, update bool, render func(t *testing.T, input []byte) string) {
	t.Helper()
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no input: %v", err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			text, err := os.ReadFile(input)
			NoError(t, err)
			Golden(t, strings.TrimSuffix(input, ".yaml")+".golden", render(t, text), update)
		})
	}
}

// Golden fails a test if a file does not have the text that the test got. With update, which a
// flag -update of the test gives, the file is written first.
func Golden(t *testing.T, file, got string, update bool) {
	t.Helper()
	if update {
		NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	NoError(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s, run with -update if this is meant (-want +got):\n%s", file, diff)
	}
}
