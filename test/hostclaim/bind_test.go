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
	"fmt"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	associated   = bmov1alpha1.AssociatedCondition
	synchronized = bmov1alpha1.SynchronizedCondition
	noHost       = "False/" + bmov1alpha1.NoBareMetalHostReason
	notAdmitted  = "False/NoNamespaceAdmits"
)

func TestClaimBindsProvisionsAndShowsTheFactsOfItsHost(t *testing.T) {
	w := newWorld(t).withRights()
	w.host("host-0", map[string]string{
		"infrastructure.cluster.x-k8s.io/failure-domain": "rack-1", "example.com/size": "big", "secret.example.com/owner": "us",
	})
	w.policy(map[string]string{"hostclaim.metal3.io/publish-labels": `example\.com/.*`}, w.tenant)
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	w.manager()

	claim := w.bound(withImage("boot"))
	w.G.Expect(w.nextDrive()).To(gomega.Equal(
		drive{harness.Drive{URL: osImage, UserData: "#cloud-config", MetaData: "none", NetworkData: "none"}, "host-0"}))
	ready := w.expect("machine", "Ready", "True/Provisioned")
	w.G.Expect(ready.Finalizers).To(gomega.ContainElement("hostclaim.metal3.io/finalizer"))
	w.G.Expect(ready.Status.PoweredOn).To(gomega.BeTrue())
	w.G.Expect(ready.Status.HardwareData).To(gomega.Equal(&bmov1alpha1.ObjectReference{Namespace: w.tenant, Name: "machine-hostclaim"}))
	for _, c := range ready.Status.Conditions {
		w.G.Expect(c.ObservedGeneration).To(gomega.Equal(ready.Generation), c.Type)
	}

	facts, host := w.machineFacts(), w.readHost("host-0")
	w.G.Expect(facts.Spec.HardwareDetails).To(gomega.Equal(host.Status.HardwareDetails))
	w.G.Expect(facts.Annotations).To(gomega.Equal(map[string]string{
		"hostclaim.metal3.io/host-uid":         string(host.UID),
		"hostclaim.metal3.io/host-name":        "host-0",
		"hostclaim.metal3.io/host-namespace":   w.infra,
		"hostclaim.metal3.io/boot-mac-address": "02:00:00:00:00:01",
		"hostclaim.metal3.io/failure-domain":   "rack-1",
	}))
	w.G.Expect(facts.Labels).To(gomega.Equal(map[string]string{
		"example.com/size": "big", "hostclaim.metal3.io/claim-uid": string(claim.UID),
	}))
	w.G.Expect(metav1.IsControlledBy(facts, ready)).To(gomega.BeTrue())
}

func TestClaimWaitsWithTheReasonAndGoesOnWhenItIsMended(t *testing.T) {
	tests := map[string]struct {
		// given makes the obstacle, mend removes it.
		given, mend func(w *world)
		claim       []func(*bmov1alpha1.HostClaim)
		want        string
		says        string
	}{
		"until a host becomes available": {
			given: func(w *world) {
				w.policy(nil, w.tenant)
				w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) {
					h.Status.Provisioning.State = bmov1alpha1.StateInspecting
				})
			},
			mend: func(w *world) {
				w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) { s.Provisioning.State = bmov1alpha1.StateAvailable })
			},
			want: noHost, says: "1 host seen: 1 not available",
		},
		"until a host has the label": {
			given: func(w *world) {
				w.withHosts("host-0")
			},
			claim: []func(*bmov1alpha1.HostClaim){withLabel("rack", "a1")},
			mend: func(w *world) {
				harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"rack": "a1"} })
			},
			want: noHost, says: "1 host seen: 1 without label rack=a1",
		},
		"until its selector is mended": {
			given: func(w *world) {
				w.policy(nil, w.tenant)
				w.host("host-0", map[string]string{"rack": "b2"})
			},
			claim: []func(*bmov1alpha1.HostClaim){withLabel("rack", "a1")},
			mend:  func(w *world) { harness.Change(w.Story, w.readClaim("machine"), withLabel("rack", "b2")) },
			want:  noHost, says: "1 host seen: 1 without label rack=a1",
		},
		"until there is a policy": {
			given: func(w *world) { w.host("host-0", nil) },
			mend:  func(w *world) { w.policy(nil, w.tenant) },
			want:  notAdmitted, says: "must name it in a HostDeployPolicy",
		},
		"until an invalid policy is mended": {
			given: func(w *world) {
				w.host("host-0", nil)
				w.Make(w.admitting(bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant-["}))
			},
			mend: func(w *world) {
				harness.Change(w.Story, w.readPolicy(), func(p *bmov1alpha1.HostDeployPolicy) { p.Spec.HostClaimNamespaces.NameMatches = "tenant-.*" })
			},
			want: notAdmitted, says: "no hosts seen",
		},
		"until its namespace has the label of the policy": {
			given: func(w *world) {
				w.host("host-0", nil)
				w.Make(w.admitting(bmov1alpha1.HostClaimNamespaces{
					HasLabels: []bmov1alpha1.NameValuePair{{Name: "tier", Value: "gold"}},
				}))
			},
			mend: func(w *world) {
				ns := &corev1.Namespace{}
				w.OK(w.Get(w.Ctx, client.ObjectKey{Name: w.tenant}, ns))
				harness.Change(w.Story, ns, func(n *corev1.Namespace) { n.Labels["tier"] = "gold" })
			},
			want: notAdmitted, says: "no hosts seen",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.given(w)
			w.manager()
			w.claim("machine", tt.claim...)
			waiting := w.expect("machine", associated, tt.want, tt.says)
			w.G.Expect(harness.Condition(waiting.Status.Conditions, "Ready")).To(gomega.HavePrefix("False/"))
			tt.mend(w)
			w.expectBound("machine")
		})
	}
}

