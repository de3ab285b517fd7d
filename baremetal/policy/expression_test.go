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

package policy

import (
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// hostile are expressions that are short to write and large when compiled. The first
// two stopped a manager: 700 MiB to compile, and 2.9 GB to evaluate once.
var hostile = map[string]string{
	"a repetition many times":         strings.Repeat("x{1000}", 3000),
	"an optional repetition":          strings.Repeat("(x?){500}", 1000),
	"a repetition that fits the text": strings.Repeat("x{1000}", 250),
	"one large optional repetition":   strings.Repeat("(x?){500}", 5),
	"a repetition of repetitions":     "((x{10}){10}){10}((x{10}){10}){10}",
	"an open repetition":              strings.Repeat("x{999,}", 10),
	"classes of all letters":          strings.Repeat(`\pL`, 600),
	"a long text":                     strings.Repeat("x", 100_000),
	"many words":                      strings.Repeat("a{9}|bb|", 250),
}

func TestHostileExpressionsAreRefusedBeforeTheyCost(t *testing.T) {
	for name, expression := range hostile {
		t.Run(name, func(t *testing.T) {
			fields := []string{
				infrav1.PublishLabelsAnnotation, expression, infrav1.PublishAnnotationsAnnotation, expression,
				infrav1.AllowedImageURLsAnnotation, expression,
			}
			p := newPolicy(matching(expression), fields...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			compiled := Compile(&p)
			runtime.ReadMemStats(&after)
			expect.Must(t, compiled.Err() != nil && strings.Contains(compiled.Err().Error(), "at most"), "got %.200v, want an error that names the bound", compiled.Err())
			expect.That(t, !compiled.Admits(Namespace{Name: strings.Repeat("x", 60)}), "the policy admits a namespace")
			const most = 32 << 20
			cost := after.TotalAlloc - before.TotalAlloc
			expect.That(t, cost <= most, "four such expressions took %d MiB, want at most %d", cost>>20, most>>20)
			length := len(compiled.Err().Error())
			expect.That(t, length <= 4096, "the error has %d bytes", length)
		})
	}
}

func TestUsualExpressionsAreAccepted(t *testing.T) {
	for _, expression := range []string{
		"tenant-.*", "team-[a-z]{1,50}", `https://images\.example\.com/[-a-zA-Z0-9._/]{1,255}(\?.*)?`, "(?i)rack.*", "",
		strings.Repeat("some-namespace|", 100) + "x", `(\d{1,3}\.){3}\d{1,3}`, `\pL+`,
	} {
		p := newPolicy(matching(expression), infrav1.AllowedImageURLsAnnotation, expression)
		err := Compile(&p).Err()
		expect.That(t, err == nil, "%.60q: %v", expression, err)
	}
}

func FuzzExpression(f *testing.F) {
	for _, expression := range hostile {
		f.Add(expression, "tenant")
	}
	f.Add("(a|b)*x+y?[c-f]{2,5}(?i:z){0}(?:){3}", "aabxy")
	f.Add("a{0,}(b*)*|c{0}|(?:d{2,})", "aabxy")
	f.Fuzz(func(t *testing.T, expression, value string) {
		compiled, problem := compile(expression)
		if problem != "" {
			return
		}
		matchesWhole(compiled, value)
		parsed, err := syntax.Parse(expression, syntax.Perl)
		expect.Must(t, err == nil, "%q was accepted: %v", expression, err)
		program, err := syntax.Compile(parsed.Simplify())
		expect.Must(t, err == nil, "%q was accepted: %v", expression, err)
		got := len(program.Inst)
		expect.That(t, got <= maxSize, "%q compiles to %d instructions, want at most %d", expression, got, maxSize)
	})
}
