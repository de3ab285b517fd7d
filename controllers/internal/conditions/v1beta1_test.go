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

package conditions

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestDerive(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	is := func(conditionType string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: "m", LastTransitionTime: noon}
	}
	rules := []V1Beta1Rule{
		{Type: "Ready", From: []string{"Ready"}},
		{Type: "Data", From: []string{"Asked", "Rendered"}, Reasons: map[string]string{"New": "Old"}, Errors: []string{"New", "Bad"}},
	}
	tests := map[string]struct {
		given []metav1.Condition
		want  clusterv1.Conditions
	}{
		"nothing gives nothing":            {},
		"what is in no rule gives nothing": {given: []metav1.Condition{is("Other", "True", "Yes")}},
		"a condition that holds has neither reason nor message": {
			given: []metav1.Condition{is("Ready", "True", "Ready")},
			want:  clusterv1.Conditions{{Type: "Ready", Status: "True", LastTransitionTime: noon}},
		},
		"a condition that does not hold has a severity": {
			given: []metav1.Condition{is("Ready", "False", "NotReady")},
			want: clusterv1.Conditions{
				{Type: "Ready", Status: "False", Severity: "Info", Reason: "NotReady", Message: "m", LastTransitionTime: noon},
			},
		},
		"an unknown condition has none": {
			given: []metav1.Condition{is("Ready", "Unknown", "ReadyUnknown")},
			want: clusterv1.Conditions{
				{Type: "Ready", Status: "Unknown", Reason: "ReadyUnknown", Message: "m", LastTransitionTime: noon},
			},
		},
		"the first of several that does not hold decides, under its old name": {
			given: []metav1.Condition{is("Rendered", "False", "Bad"), is("Asked", "False", "New")},
			want: clusterv1.Conditions{
				{Type: "Data", Status: "False", Severity: "Error", Reason: "Old", Message: "m", LastTransitionTime: noon},
			},
		},
		"of several that hold, there is one": {
			given: []metav1.Condition{is("Rendered", "True", "Yes"), is("Asked", "True", "Yes")},
			want:  clusterv1.Conditions{{Type: "Data", Status: "True", LastTransitionTime: noon}},
		},
		"the order is that of the rules": {
			given: []metav1.Condition{is("Asked", "True", "Yes"), is("Ready", "True", "Ready")},
			want: clusterv1.Conditions{
				{Type: "Ready", Status: "True", LastTransitionTime: noon}, {Type: "Data", Status: "True", LastTransitionTime: noon},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, V1Beta1(tc.given, rules)) })
	}
}
