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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deploymentLabel names the Deployment of a pod. The in-memory store checks owners at each write, so that a pod
// whose Deployment is gone could not lose its finalizer.
const deploymentLabel = "hostsim.metal3.io/deployment"

// runDeployments gives Deployments their pods, which run at once, and takes them from those that are gone. A
// Deployment has one pod on a Node at most.
func (cl *cluster) runDeployments(ctx context.Context) error {
	deployments, nodes, pods := &appsv1.DeploymentList{}, &corev1.NodeList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{deployments, nodes} {
		if err := cl.client.List(ctx, list); err != nil {
			return err
		}
	}
	if err := cl.client.List(ctx, pods, client.HasLabels{deploymentLabel}); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		kept := slices.ContainsFunc(deployments.Items, func(d appsv1.Deployment) bool {
			return d.Namespace == pod.Namespace && d.Name == pod.Labels[deploymentLabel]
		})
		if !kept && pod.DeletionTimestamp.IsZero() {
			if err := cl.client.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	for i := range deployments.Items {
		if err := cl.scale(ctx, &deployments.Items[i], nodes.Items, pods.Items); err != nil {
			return err
		}
	}
	return nil
}

// scale adds the pods that a Deployment lacks. One that names no replicas, as the name server, has none.
func (cl *cluster) scale(ctx context.Context, d *appsv1.Deployment, nodes []corev1.Node, pods []corev1.Pod) error {
	wanted, running := ptr.Deref(d.Spec.Replicas, 0), int32(0)
	taken := map[string]bool{}
	for i := range pods {
		if pods[i].Namespace == d.Namespace && pods[i].Labels[deploymentLabel] == d.Name {
			taken[pods[i].Spec.NodeName] = true
			if pods[i].DeletionTimestamp.IsZero() {
				running++
			}
		}
	}
	for i := range nodes {
		if running >= wanted {
			break
		}
		if taken[nodes[i].Name] || !fits(d, &nodes[i]) {
			continue
		}
		if err := cl.create(ctx, newPod(d, nodes[i].Name)); err != nil {
			return err
		}
		running++
	}
	return cl.reportAvailable(ctx, d, running >= wanted)
}

// reportAvailable writes the condition of a Deployment.
func (cl *cluster) reportAvailable(ctx context.Context, d *appsv1.Deployment, available bool) error {
	condition := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse}
	if available {
		condition.Status = corev1.ConditionTrue
	}
	if d.Spec.Replicas == nil || slices.Contains(d.Status.Conditions, condition) {
		return nil
	}
	return client.IgnoreNotFound(cl.change(ctx, d, func() { d.Status.Conditions = []appsv1.DeploymentCondition{condition} }))
}

// fits reports whether a pod of the Deployment may run on the Node. A selector that chooses a Node with taints
// counts as tolerating them.
func fits(d *appsv1.Deployment, node *corev1.Node) bool {
	selector := d.Spec.Template.Spec.NodeSelector
	return ready(node) && !node.Spec.Unschedulable && node.DeletionTimestamp.IsZero() &&
		labels.SelectorFromSet(selector).Matches(labels.Set(node.Labels)) && (len(selector) > 0 || len(node.Spec.Taints) == 0)
}

func newPod(d *appsv1.Deployment, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = d.Namespace, d.Name+"-"+node
	metav1.SetMetaDataLabel(&pod.ObjectMeta, deploymentLabel, d.Name)
	pod.Spec.NodeName = node
	pod.Status = corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	return pod
}

// evict ends a pod and deletes it, unless a PodDisruptionBudget keeps it.
func (cl *cluster) evict(ctx context.Context, key client.ObjectKey) error {
	pod := &corev1.Pod{}
	if err := cl.client.Get(ctx, key, pod); err != nil {
		return err
	}
	if err := cl.checkBudgets(ctx, pod); err != nil {
		return err
	}
	if err := cl.change(ctx, pod, func() {
		pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"},
		}}
	}); err != nil {
		return err
	}
	return cl.client.Delete(ctx, pod)
}

// checkBudgets refuses the eviction of a pod that one of its PodDisruptionBudgets cannot do without.
func (cl *cluster) checkBudgets(ctx context.Context, pod *corev1.Pod) error {
	budgets := &policyv1.PodDisruptionBudgetList{}
	if err := cl.client.List(ctx, budgets, client.InNamespace(pod.Namespace)); err != nil {
		return err
	}
	for i := range budgets.Items {
		selector, err := metav1.LabelSelectorAsSelector(budgets.Items[i].Spec.Selector)
		if err != nil {
			return err
		}
		if !selector.Matches(labels.Set(pod.Labels)) || budgets.Items[i].Spec.MaxUnavailable == nil {
			continue
		}
		pods := &corev1.PodList{}
		if err := cl.client.List(ctx, pods, client.InNamespace(pod.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return err
		}
		if err := allows(&budgets.Items[i], pods.Items); err != nil {
			return err
		}
	}
	return nil
}

// allows returns the error of the eviction API if the budget, of maxUnavailable, has no pod to spare.
func allows(budget *policyv1.PodDisruptionBudget, pods []corev1.Pod) error {
	healthy := 0
	for i := range pods {
		if pods[i].DeletionTimestamp.IsZero() && pods[i].Status.Phase == corev1.PodRunning {
			healthy++
		}
	}
	spare, err := intstr.GetScaledValueFromIntOrPercent(budget.Spec.MaxUnavailable, len(pods), true)
	if err != nil {
		return err
	}
	least := len(pods) - spare
	if healthy > least {
		return nil
	}
	refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, least, healthy),
	})
	return refusal
}
