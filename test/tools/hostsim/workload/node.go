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
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
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

const tokenPrefix = "bootstrap-token-"

// checkToken admits a joining machine that trusts this cluster and that this
// cluster's tokens vouch for. A rebuilt cluster has lost its tokens and admits
// each machine whose token it cannot disprove.
func (cl *cluster) checkToken(ctx context.Context, token kubeadm.BootstrapToken, now time.Time) error {
	if !token.Trusts(cl.pki.Cluster.Certificate) {
		return fmt.Errorf("the authority of the cluster at %s is not one of the pinned caCertHashes", cl.name)
	}
	id, secretPart, found := strings.Cut(token.Token, ".")
	if !found {
		return fmt.Errorf("the bootstrap token %q is not of the form id.secret", id)
	}
	secret := &corev1.Secret{}
	err := cl.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: tokenPrefix + id}, secret)
	switch {
	case apierrors.IsNotFound(err) && cl.rebuilt:
		return nil
	case apierrors.IsNotFound(err):
		return notYetf("the cluster at %s has no bootstrap token %q", cl.name, id)
	case err != nil:
		return err
	}
	return tokenVouches(secret.Data, id, secretPart, now)
}

// tokenVouches reads a token secret the way the API server does.
func tokenVouches(data map[string][]byte, id, secretPart string, now time.Time) error {
	if string(data["token-id"]) != id || string(data["token-secret"]) != secretPart {
		return fmt.Errorf("the bootstrap token %q is not the one that the cluster knows", id)
	}
	if string(data["usage-bootstrap-authentication"]) != "true" {
		return fmt.Errorf("the bootstrap token %q is not meant for authentication", id)
	}
	expiration, set := data["expiration"]
	if !set {
		return nil
	}
	end, err := time.Parse(time.RFC3339, string(expiration))
	if err != nil {
		return fmt.Errorf("the bootstrap token %q has an unreadable expiration", id)
	}
	if !now.Before(end) {
		return fmt.Errorf("the bootstrap token %q expired at %s", id, end.UTC().Format(time.RFC3339))
	}
	return nil
}
