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

// Package conditions has what the conditions of several kinds have in common: what an object waits
// for, whether it is paused, and the conditions of v1beta1 that are derived from those of v1beta2.
package conditions

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
)

// Wait is what an object waits for, in the words of a condition. The zero value is no wait.
type Wait struct {
	// Reason is the CamelCase reason of the condition.
	Reason string
	// Message is what is missing, and what the owner of the object can do about it.
	Message string
}

// Paused returns the condition Paused of an object of these Clusters, of which each may be nil. Its
// message names what pauses the object, its own annotation or its Cluster.
func Paused(object metav1.Object, clusters ...*clusterv1.Cluster) metav1.Condition {
	var messages []string
	for _, cluster := range clusters {
		if cluster != nil && ptr.Deref(cluster.Spec.Paused, false) {
			messages = append(messages, fmt.Sprintf("Cluster %q is paused, its spec.paused is true", cluster.Name))
		}
	}
	if annotations.HasPaused(object) {
		messages = append(messages, "The object itself is paused, it has the annotation "+clusterv1.PausedAnnotation)
	}
	condition := metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason}
	if len(messages) > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1.PausedReason
		condition.Message = strings.Join(messages, "; ")
	}
	return condition
}

// IsPaused reports whether the object or one of its Clusters is paused.
func IsPaused(object metav1.Object, clusters ...*clusterv1.Cluster) bool {
	return Paused(object, clusters...).Status == metav1.ConditionTrue
}

// v1beta1Type is the type of a condition of v1beta1.
type v1beta1Type = clusterv1.ConditionType //nolint:staticcheck // deprecated with the conditions that are derived here

// V1Beta1Rule derives one condition of v1beta1 from those of v1beta2.
type V1Beta1Rule struct {
	// Type is the type of the condition in v1beta1.
	Type v1beta1Type
	// From are the types of the conditions that it stands for. The first one that
	// is not True decides, else the last one.
	From []string
	// Reasons are the reasons that had another name in v1beta1.
	Reasons map[string]string
	// Errors are the reasons, by their names of today, that need a user to act;
	// all others are of severity Info.
	Errors []string
}

// V1Beta1 returns the conditions of v1beta1, in the order of the rules. A rule
// without any of its conditions gives none.
func V1Beta1(conditions []metav1.Condition, rules []V1Beta1Rule) clusterv1.Conditions {
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
func (r V1Beta1Rule) translate(c metav1.Condition) clusterv1.Condition {
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
