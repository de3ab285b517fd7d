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

package rbac_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// forms are the folders of config/ that users install.
var forms = []string{"default", "hardened", "in-place-updates", "hostclaim/default", "hostclaim/hardened"}

// ofKind renders a form and returns its objects of a kind.
func ofKind[T any](t *testing.T, form, kind string) []T {
	t.Helper()
	objects, err := render(form)
	expect.NoError(t, err)
	var found []T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		found = append(found, typed)
	}
	expect.Must(t, len(found) != 0, "config/%s has no %s", form, kind)
	return found
}

// The namespaces of both managers enforce the Pod Security Standard "restricted", and their Pods meet it.
func TestPodsMeetTheRestrictedStandard(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			deployment := ofKind[appsv1.Deployment](t, form, "Deployment")[0]
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, GenerateName: "manager-"},
				Spec:       deployment.Spec.Template.Spec,
			}
			if err := server.Client.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
				t.Errorf("the Pod is refused: %v", err)
			}
			pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = ptr.To(true)
			if err := server.Client.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
				t.Errorf("the namespace lets through a Pod that may escalate its privileges: %v", err)
			}
		})
	}
}

// A second replica takes over when the first one goes, a drain leaves one of them, and what listens can be
// reached although a policy bounds it.
func TestReplicasAreKeptAndReached(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			deployment := ofKind[appsv1.Deployment](t, form, "Deployment")[0]
			pod, manager := labels.Set(deployment.Spec.Template.Labels), deployment.Spec.Template.Spec.Containers[0]
			if replicas := ptr.Deref(deployment.Spec.Replicas, 1); replicas != 2 || !slices.Contains(manager.Args, "--leader-elect") {
				t.Errorf("%d replicas with %v", replicas, manager.Args)
			}
			for _, constraint := range deployment.Spec.Template.Spec.TopologySpreadConstraints {
				expect.That(t, selects(t, constraint.LabelSelector, pod), "the constraint spreads other Pods")
			}
			budget := ofKind[policyv1.PodDisruptionBudget](t, form, "PodDisruptionBudget")[0]
			expect.That(t, selects(t, budget.Spec.Selector, pod) && budget.Namespace == deployment.Namespace && budget.Spec.MaxUnavailable.IntValue() == 1,
				"the budget does not keep one replica: %v", budget.Spec)
			var open, listening []string
			for _, policy := range ofKind[networkingv1.NetworkPolicy](t, form, "NetworkPolicy") {
				expect.That(t, selects(t, &policy.Spec.PodSelector, pod) && policy.Namespace == deployment.Namespace, "policy %s is for other Pods", policy.Name)
				for _, rule := range policy.Spec.Ingress {
					for _, port := range rule.Ports {
						open = append(open, port.Port.String())
					}
				}
			}
			for _, port := range manager.Ports {
				listening = append(listening, port.Name)
			}
			slices.Sort(open)
			slices.Sort(listening)
			if diff := cmp.Diff(listening, open); diff != "" {
				t.Errorf("ports (-listening +open):\n%s", diff)
			}
		})
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, pod labels.Set) bool {
	t.Helper()
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	expect.NoError(t, err)
	return !parsed.Empty() && parsed.Matches(pod)
}
