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
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// MaxBackup is how large a backup may be, in bytes. All annotations of an object together
// have room for 256 KiB.
const MaxBackup = 128 << 10

// lifecycleTaints begin the taints that Kubernetes sets and takes away by itself.
const lifecycleTaints = "node.kubernetes.io/"

// outOfService is the taint that has Kubernetes 1.28 and later take Pods and volumes away
// from a Node whose server is off.
func outOfService() corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
}

// Backup is what a Node carries besides what its kubelet sets.
type Backup struct {
	// UID of the Node.
	UID string `json:"uid"`
	// Labels, Annotations and Taints are all that it had, but the taints of its lifecycle.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []corev1.Taint    `json:"taints,omitempty"`
	// Unschedulable says that the Node was cordoned.
	Unschedulable bool `json:"unschedulable,omitempty"`
}

// BackupOf is what is kept of a Node, as the value of an annotation; fits says that there is
// room for it.
func BackupOf(node *corev1.Node) (text string, fits bool, err error) {
	b := Backup{UID: string(node.UID), Labels: node.Labels, Annotations: node.Annotations, Unschedulable: node.Spec.Unschedulable}
	for _, taint := range node.Spec.Taints {
		if !strings.HasPrefix(taint.Key, lifecycleTaints) {
			b.Taints = append(b.Taints, taint)
		}
	}
	bytes, err := json.Marshal(b)
	if err != nil {
		return "", false, fmt.Errorf("keep Node %s: %w", node.Name, err)
	}
	return string(bytes), len(bytes) <= MaxBackup, nil
}

// ParseBackup reads what BackupOf wrote. Nothing, or what is too large or cannot be read, is no
// backup.
func ParseBackup(text string) *Backup {
	b := &Backup{}
	if len(text) > MaxBackup || json.Unmarshal([]byte(text), b) != nil || b.UID == "" {
		return nil
	}
	return b
}

// Restore returns the Node with what the old one carried. What the new one has stays as it is.
func (b Backup) Restore(node *corev1.Node) *corev1.Node {
	out := node.DeepCopy()
	out.Labels = merged(node.Labels, b.Labels)
	out.Annotations = merged(node.Annotations, b.Annotations)
	for _, taint := range b.Taints {
		if !slices.ContainsFunc(out.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			out.Spec.Taints = append(out.Spec.Taints, taint)
		}
	}
	out.Spec.Unschedulable = out.Spec.Unschedulable || b.Unschedulable
	return out
}

// merged are the entries of both maps; those of the first one stay.
func merged(first, second map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, second)
	maps.Copy(out, first)
	return out
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

// HasOutOfService says that a Kubernetes of this version acts on the taint. A version that
// cannot be read is one that does not.
func HasOutOfService(gitVersion string) bool {
	v, err := version.ParseGeneric(gitVersion)
	return err == nil && v.AtLeast(version.MajorMinor(1, 28))
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
