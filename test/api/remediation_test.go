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

package api_test

import "testing"

func TestRemediationSpec(t *testing.T) {
	tests := map[string]struct {
		spec    string
		refused []string
	}{
		"a strategy may be left out":        {spec: "{}"},
		"a strategy may be empty":           {spec: "strategy: {}"},
		"a full strategy is fine":           {spec: "strategy: {type: Reboot, retryLimit: 3, timeoutSeconds: 100}"},
		"an unknown strategy is refused":    {spec: "strategy: {type: Replace}", refused: []string{"strategy.type: Unsupported value: \"Replace\"", `supported values: "Reboot"`}},
		"a retry limit is at least 1":       {spec: "strategy: {retryLimit: 0}", refused: []string{"strategy.retryLimit", "should be greater than or equal to 1"}},
		"a timeout is at least 100 s":       {spec: "strategy: {timeoutSeconds: 99}", refused: []string{"strategy.timeoutSeconds", "should be greater than or equal to 100"}},
		"the timeout of v1beta1 is unknown": {spec: "strategy: {timeout: 5m}", refused: []string{"unknown field", "strategy.timeout"}},
	}
	examples := map[string]example{
		"a Metal3Remediation without a spec is fine": {kind: "Metal3Remediation"},
		"a template needs a remediation":             {kind: "Metal3RemediationTemplate", spec: "{}", refused: []string{"spec.template: Required value"}},
		"the remediation of a template needs a spec": {kind: "Metal3RemediationTemplate", spec: "template: {}", refused: []string{"spec.template.spec: Required value"}},
	}
	for name, test := range tests {
		examples[name+" in a Metal3Remediation"] = example{kind: "Metal3Remediation", spec: test.spec, refused: test.refused}
		examples[name+" in a Metal3RemediationTemplate"] = example{kind: "Metal3RemediationTemplate", spec: template(test.spec), refused: test.refused}
	}
	checkExamples(t, examples)
}