// TestClaimsCompeteForHosts lets more claims than hosts begin at once, and adds the hosts that are missing.
func TestClaimsCompeteForHosts(t *testing.T) {
	w := newWorld(t).withHosts()
	for i := range 8 {
		w.claim(fmt.Sprintf("machine-%d", i))
	}
	for i := range 5 {
		w.host(fmt.Sprintf("host-%d", i), nil)
	}
	w.manager()
	w.expectPairs(5, 8)
	for i := range 3 {
		w.host(fmt.Sprintf("more-%d", i), nil)
	}
	w.expectPairs(8, 8)
}

// expectPairs waits until so many claims have a host each and all others see no free one. Every host is that of one
// claim, and names it.
func (w *world) expectPairs(bound, all int) {
	w.T.Helper()
	w.G.Eventually(func(g gomega.Gomega) {
		var claims bmov1alpha1.HostClaimList
		g.Expect(w.List(w.Ctx, &claims, client.InNamespace(w.tenant))).To(gomega.Succeed())
		g.Expect(claims.Items).To(gomega.HaveLen(all))
		of := map[string]string{}
		for i := range claims.Items {
			c := &claims.Items[i]
			if harness.Condition(c.Status.Conditions, bmov1alpha1.AssociatedCondition) == noHost {
				g.Expect(harness.Message(c.Status.Conditions, bmov1alpha1.AssociatedCondition)).To(gomega.Equal(fmt.Sprintf("%[1]d hosts seen: %[1]d in use", bound)))
				continue
			}
			g.Expect(c.Status.BareMetalHost).NotTo(gomega.BeNil())
			g.Expect(of).NotTo(gomega.HaveKey(c.Status.BareMetalHost.Name), "two claims have one host")
			of[c.Status.BareMetalHost.Name] = c.Name
		}
		g.Expect(of).To(gomega.HaveLen(bound))
		var hosts bmov1alpha1.BareMetalHostList
		g.Expect(w.List(w.Ctx, &hosts, client.InNamespace(w.infra))).To(gomega.Succeed())
		g.Expect(hosts.Items).To(gomega.HaveLen(bound))
		for i := range hosts.Items {
			consumer := hosts.Items[i].Spec.ConsumerRef
			g.Expect(consumer).NotTo(gomega.BeNil())
			g.Expect(of).To(gomega.HaveKeyWithValue(hosts.Items[i].Name, consumer.Name))
		}
	}).Should(gomega.Succeed())
}

func TestLostHostIsReportedAndNotReplaced(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0")
	w.manager()
	w.bound()
	w.host("host-1", nil)
	w.OK(w.Delete(w.Ctx, w.readHost("host-0")))
	lost := w.expect("machine", associated, "False/"+bmov1alpha1.MissingBareMetalHostReason)
	w.G.Expect(lost.Status.BareMetalHost.Name).To(gomega.Equal("host-0"))
	w.G.Consistently(func() *corev1.ObjectReference { return w.readHost("host-1").Spec.ConsumerRef }).Should(gomega.BeNil())

	w.givenBack("host-1")
}

