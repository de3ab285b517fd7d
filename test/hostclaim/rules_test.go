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
		// claim is what it is made with, change what is done once it is as given.
		claim  func(*bmov1alpha1.HostClaim)
		given  [2]string
		change func(*bmov1alpha1.HostClaim)
		// then is the condition that follows, and says a part of its message.
		then [2]string
		says string
		// host is what must hold on the host.
		host func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost)
	}{
		"a reference to another namespace is read as one to its own": {
			claim: func(c *bmov1alpha1.HostClaim) {
				withImage("boot")(c)
				c.Spec.UserData.Namespace = "kube-system"
			},
			then: [2]string{"Ready", "True/Provisioned"},
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(host.Spec.UserData.Namespace).To(gomega.Equal(host.Namespace), "the copy, see there")
			},
		},
		"a selector that changes after the bind has no effect": {
			given:  [2]string{associated, "True/BareMetalHostAssociated"},
			change: withLabel("rack", "another"),
			then:   [2]string{associated, "True/BareMetalHostAssociated"},
			host:   named,
		},
		"a failure domain that changes after the bind has no effect": {
			given:  [2]string{associated, "True/BareMetalHostAssociated"},
			change: func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = "another" },
			then:   [2]string{associated, "True/BareMetalHostAssociated"},
			host:   named,
		},
		"an image that is taken away stays on the host, and the condition says so": {
			claim: withImage("boot"), given: [2]string{"Ready", "True/Provisioned"},
			change: func(c *bmov1alpha1.HostClaim) { c.Spec.Image = nil },
			then:   [2]string{synchronized, "False/ImageChangeIgnored"},
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(host.Spec.Image).NotTo(gomega.BeNil())
			},
		},
		"a selector that cannot be understood gets no host": {
			claim: func(c *bmov1alpha1.HostClaim) {
				c.Spec.HostSelector.MatchExpressions = []bmov1alpha1.HostSelectorRequirement{{Key: "rack", Operator: "near", Values: []string{}}}
			},
			then: [2]string{associated, "False/InvalidHostSelector"}, says: `"near"`,
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil())
			},
		},
		"a secret under a name that none can have is asked of the tenant": {
			claim: withImage("../boot"),
			then:  [2]string{synchronized, "False/" + bmov1alpha1.BadUserDataSecretReason},
			says:  `spec.userData: no secret can be named "../boot"`,
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(host.Spec.Image).To(gomega.BeNil())
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).withRights()
			w.policy(nil, w.tenant)
			w.host("host-0", nil)
			w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
			w.manager()
			w.claim("machine", func(c *bmov1alpha1.HostClaim) {
				if tt.claim != nil {
					tt.claim(c)
				}
			})
			if tt.change != nil {
				harness.Change(w.Story, w.expect("machine", tt.given[0], tt.given[1]), tt.change)
			}
			w.expect("machine", tt.then[0], tt.then[1])
			w.G.Consistently(func(g gomega.Gomega) {
				now := w.readClaim("machine")
				g.Expect(harness.Condition(now.Status.Conditions, tt.then[0])).To(gomega.Equal(tt.then[1]))
				g.Expect(harness.Message(now.Status.Conditions, tt.then[0])).To(gomega.ContainSubstring(tt.says))
				tt.host(g, w.readHost("host-0"))
			}).Should(gomega.Succeed())
		})
	}
}

// named expects that the host names its claim still.
func named(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
	g.Expect(host.Spec.ConsumerRef).To(gomega.HaveValue(gomega.HaveField("Name", "machine")))
}

