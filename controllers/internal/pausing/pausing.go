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

package pausing

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
)

// Condition returns the condition Paused of an object of these Clusters. A Cluster
// that is nil does not pause the object.
func Condition(object metav1.Object, clusters ...*clusterv1.Cluster) metav1.Condition {
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

// Paused says whether the object or one of its Clusters is paused, as Condition
// reports it.
func Paused(object metav1.Object, clusters ...*clusterv1.Cluster) bool {
	return Condition(object, clusters...).Status == metav1.ConditionTrue
}
