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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// staticPod is the mirror pod of a control plane component that runs. The
// mirror annotation keeps it out of a drain.
func staticPod(component, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   metav1.NamespaceSystem,
			Name:        component + "-" + node,
			Labels:      map[string]string{"component": component, "tier": "control-plane"},
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: component},
		},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: component, Image: component}},
			// The kubelet has its static pods stay, whatever happens to their Node.
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// runPod creates the pod, or makes the one of its name run again.
func (cl *cluster) runPod(ctx context.Context, pod *corev1.Pod) error {
	err := cl.create(ctx, pod)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	wanted := pod.Status
	return cl.change(ctx, pod, func() { pod.Status = wanted })
}

// silencePods marks the pods of a silent node as not ready.
func (cl *cluster) silencePods(ctx context.Context, node string) error {
	pods, err := cl.podsOn(ctx, node)
	if err != nil {
		return err
	}
	for i := range pods {
		err := cl.change(ctx, &pods[i], func() {
			pods[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeNotReady"}}
		})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// collectPods deletes the pods of a Node that is gone, as the pod garbage
// collector does.
func (cl *cluster) collectPods(ctx context.Context, node string) error {
	pods, err := cl.podsOn(ctx, node)
	if err != nil {
		return err
	}
	for i := range pods {
		if err := cl.client.Delete(ctx, &pods[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (cl *cluster) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := cl.client.List(ctx, pods, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", node)})
	return pods.Items, err
}