func TestHostIsFoundAgainWhenTheStatusIsLost(t *testing.T) {
	w := newWorld(t).withHosts("host-0", "host-1")
	stop := w.manager()
	w.claim("machine")
	host := w.expectBound("machine")
	stop()
	w.setStatus("machine", bmov1alpha1.HostClaimStatus{})
	w.manager()
	w.G.Expect(w.expectBound("machine")).To(gomega.Equal(host))
}

func TestDeadIntentIsFencedBeforeAnotherHostIsChosen(t *testing.T) {
	w := newWorld(t).withHosts()
	w.host("host-0", map[string]string{"rack": "b1"})
	w.host("host-1", map[string]string{"rack": "a1"})
	version := w.readHost("host-0").ResourceVersion

	claim := w.claim("machine", withLabel("rack", "a1"), func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{"hostclaim.metal3.io/finalizer"}
	})
	before := claim.DeepCopy()
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: w.infra, Name: "host-0"}
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: associated, Status: metav1.ConditionUnknown, Reason: "Binding", Message: "left by a manager that died",
	})
	w.OK(w.Status().Patch(w.Ctx, claim, client.MergeFrom(before), client.FieldOwner("hostclaim-manager")))

	w.manager()
	w.G.Expect(w.expectBound("machine")).To(gomega.Equal("host-1"))
	intended := w.readHost("host-0")
	w.G.Expect(intended.ResourceVersion).NotTo(gomega.Equal(version), "the fence writes to the host")
	w.G.Expect(intended.Annotations).To(gomega.BeEmpty(), "the fence leaves nothing behind")
}

func TestManagerStandsDownForAnotherController(t *testing.T) {
	w := newWorld(t).withHosts("host-0")
	claim := w.claim("machine")
	before := claim.DeepCopy()
	claim.Status.PoweredOn = true
	w.OK(w.Status().Patch(w.Ctx, claim, client.MergeFrom(before), client.FieldOwner("baremetal-operator")))
	w.manager()
	w.expect("machine", "hostclaim.metal3.io/StoodDown", "True/OtherController", "baremetal-operator")
	w.G.Consistently(func() *corev1.ObjectReference { return w.readHost("host-0").Spec.ConsumerRef }).Should(gomega.BeNil())
}

func TestOwnNamespaceNeedsNoPolicyUnlessToldSo(t *testing.T) {
	for name, strict := range map[string]bool{"as it is": false, "with a policy required": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).withRights()
			w.infra = w.tenant
			w.operator = startOperator(t, w.tenant)
			w.options.RequirePolicyInOwnNamespace = strict
			w.host("host-0", map[string]string{"rack": "a1"})
			w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
			w.manager()
			w.claim("machine", withImage("boot"), func(c *bmov1alpha1.HostClaim) { c.Spec.Image.URL = "http://127.0.0.1/os.raw" })
			if strict {
				w.expect("machine", associated, "False/NoNamespaceAdmits")
				w.policy(nil, w.tenant)
			}
			w.expect("machine", "Ready", "True/Provisioned")
			host := w.readHost("host-0")
			w.G.Expect(host.Spec.UserData).To(gomega.Equal(&corev1.SecretReference{Namespace: w.tenant, Name: "boot"}), "the secret as it is")
			w.G.Expect(w.machineFacts().Labels).To(gomega.HaveKeyWithValue("rack", "a1"), "everything is published")
		})
	}
}

func TestForeignObjectsOfThePublishedNameAreNotTouched(t *testing.T) {
	for name, foreign := range map[string]client.Object{
		"HardwareData": &bmov1alpha1.HardwareData{},
		"HardwareData with our label": &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"hostclaim.metal3.io/claim-uid": "another"},
		}},
		"BareMetalHost": &bmov1alpha1.BareMetalHost{},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			foreign.SetNamespace(w.tenant)
			foreign.SetName("machine-hostclaim")
			w.OK(w.Create(w.Ctx, foreign))
			w.withHosts("host-0")
			w.manager()
			w.claim("machine", func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = w.infra })
			w.expect("machine", "hostclaim.metal3.io/HardwareDataPublished", "False/HardwareDataNameTaken")
			version := foreign.GetResourceVersion()
			w.OK(w.Get(w.Ctx, client.ObjectKeyFromObject(foreign), foreign))
			w.G.Expect(foreign.GetResourceVersion()).To(gomega.Equal(version))
			w.expectBound("machine")
			w.OK(w.Delete(w.Ctx, foreign))
			w.expect("machine", "hostclaim.metal3.io/HardwareDataPublished", "True/Published")
		})
	}
}

