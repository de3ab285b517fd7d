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

package remediations

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// outOfService is the taint that has Kubernetes take Pods and volumes away
// from a Node whose server is off.
func outOfService() corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
}

// Tainted says that a Node is declared out of service by a taint like ours.
func Tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isOutOfService)
}

// Taint returns the Node declared out of service.
func Taint(node *corev1.Node) *corev1.Node {
	out := node.DeepCopy()
	out.Spec.Taints = append(out.Spec.Taints, outOfService())
	return out
}

// Untaint returns the Node in service again.
func Untaint(node *corev1.Node) *corev1.Node {
	out := node.DeepCopy()
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, isOutOfService)
	return out
}

func isOutOfService(taint corev1.Taint) bool {
	ours := outOfService()
	return taint.MatchTaint(&ours)
}

// MustLeave says that a Pod keeps the Node from being evacuated: Kubernetes takes it away as
// soon as the Node is declared out of service. A Pod that tolerates that, such as one of the
// control plane, stays.
func MustLeave(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return pod.DeletionTimestamp != nil
	}
	return pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Spec.Tolerations, tolerates)
}

// tolerates says that a toleration is for the taint. The empty key stands for all keys, the
// empty effect for all effects.
func tolerates(t corev1.Toleration) bool {
	taint := outOfService()
	switch {
	case t.Effect != "" && t.Effect != taint.Effect, t.Key != "" && t.Key != taint.Key:
		return false
	case t.Operator == corev1.TolerationOpExists:
		return true
	default:
		return t.Key != "" && t.Value == taint.Value
	}
}
