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

package identity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestProblems has each cause with a reason of its own name what is wrong and, where the owner of the
// identityRef can do something, a remedy.
func TestProblems(t *testing.T) {
	verbs := regexp.MustCompile(`%[qsvd]`)
	for c, reason := range reasons {
		var arguments []any
		for _, verb := range verbs.FindAllString(string(c), -1) {
			if verb == "%d" {
				arguments = append(arguments, 7)
			} else {
				arguments = append(arguments, "x")
			}
		}
		got := c.Problem(arguments...)
		if got.Reason != reason || strings.Contains(got.Message, "%") || strings.HasSuffix(got.Message, ".") || strings.ContainsAny(got.Message, "\n") {
			t.Errorf("cause %q: %+v", c, got)
		}
		expect.That(t, strings.Contains(got.Message, ": ") || c == Connecting, "%q has no remedy", got.Message)
	}
}

// TestEachCauseHasAReason looks for causes that are neither in the table of reasons nor of an API server that
// cannot be used, and would count as one.
func TestEachCauseHasAReason(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, parser.SkipObjectResolution)
	expect.NoError(t, err)
	listed, unlisted := map[string]bool{}, []string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			listed[fmt.Sprint(pair.Key)] = true
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && fmt.Sprint(spec.Type) == "Cause" && !listed[spec.Names[0].Name] {
			value := spec.Values[0]
			for sum, ok := value.(*ast.BinaryExpr); ok; sum, ok = value.(*ast.BinaryExpr) {
				value = sum.X
			}
			if fmt.Sprint(value) != "unusable" {
				unlisted = append(unlisted, spec.Names[0].Name)
			}
		}
		return true
	})
	expect.Equal(t, []string{}, unlisted)
}

func TestProblemOfAnAPIServer(t *testing.T) {
	got := BadStatus.Problem("https://a", 502)
	want := Problem{
		Reason:  infrav1.IdentityUnreachableReason,
		Message: "The API server https://a cannot be used: it answers with status 502; check that it is an API server of Kubernetes, and in order",
	}
	expect.Equal(t, want, *got)
}
