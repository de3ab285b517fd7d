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

package progress

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	step := func(name string, out Outcome) Step[*strings.Builder] {
		return func(_ context.Context, did *strings.Builder) Outcome {
			did.WriteString(name)
			return out
		}
	}
	waits, fails := step("w", Waiting("Reason", "m")), step("f", Failed(errors.New("broken")))
	done := step("d", Outcome{})
	for name, tc := range map[string]struct {
		rule  Rule
		steps []Step[*strings.Builder]
		did   string
		waits int
		fails bool
	}{
		"nothing to do is done":                  {rule: UntilError},
		"a wait does not end a pass until error": {rule: UntilError, steps: []Step[*strings.Builder]{waits, done, fails, done}, did: "wdf", waits: 1, fails: true},
		"a wait ends a pass until wait":          {rule: UntilWait, steps: []Step[*strings.Builder]{done, waits, done}, did: "dw", waits: 1},
		"an error ends a pass until wait":        {rule: UntilWait, steps: []Step[*strings.Builder]{done, fails, done}, did: "df", fails: true},
		"nothing ends a pass to the end":         {rule: ToTheEnd, steps: []Step[*strings.Builder]{fails, waits, done}, did: "fwd", waits: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var did strings.Builder
			out := Run(t.Context(), &did, tc.rule, tc.steps...)
			if did.String() != tc.did || len(out.Waits()) != tc.waits || (out.Err() != nil) != tc.fails {
				t.Errorf("did %q, want %q: %v, error %v", did.String(), tc.did, out.Waits(), out.Err())
			}
		})
	}
}
