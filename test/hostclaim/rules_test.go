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
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// The API server of these tests has none of the rules of config/hostclaim/admission
// and no webhook. Each rule has its counterpart in the manager, which is what
// counts; docs/tenants-and-policies.md has the same list.
func TestManagerHoldsTheRulesOfAdmissionByItself(t *testing.T) {
	tests := map[string]struct {
		change     func(*bmov1alpha1.HostClaim)
		kind, then string
	}{
		"a selector that changes after the bind has no effect": {withLabel("rack", "another"), associated, "True/BareMetalHostAssociated"},
		"a failure domain that changes after the bind has no effect": {
			func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "another" }, associated, "True/BareMetalHostAssociated",
		},
		"an image that is taken away stays on the host, and the condition reports that": {
			func(c *bmov1alpha1.HostClaim) { c.Spec.Image = nil }, synchronized, "False/ImageChangeIgnored",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := running(t)
			harness.Change(w.Story, w.readClaim("machine"), tt.change)
			w.expect("machine", tt.kind, tt.then)
			w.G.Consistently(func(g gomega.Gomega) {
				g.Expect(harness.Condition(w.readClaim("machine").Status.Conditions, tt.kind)).To(gomega.Equal(tt.then))
				host := w.readHost("host-0")
				g.Expect(host.Spec.ConsumerRef).To(gomega.HaveValue(gomega.HaveField("Name", "machine")))
				g.Expect(host.Spec.Image).NotTo(gomega.BeNil())
			}).Should(gomega.Succeed())
		})
	}
}

// What a claim may ask for has bounds: beyond them it gets an answer, and no other claim
// waits for it.
func TestOversizedClaimIsAnsweredAndHoldsUpNoOther(t *testing.T) {
	w := newWorld(t).withHosts("host-0", "host-1")
	w.manager()
	w.claim("large", func(c *bmov1alpha1.HostClaim) {
		for i := range 20_000 {
			c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
				bmov1alpha1.HostSelectorRequirement{Key: "k" + strings.Repeat("x", i%40), Operator: "!", Values: []string{}})
		}
	})
	w.claim("small")
	w.expectBound("small")
	large := w.expect("large", associated, "False/InvalidHostSelector", "spec.hostSelector is invalid: it has 20000 requirements")
	for _, c := range large.Status.Conditions {
		w.G.Expect(len(c.Message)).To(gomega.BeNumerically("<=", 1024), c.Type)
	}
	harness.Change(w.Story, large, func(c *bmov1alpha1.HostClaim) { c.Spec = bmov1alpha1.HostClaimSpec{} })
	w.expectBound("large")
}

// A tenant that may write a claim may rewrite its managedFields, and so hide another
// controller. What that one has recorded in the status stays.
func TestManagerStandsDownWhenFieldManagersWereErased(t *testing.T) {
	w := newWorld(t).withHosts("host-0")
	claim := w.claim("machine")
	before := claim.DeepCopy()
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: w.infra, Name: "another"}
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: associated, Status: metav1.ConditionTrue, Reason: bmov1alpha1.BareMetalHostAssociatedReason,
	})
	w.OK(w.Status().Patch(w.Ctx, claim, client.MergeFrom(before), client.FieldOwner("baremetal-operator")))
	w.OK(w.Patch(w.Ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))))
	w.G.Expect(w.readClaim("machine").ManagedFields).To(gomega.BeEmpty())
	w.manager()
	w.expect("machine", "hostclaim.metal3.io/StoodDown", "True/OtherController")
	w.G.Consistently(func() *corev1.ObjectReference { return w.readHost("host-0").Spec.ConsumerRef }).Should(gomega.BeNil())
	w.G.Expect(w.readClaim("machine").Finalizers).To(gomega.BeEmpty())
}

// The other way around, a claim that makes another controller up loses nothing
// that it has, keeps nothing from others, and goes as any other.
func TestForgedFieldManagersChangeNothingOnABoundClaim(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0")
	w.manager()
	claim := w.bound()
	forged := []byte(`{"metadata":{"managedFields":[{"manager":"baremetal-operator","operation":"Update","subresource":"status",
		"apiVersion":"metal3.io/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:poweredOn":{}}}}]}}`)
	w.OK(w.Patch(w.Ctx, claim, client.RawPatch(types.MergePatchType, forged)))
	w.G.Consistently(func() string {
		return harness.Condition(w.readClaim("machine").Status.Conditions, "hostclaim.metal3.io/StoodDown")
	}).
		Should(gomega.Equal("none"))
	w.givenBack("host-0")
}