func TestRevokedPolicyStopsNewThingsAndKillsNothing(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0", "host-1").withBoot()
	w.manager()
	w.claim("running", withImage("boot"))
	w.expect("running", "Ready", "True/Provisioned")
	w.claim("early")
	w.expectBound("early")

	w.OK(w.Delete(w.Ctx, w.readPolicy()))
	w.saysOf("running", synchronized, "the server keeps running")
	w.expect("running", "Ready", "True/Provisioned")
	harness.Change(w.Story, w.readClaim("early"), withImage("boot"))
	w.expect("early", synchronized, "False/PolicyRevoked")
	w.G.Expect(w.readHost(w.readClaim("early").Status.BareMetalHost.Name).Spec.Image).To(gomega.BeNil())
	w.policy(nil, w.tenant)
	w.expect("early", "Ready", "True/Provisioned")
}

func TestInvalidPolicyIsReportedOnItself(t *testing.T) {
	w := newWorld(t)
	broken := w.admitting(bmov1alpha1.HostClaimNamespaces{NameMatches: "tenant-["})
	broken.Name = "broken"
	w.Make(broken)
	w.withHosts("host-0")
	w.manager()
	w.bound()
	w.expectEventOf("HostDeployPolicy/broken", "InvalidPolicy", gomega.ContainSubstring("tenant-["))
}

// Claims that the controller of baremetal-operator has bound change over one by one, as docs/operations.md has people
// do: the administrator puts the UID of the claim beside its name on the host. What the server runs stays.
func TestClaimsOfTheOtherControllerChangeOver(t *testing.T) {
	for name, before := range map[string]bool{"before they are deleted": true, "when they are deleted already": false} {
		t.Run(name, func(t *testing.T) { changesOver(t, before) })
	}
}

func changesOver(t *testing.T, before bool) {
	t.Helper()
	w := newWorld(t).withRights().withBoot()
	w.policy(nil, w.tenant)
	claim := w.claim("machine", withImage("boot"), func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{bmov1alpha1.HostClaimFinalizer}
	})
	w.MakeSecret(w.infra, "of-the-other", "userData", "#cloud-config")
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.Online, h.Spec.Image = true, claim.Spec.Image.DeepCopy()
		h.Spec.UserData = &corev1.SecretReference{Namespace: w.infra, Name: "of-the-other"}
		h.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim", Namespace: w.tenant, Name: "machine",
		}
		h.Status.PoweredOn, h.Status.Provisioning.State, h.Status.Provisioning.Image = true, bmov1alpha1.StateProvisioned, *h.Spec.Image
	})
	bound := w.readClaim("machine")
	bound.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: w.infra, Name: "host-0"}
	meta.SetStatusCondition(&bound.Status.Conditions, metav1.Condition{
		Type: associated, Status: metav1.ConditionTrue, Reason: bmov1alpha1.BareMetalHostAssociatedReason,
	})
	w.SetStatus(w.readClaim("machine"), bound.Status)
	w.manager()
	w.expect("machine", "hostclaim.metal3.io/StoodDown", "True/OtherController")
	drives := len(w.operator.drives)
	if !before {
		w.OK(w.Delete(w.Ctx, w.readClaim("machine")))
	}

	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.UID = claim.UID })
	if !before {
		w.expectGone("machine")
		w.expectPristine("host-0")
		return
	}
	w.expect("machine", "Ready", "True/Provisioned")
	w.G.Expect(meta.FindStatusCondition(w.readClaim("machine").Status.Conditions, "hostclaim.metal3.io/StoodDown")).To(gomega.BeNil())
	host := w.readHost("host-0")
	w.G.Expect(host.Spec.Image).To(gomega.Equal(claim.Spec.Image))
	w.G.Expect(host.Status.Provisioning.State).To(gomega.Equal(bmov1alpha1.StateProvisioned))
	w.G.Expect(w.operator.drives).To(gomega.HaveLen(drives), "nothing is written to the server")
	w.givenBack("host-0")
}
