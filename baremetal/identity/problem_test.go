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
	"regexp"
	"strings"
	"testing"
)

// TestProblems has each cause name a reason, what is wrong and, where the owner of the
// identityRef can do something, a remedy.
func TestProblems(t *testing.T) {
	verbs := regexp.MustCompile(`%[qsvd]`)
	remediless := map[Cause]bool{Connecting: true, AnswerTooLarge: true}
	for c, row := range problems {
		var arguments []any
		for _, verb := range verbs.FindAllString(row.cause+row.remedy, -1) {
			if verb == "%d" {
				arguments = append(arguments, 7)
			} else {
				arguments = append(arguments, "x")
			}
		}
		got := Cause(c).Problem(arguments...)
		if got.Reason == "" || strings.Contains(got.Message, "%") || strings.HasSuffix(got.Message, ".") || strings.ContainsAny(got.Message, "\n") {
			t.Errorf("cause %d: %+v", c, got)
		}
		if (row.remedy == "") != remediless[Cause(c)] || row.cause == "" {
			t.Errorf("cause %d: %q has no remedy or should have none", c, got.Message)
		}
	}
}

func TestProblemJoinsCauseAndRemedy(t *testing.T) {
	for want, got := range map[string]*Problem{
		`Secret "s" has no key "k": put the kubeconfig there`: KeyMissing.Problem("s", "k"),
		`The API server u does not accept the credentials: they may be expired or revoked; ` +
			`put a kubeconfig with valid ones into the Secret`: Unauthorized.Problem("u"),
		`The connection to the cluster that holds the hosts is being made`: Connecting.Problem(),
	} {
		if got.Message != want {
			t.Errorf("%q, want %q", got.Message, want)
		}
	}
}