// What a claim may ask for has bounds: beyond them it gets an answer, and no other claim
// else waits for it.
func TestOversizedClaimIsAnsweredAndHoldsUpNoOther(t *testing.T) {
	tests := map[string]struct {
		claim func(*bmov1alpha1.HostClaim)
		says  string
	}{
		"with far too many requirements": {
			claim: func(c *bmov1alpha1.HostClaim) {
				for i := range 20_000 {
					c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
						bmov1alpha1.HostSelectorRequirement{Key: "k" + strings.Repeat("x", i%40), Operator: "!", Values: []string{}})
				}
			},
			says: "spec.hostSelector is invalid: it has 20000 requirements",
		},
		"with far too many values": {
			claim: func(c *bmov1alpha1.HostClaim) {
				c.Spec.HostSelector.MatchExpressions = []bmov1alpha1.HostSelectorRequirement{
					{Key: "rack", Operator: "in", Values: make([]string, 20_000)},
				}
			},
			says: "spec.hostSelector is invalid: it has 20000 values in all",
		},
		"with a namespace that is far too long": {
			claim: func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = strings.Repeat("n", 40_000) },
			says:  "spec.hostSelector.inNamespace is invalid: it has 40000 characters",
		},
		"with a failure domain that is far too long": {
			claim: func(c *bmov1alpha1.HostClaim) { c.Spec.FailureDomain = strings.Repeat("d", 40_000) },
			says:  "spec.failureDomain is invalid: it has 40000 characters",
		},
		"with faults without end": {
			claim: func(c *bmov1alpha1.HostClaim) {
				for range 32 {
					c.Spec.HostSelector.MatchExpressions = append(c.Spec.HostSelector.MatchExpressions,
						bmov1alpha1.HostSelectorRequirement{Key: strings.Repeat("-", 300), Operator: "!", Values: []string{}})
				}
			},
			says: "spec.hostSelector.matchExpressions[0] is invalid",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.policy(nil, w.tenant)
			w.host("host-0", nil)
			w.host("host-1", nil)
			w.manager()
			w.claim("large", tt.claim)
			w.claim("small")
			w.expectBound("small")
			large := w.expect("large", associated, "False/InvalidHostSelector")
			w.G.Expect(harness.Message(large.Status.Conditions, associated)).To(gomega.ContainSubstring(tt.says))
			for _, c := range large.Status.Conditions {
				w.G.Expect(len(c.Message)).To(gomega.BeNumerically("<=", 1024), c.Type)
			}
			harness.Change(w.Story, large, func(c *bmov1alpha1.HostClaim) { c.Spec = bmov1alpha1.HostClaimSpec{} })
			w.expectBound("large")
		})
	}
}

// A text of the tenant that only comes up after the bind does no harm either.
func TestLongTextOfATenantDoesNotBlockTheStatus(t *testing.T) {
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	w.host("host-0", nil)
	w.manager()
	w.claim("machine", withImage(strings.Repeat("s", 40_000)))
	w.expectBound("machine")
	waiting := w.expect("machine", synchronized, "False/"+bmov1alpha1.BadUserDataSecretReason)
	w.G.Expect(harness.Message(waiting.Status.Conditions, synchronized)).To(gomega.HaveSuffix("…"))
}

// A tenant that may write a claim may rewrite its managedFields, and so hide another
// controller. What that one has recorded in the status stays.
func TestManagerStandsDownWhenFieldManagersWereErased(t *testing.T) {
	w := newWorld(t)
	w.policy(nil, w.tenant)
	w.host("host-0", nil)
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
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	w.host("host-0", nil)
	w.manager()
	claim := w.claim("machine")
	w.expectBound("machine")
	forged := []byte(`{"metadata":{"managedFields":[{"manager":"baremetal-operator","operation":"Update","subresource":"status",
		"apiVersion":"metal3.io/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:poweredOn":{}}}}]}}`)
	w.OK(w.Patch(w.Ctx, claim, client.RawPatch(types.MergePatchType, forged)))
	w.G.Consistently(func() string {
		return harness.Condition(w.readClaim("machine").Status.Conditions, "hostclaim.metal3.io/StoodDown")
	}).
		Should(gomega.Equal("none"))
	w.OK(w.Delete(w.Ctx, claim))
	w.expectGone("machine")
	w.expectPristine("host-0")
}
