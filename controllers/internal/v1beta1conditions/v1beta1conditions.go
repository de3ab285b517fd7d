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

package v1beta1conditions

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Type is the type of a condition of v1beta1.
type Type = clusterv1.ConditionType //nolint:staticcheck // deprecated with the conditions that are derived here

// Rule says what one condition of v1beta1 is derived from.
type Rule struct {
	// Type is the type of the condition in v1beta1.
	Type Type
	// From are the types of the conditions that it stands for. The first one that
	// is not True decides, else the last one.
	From []string
	// Reasons are the reasons that had another name in v1beta1.
	Reasons map[string]string
	// Errors are the reasons, by their names of today, that need a user to act;
	// all others are of severity Info.
	Errors []string
}

// Derive returns the conditions of v1beta1, in the order of the rules. A rule
// without any of its conditions gives none.
func Derive(conditions []metav1.Condition, rules []Rule) clusterv1.Conditions {
	var derived clusterv1.Conditions
	for _, rule := range rules {
		if c, found := decisive(conditions, rule.From); found {
			derived = append(derived, rule.translate(c))
		}
	}
	return derived
}

func decisive(conditions []metav1.Condition, types []string) (c metav1.Condition, found bool) {
	for _, t := range types {
		i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == t })
		if i < 0 {
			continue
		}
		c, found = conditions[i], true
		if c.Status != metav1.ConditionTrue {
			break
		}
	}
	return c, found
}

// translate writes the condition as v1beta1 did: without reason where it holds,
// and with a severity where it does not.
func (r Rule) translate(c metav1.Condition) clusterv1.Condition {
	derived := clusterv1.Condition{Type: r.Type, Status: corev1.ConditionStatus(c.Status), LastTransitionTime: c.LastTransitionTime}
	if c.Status == metav1.ConditionTrue {
		return derived
	}
	derived.Reason, derived.Message = c.Reason, c.Message
	if name, renamed := r.Reasons[c.Reason]; renamed {
		derived.Reason = name
	}
	if c.Status == metav1.ConditionFalse {
		derived.Severity = clusterv1.ConditionSeverityInfo
		if slices.Contains(r.Errors, c.Reason) {
			derived.Severity = clusterv1.ConditionSeverityError
		}
	}
	return derived
}
