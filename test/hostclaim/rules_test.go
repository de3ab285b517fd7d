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
	"maps"
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// The API server of these tests has none of the rules of config/hostclaim/admission
// and no webhook. Each rule has its counterpart in the manager, which is what
// counts; docs/tenants-and-policies.md has the same list.
func TestManagerHoldsTheRulesOfAdmissionByItself(t *testing.T) {
	const image = "https://images.example.com/os.raw"
	tests := map[string]struct {
		// claim is what it is made with, change what is done once it is as given.
		claim  func(*bmov1alpha1.HostClaim)
		given  [2]string
		change func(*bmov1alpha1.HostClaim)
		// then is the condition that follows, and says a part of it.
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
		"an image that changes is not written, and the condition says so": {
			claim: withImage("boot"), given: [2]string{"Ready", "True/Provisioned"},
			change: func(c *bmov1alpha1.HostClaim) { c.Spec.Image.URL = "https://images.example.com/other.raw" },
			then:   [2]string{synchronized, "False/ImageChangeIgnored"},
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(host.Spec.Image).NotTo(gomega.BeNil())
				g.Expect(host.Spec.Image.URL).To(gomega.Equal(image))
			},
		},
		"an image that is taken away stays on the host, and the condition says so": {
			claim: withImage("boot"), given: [2]string{"Ready", "True/Provisioned"},
			change: func(c *bmov1alpha1.HostClaim) { c.Spec.Image = nil },
			then:   [2]string{synchronized, "False/ImageChangeIgnored"},
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(host.Spec.Image).NotTo(gomega.BeNil())
			},
		},
		"a mark to detach stays on the claim": {
			claim: withImage("boot"), given: [2]string{"Ready", "True/Provisioned"},
			change: annotated("baremetalhost.metal3.io/detached", ""),
			then:   [2]string{synchronized, "False/DetachRefused"},
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(slices.Collect(maps.Keys(host.Annotations))).NotTo(gomega.ContainElement(gomega.HavePrefix("baremetalhost.")))
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
		"a reboot that cannot be understood does not reach the host": {
			claim: withImage("boot"), given: [2]string{"Ready", "True/Provisioned"},
			change: annotated("reboot.metal3.io", "now"),
			then:   [2]string{associated, "True/BareMetalHostAssociated"},
			host: func(g gomega.Gomega, host *bmov1alpha1.BareMetalHost) {
				g.Expect(host.Annotations["reboot.metal3.io"]).NotTo(gomega.Equal("now"))
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

func annotated(key, value string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) }
}
