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

package hostclaim

import (
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// events returns type and reason of all events of a namespace, sorted; one that
// was emitted several times is there as often.
func (w *world) events(namespace string) []string {
	list := &corev1.EventList{}
	w.OK(w.List(w.Ctx, list, client.InNamespace(namespace)))
	out := []string{}
	for _, e := range list.Items {
		times := 1
		if e.Series != nil {
			times = int(e.Series.Count)
		}
		for range times {
			out = append(out, e.Type+" "+e.Reason)
		}
	}
	slices.Sort(out)
	return out
}

// TestEachSideIsToldOnce follows a claim through its life, with a manager that is
// stopped and started on the way, and compares what tenant and administrator are
// told.
func TestEachSideIsToldOnce(t *testing.T) {
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	w.host("host-0", nil)
	stop := w.manager()
	claim := w.claim("machine", withImage("boot"))
	w.expect("machine", synchronized, "False/UserDataSecretSyncFailure")
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	w.expect("machine", "Ready", "True/Provisioned")

	fail := func(kind bmov1alpha1.ErrorType, text string) {
		host := w.readHost("host-0")
		before := host.DeepCopy()
		host.Status.ErrorType, host.Status.ErrorMessage = kind, text
		w.OK(w.Status().Patch(w.Ctx, host, client.MergeFrom(before)))
	}
	fail(bmov1alpha1.PowerManagementError, "BMC 192.0.2.7 does not answer")
	w.expect("machine", "Ready", "False/Error")
	// What a manager has not sent when it is stopped is lost.
	w.G.Eventually(func() []string { return w.events(w.tenant) }).Should(gomega.ContainElement("Warning HostError"))
	w.G.Eventually(func() []string { return w.events(w.infra) }).Should(gomega.ContainElement("Warning ClaimAffected"))
	stop()
	w.manager()
	fail("", "")
	w.expect("machine", "Ready", "True/Provisioned")

	w.OK(w.Delete(w.Ctx, &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "policy"}}))
	w.expect("machine", "hostclaim.metal3.io/Admitted", "False/PolicyRevoked")
	w.expect("machine", "Ready", "True/Provisioned")
	w.OK(w.Delete(w.Ctx, claim))
	w.expectGone("machine")

	// These servers are written, and wiped, so fast that a manager may tell the end only.
	tenants := func() []string {
		return slices.DeleteFunc(w.events(w.tenant), func(e string) bool {
			return e == "Normal ProvisioningStarted" || e == "Normal Releasing"
		})
	}
	w.G.Eventually(tenants).Should(gomega.Equal([]string{
		"Normal Bound", "Normal HostErrorGone", "Normal Provisioned",
		"Warning HostError", "Warning PolicyRevoked", "Warning UserDataSecretSyncFailure",
	}))
	w.G.Eventually(func() []string { return w.events(w.infra) }).Should(gomega.Equal([]string{
		"Normal ClaimUnaffected", "Normal Freed", "Warning ClaimAffected", "Warning PolicyRevoked",
	}))
	list := &corev1.EventList{}
	w.OK(w.List(w.Ctx, list, client.InNamespace(w.tenant)))
	for _, e := range list.Items {
		if strings.Contains(e.Message, "192.0.2.7") {
			t.Errorf("the tenant is told: %s", e.Message)
		}
	}
}
