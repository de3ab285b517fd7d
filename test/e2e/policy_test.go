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

package e2e

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// admitsInvalid takes one namespace out of the reach of the webhook for
// policies, as an outage of the webhook would.
func admitsInvalid(t *testing.T, namespace string) {
	t.Helper()
	c, err := kubernetes.NewForConfig(lab.Admin)
	must(t, err)
	api := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	all, err := api.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	found := false
	for _, configuration := range all.Items {
		for _, hook := range configuration.Webhooks {
			if concernsPolicies(hook) {
				found = true
				_, err := api.Patch(t.Context(), configuration.Name, "application/strategic-merge-patch+json", []byte(`{"webhooks":[{"name":"`+hook.Name+
					`","namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["`+namespace+`"]}]}}]}`), metav1.PatchOptions{})
				must(t, err)
			}
		}
	}
	if !found {
		t.Fatal("no webhook looks at HostDeployPolicies")
	}
}

func concernsPolicies(hook admissionregistrationv1.ValidatingWebhook) bool {
	for _, rule := range hook.Rules {
		if strings.Contains(strings.Join(rule.Resources, ","), "hostdeploypolicies") {
			return true
		}
	}
	return false
}

// warnings lists the warning events of an object, as reason and note.
func warnings(t *testing.T, object client.Object) (out []string) {
	t.Helper()
	var events corev1.EventList
	must(t, lab.admin.List(t.Context(), &events, client.InNamespace(object.GetNamespace())))
	for _, event := range events.Items {
		if event.InvolvedObject.UID == object.GetUID() && event.Type == corev1.EventTypeWarning {
			out = append(out, event.Reason+": "+event.Message)
		}
	}
	return out
}
