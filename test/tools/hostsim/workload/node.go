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

package workload

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const controlPlaneRole = "node-role.kubernetes.io/control-plane"

// newNode is the Node that the kubelet of a machine registers.
func newNode(m Machine, now time.Time) (*corev1.Node, error) {
	labels, err := m.Plan.Registration.Labels()
	if err != nil {
		return nil, err
	}
	labels[corev1.LabelHostname] = m.Node.Name
	labels[corev1.LabelOSStable] = "linux"
	labels[corev1.LabelArchStable] = m.Node.Architecture
	taints := m.Plan.Registration.Taints
	if m.controlPlane() {
		labels[controlPlaneRole] = ""
		labels[corev1.LabelNodeExcludeBalancers] = ""
		if taints == nil {
			taints = []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Node.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: m.Plan.Registration.ProviderID(), Taints: taints},
	}
	reportStatus(node, m, now)
	return node, nil
}

// reportStatus fills what a running kubelet reports.
func reportStatus(node *corev1.Node, m Machine, now time.Time) {
	node.Status.Addresses = []corev1.NodeAddress{}
	for _, address := range m.Node.Addresses {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: m.Node.Name})
	node.Status.Capacity = m.Node.Capacity
	node.Status.Allocatable = m.Node.Capacity
	node.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion:  m.Node.KubeletVersion,
		SystemUUID:      m.Node.SystemUUID,
		Architecture:    m.Node.Architecture,
		OperatingSystem: "linux",
		OSImage:         "hostsim",
	}
	setCondition(node, corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", now)
	setCondition(node, corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", now)
	setCondition(node, corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", now)
	setCondition(node, corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", now)
}

func setCondition(node *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string, now time.Time) {
	wanted := corev1.NodeCondition{
		Type: kind, Status: status, Reason: reason,
		LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
	}
	at := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
	if at < 0 {
		node.Status.Conditions = append(node.Status.Conditions, wanted)
		return
	}
	if node.Status.Conditions[at].Status == status {
		wanted.LastTransitionTime = node.Status.Conditions[at].LastTransitionTime
	}
	node.Status.Conditions[at] = wanted
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// registerNode creates the machine's Node, or wakes the one of its name.
func (cl *cluster) registerNode(ctx context.Context, m Machine, now time.Time) error {
	node, err := newNode(m, now)
	if err != nil {
		return err
	}
	err = cl.create(ctx, node)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Node.Name}}
	return cl.change(ctx, existing, func() {
		existing.Spec.Taints = slices.DeleteFunc(existing.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeUnreachable
		})
		reportStatus(existing, m, now)
	})
}

// loseNode is what the node lifecycle controller does once a kubelet is silent.
func (cl *cluster) loseNode(ctx context.Context, name string, now time.Time) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := cl.change(ctx, node, func() {
		for i := range node.Status.Conditions {
			setCondition(node, node.Status.Conditions[i].Type, corev1.ConditionUnknown, "NodeStatusUnknown", now)
		}
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect})
		}
	})
	return client.IgnoreNotFound(err)
}

// change reads an object, lets mutate change it and writes it back, again after
// a conflict.
func (cl *cluster) change(ctx context.Context, obj client.Object, mutate func()) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := cl.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		before, ok := obj.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("the copy of a %T is no object", obj)
		}
		mutate()
		return cl.client.Patch(ctx, obj, client.MergeFrom(before))
	})
}
