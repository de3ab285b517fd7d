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

package claim

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var now = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

const imageURL = "https://images.example.com/os.raw"

func newClaim(edits ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant", Name: "machine", UID: "claim-uid", Generation: 3,
	}}
	for _, e := range edits {
		e(c)
	}
	return c
}

func newHost(namespace string, edits ...func(*bmov1alpha1.BareMetalHost)) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "host-0", UID: "host-uid"}}
	h.Status.Provisioning.State = bmov1alpha1.StateAvailable
	for _, e := range edits {
		e(h)
	}
	return h
}

// written is a host that knows what to write; online is one that is to be on or off.
func written(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = &bmov1alpha1.Image{URL: imageURL} }

func online(on bool) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = on }
}

func withImage(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: imageURL} }

func running(h *bmov1alpha1.BareMetalHost) {
	h.Spec.Image = &bmov1alpha1.Image{URL: imageURL}
	h.Status.Provisioning.State = bmov1alpha1.StateProvisioned
	h.Status.Provisioning.Image.URL = imageURL
	h.Status.PoweredOn = true
}

func inState(s bmov1alpha1.ProvisioningState) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = s }
}

func operational(s bmov1alpha1.OperationalStatus) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = s }
}

func failed(h *bmov1alpha1.BareMetalHost) {
	h.Status.ErrorType, h.Status.ErrorMessage = bmov1alpha1.PowerManagementError, "BMC 192.0.2.7 does not answer"
}

func recorded(status metav1.ConditionStatus, reason, message string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) {
		c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: bmov1alpha1.AssociatedCondition, Status: status, Reason: reason, Message: message,
		})
	}
}

// waiting gives a claim the status of one without a host.
func waiting(c *bmov1alpha1.HostClaim) {
	recorded(metav1.ConditionFalse, "NoBareMetalHost", "")(c)
	c.Status.BareMetalHost = nil
}

func going(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = &metav1.Time{Time: now} }

// given is what a pass observed and came to.
type given struct {
	claim           *bmov1alpha1.HostClaim
	otherController string
	decision        policy.Decision
	host            *bmov1alpha1.BareMetalHost
	step            binding.Step
	record          binding.Record

	bindWait, syncWait, hardwareWait, releaseWait binding.Wait

	hardware *bmov1alpha1.ObjectReference
}

func (g *given) scope() *scope {
	return &scope{claim: g.claim, otherController: g.otherController, decision: g.decision, host: g.host}
}

func (g *given) status(succeeded bool, now time.Time) bmov1alpha1.HostClaimStatus {
	s := g.scope()
	s.step, s.known.Record, s.hardware = g.step, g.record, g.hardware
	s.waits.bind, s.waits.sync, s.waits.publish, s.waits.release = g.bindWait, g.syncWait, g.hardwareWait, g.releaseWait
	return statusOf(s, succeeded, now)
}

// short returns the conditions as "Status/Reason" by type.
func short(status bmov1alpha1.HostClaimStatus) map[string]string {
	out := map[string]string{}
	for _, c := range status.Conditions {
		out[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return out
}

func TestStatusOf(t *testing.T) {
	facts := &bmov1alpha1.ObjectReference{Namespace: "tenant", Name: "machine-hostclaim"}
	host := &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
	boundConditions := func(change map[string]string) map[string]string {
		out := map[string]string{
			"Associated":                           "True/BareMetalHostAssociated",
			"Synchronized":                         "True/ConfigurationSynced",
			"AvailableForProvisioning":             "False/NotAvailable",
			"Provisioned":                          "True/Provisioned",
			"Ready":                                "True/Provisioned",
			infrav1.HardwareDataPublishedCondition: "True/Published",
			infrav1.AdmittedCondition:              "True/PolicyAdmits",
		}
		maps.Copy(out, change)
		return out
	}
	unbound := func(reason string) map[string]string {
		return map[string]string{
			"Associated": "False/" + reason, "Synchronized": "False/NotAssociated", "AvailableForProvisioning": "False/NotAssociated",
			"Provisioned": "False/NotAssociated", "Ready": "False/" + reason, infrav1.HardwareDataPublishedCondition: "False/NotAssociated",
		}
	}
	revoked := policy.Decision{Grants: map[string]policy.Grant{"other": {Admitted: true}}}
	withConditions := func(kinds ...string) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			for _, kind := range kinds {
				meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Before"})
			}
		}
	}
	tests := map[string]struct {
		given given
		fails bool
		want  map[string]string
		host  *bmov1alpha1.ObjectReference
		on    bool
	}{
		"runs what was asked for": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", running), hardware: facts},
			want:  boundConditions(nil), host: host, on: true,
		},
		"is bound and not provisioned yet": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra"), hardware: facts},
			want: boundConditions(map[string]string{
				"AvailableForProvisioning": "True/Available", "Provisioned": "False/NotProvisioned", "Ready": "False/NotProvisioned",
			}), host: host,
		},
		"is on its way to the image": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", written, online(true)), hardware: facts},
			want:  boundConditions(map[string]string{"AvailableForProvisioning": "True/Available", "Provisioned": "False/Provisioning", "Ready": "False/Provisioning"}), host: host,
		},
		"is told what to write, and to be off": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", written, online(false)), hardware: facts},
			want:  boundConditions(map[string]string{"AvailableForProvisioning": "True/Available", "Provisioned": "False/NotProvisioned", "Ready": "False/NotProvisioned"}), host: host,
		},
		"is provisioning": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", inState(bmov1alpha1.StateProvisioning)), hardware: facts},
			want:  boundConditions(map[string]string{"Provisioned": "False/Provisioning", "Ready": "False/Provisioning"}), host: host,
		},
		"is deprovisioning": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", inState(bmov1alpha1.StateDeprovisioning)), hardware: facts},
			want:  boundConditions(map[string]string{"Provisioned": "False/Deprovisioning", "Ready": "False/Deprovisioning"}), host: host,
		},
		"is in error before it is provisioned": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", failed, inState("")), hardware: facts},
			want:  boundConditions(map[string]string{"Provisioned": "False/Error", "Ready": "False/Error"}), host: host,
		},
		"is in error while it runs": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", running, failed), hardware: facts},
			want:  boundConditions(map[string]string{"Ready": "False/Error"}), host: host, on: true,
		},
		"is detached while it runs": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", running, operational(bmov1alpha1.OperationalStatusDetached)), hardware: facts},
			want:  boundConditions(map[string]string{"Ready": "False/Detached"}), host: host, on: true,
		},
		"is serviced while it runs": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", running, operational(bmov1alpha1.OperationalStatusServicing)), hardware: facts},
			want:  boundConditions(map[string]string{"Ready": "False/Servicing"}), host: host, on: true,
		},
		"waits for a secret": {
			given: given{
				claim: newClaim(withImage), step: binding.Keep, host: newHost("infra"), hardware: facts,
				syncWait: binding.Wait{Reason: "UserDataSecretSyncFailure", Message: "no secret"},
			},
			want: boundConditions(map[string]string{
				"Synchronized": "False/UserDataSecretSyncFailure", "AvailableForProvisioning": "True/Available",
				"Provisioned": "False/NotProvisioned", "Ready": "False/UserDataSecretSyncFailure",
			}), host: host,
		},
		"is in error and waits for a secret": {
			given: given{
				claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", failed), hardware: facts,
				syncWait: binding.Wait{Reason: "UserDataSecretSyncFailure", Message: "no secret"},
			},
			want: boundConditions(map[string]string{
				"Synchronized": "False/UserDataSecretSyncFailure", "AvailableForProvisioning": "True/Available",
				"Provisioned": "False/Error", "Ready": "False/Error",
			}), host: host,
		},
		"runs on after its policy was revoked": {
			given: given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", running), hardware: facts, decision: revoked},
			want:  boundConditions(map[string]string{infrav1.AdmittedCondition: "False/PolicyRevoked"}), host: host, on: true,
		},
		"ceases to say that policy admits it when its host is lost": {
			given: given{
				claim: newClaim(recorded(metav1.ConditionTrue, "BareMetalHostAssociated", ""), withConditions(infrav1.AdmittedCondition)),
				step:  binding.ReportLost,
			},
			want: unbound("MissingBareMetalHost"), host: host,
		},
		"has no facts of its host": {
			given: given{
				claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", running),
				hardwareWait: binding.Wait{Reason: "HardwareDataMissing", Message: "not yet"},
			},
			want: boundConditions(map[string]string{infrav1.HardwareDataPublishedCondition: "False/HardwareDataMissing"}), host: host, on: true,
		},
		"waits for a host": {
			given: given{claim: newClaim(), step: binding.Choose, bindWait: binding.Wait{Reason: "NoBareMetalHost", Message: "1 host seen"}},
			want:  unbound("NoBareMetalHost"),
		},
		"is kept for the next machine and has no host": {
			given: given{claim: newClaim(), step: binding.Rest, bindWait: binding.Wait{Reason: "Reserved", Message: "no host"}},
			want:  unbound("Reserved"),
		},
		"still names its lost host while something keeps it from having that again": {
			given: given{
				claim: newClaim(recorded(metav1.ConditionFalse, "MissingBareMetalHost", "")),
				step:  binding.Choose, record: binding.Lost, bindWait: binding.Wait{Reason: "BindRefused", Message: "no room"},
			},
			want: unbound("BindRefused"), host: host,
		},
		"keeps its intent when a bind failed on the way": {
			given: given{claim: newClaim(recorded(metav1.ConditionUnknown, "Binding", "")), step: binding.Choose},
			fails: true,
			want: map[string]string{
				"Associated": "Unknown/Binding", "Synchronized": "False/NotAssociated", "AvailableForProvisioning": "False/NotAssociated",
				"Provisioned": "False/NotAssociated", "Ready": "False/Binding", infrav1.HardwareDataPublishedCondition: "False/NotAssociated",
			}, host: host,
		},
		"says nothing new when nothing is known": {
			given: given{claim: newClaim(recorded(metav1.ConditionTrue, "BareMetalHostAssociated", ""))},
			fails: true,
			want:  map[string]string{"Associated": "True/BareMetalHostAssociated"}, host: host,
		},
		"has failed before it had any condition": {
			given: given{claim: newClaim(), step: binding.Choose},
			fails: true,
			want: map[string]string{
				"Synchronized": "False/NotAssociated", "AvailableForProvisioning": "False/NotAssociated", "Provisioned": "False/NotAssociated",
				"Ready": "False/NotAssociated", infrav1.HardwareDataPublishedCondition: "False/NotAssociated",
			},
		},
		"has lost its host": {
			given: given{claim: newClaim(recorded(metav1.ConditionTrue, "BareMetalHostAssociated", "")), step: binding.ReportLost},
			want:  unbound("MissingBareMetalHost"), host: host,
		},
		"goes and waits for its host": {
			given: given{
				claim: newClaim(going, recorded(metav1.ConditionTrue, "BareMetalHostAssociated", "")), step: binding.Release,
				host: newHost("infra"), releaseWait: binding.Wait{Reason: "HostDeprovisioning", Message: "waits"},
			},
			want: map[string]string{
				"Associated": "True/BareMetalHostAssociated", "Ready": "False/HostDeprovisioning", infrav1.AdmittedCondition: "True/PolicyAdmits",
				"Synchronized": "False/HostClaimDeleting", "AvailableForProvisioning": "False/NotAvailable", "Provisioned": "False/Deprovisioning",
			}, host: host,
		},
		"goes while its host is deprovisioned": {
			given: given{
				claim: newClaim(going, withImage, recorded(metav1.ConditionTrue, "BareMetalHostAssociated", ""),
					withConditions("Synchronized", "Provisioned", "AvailableForProvisioning", infrav1.HardwareDataPublishedCondition)),
				step: binding.Release, host: newHost("infra", running, func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = nil }, inState(bmov1alpha1.StateDeprovisioning)),
				releaseWait: binding.Wait{Reason: "HostDeprovisioning", Message: "waits"},
			},
			want: map[string]string{
				"Associated": "True/BareMetalHostAssociated", "Ready": "False/HostDeprovisioning", infrav1.AdmittedCondition: "True/PolicyAdmits",
				"Synchronized": "False/HostClaimDeleting", "AvailableForProvisioning": "False/NotAvailable", "Provisioned": "False/Deprovisioning",
				infrav1.HardwareDataPublishedCondition: "True/Before",
			}, host: host, on: true,
		},
		"goes": {
			given: given{claim: newClaim(going), step: binding.Finish},
			want:  map[string]string{"Ready": "False/HostClaimDeleting"},
		},
		"takes back that it left the claim to another controller": {
			given: given{claim: newClaim(withImage, func(c *bmov1alpha1.HostClaim) {
				meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
					Type: infrav1.StoodDownCondition, Status: metav1.ConditionTrue, Reason: "OtherController",
				})
			}), step: binding.Keep, host: newHost("infra", running), hardware: facts},
			want: boundConditions(nil), host: host, on: true,
		},
		"leaves the claim to another controller": {
			given: given{claim: newClaim(), otherController: "baremetal-operator"},
			want:  map[string]string{infrav1.StoodDownCondition: "True/OtherController"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.given.decision.Grants == nil {
				tt.given.decision = policy.Decision{Grants: map[string]policy.Grant{"infra": {Admitted: true}}}
			}
			got := tt.given.status(!tt.fails, now)
			expect.Equal(t, tt.want, short(got))
			expect.Equal(t, tt.host, got.BareMetalHost)
			expect.Equal(t, tt.on, got.PoweredOn)
			again := tt.given
			again.claim = again.claim.DeepCopy()
			again.claim.Status = got
			expect.Equal(t, got, again.status(!tt.fails, now.Add(time.Hour))) // an hour later it is the same
		})
	}
}

// A reader of a condition must know which spec it is about, and since when it holds.
func TestConditionsSayOfWhichGenerationAndSinceWhen(t *testing.T) {
	given := given{claim: newClaim(withImage), step: binding.Keep, host: newHost("infra", inState(bmov1alpha1.StateProvisioning))}
	first := given.status(true, now)
	later := now.Add(time.Hour)
	given.claim.Status, given.claim.Generation, given.host = first, 4, newHost("infra", running)
	second := given.status(true, later)
	for _, c := range second.Conditions {
		expect.That(t, c.ObservedGeneration == 4, "%s is about generation %d, want 4", c.Type, c.ObservedGeneration)
		was := meta.FindStatusCondition(first.Conditions, c.Type)
		expect.That(t, was.ObservedGeneration == 3, "%s was about generation %d, want 3", c.Type, was.ObservedGeneration)
		want := now
		if was.Status != c.Status {
			want = later
		}
		expect.That(t, c.LastTransitionTime.Time.Equal(want), "%s went from %s to %s at %s, want %s", c.Type, was.Status, c.Status, c.LastTransitionTime, want)
	}
	changed := map[string]string{}
	for kind, now := range short(second) {
		if short(first)[kind] != now {
			changed[kind] = now
		}
	}
	expect.Equal(t, map[string]string{"Provisioned": "True/Provisioned", "Ready": "True/Provisioned"}, changed)
}

// Whatever the status of a host contains, a tenant of another namespace reads only words of a
// fixed list. That of the types of errors is in the schema of BareMetalHosts.
func TestNothingFreeOfAHostReachesAnotherNamespace(t *testing.T) {
	const secret = "ipmi://192.0.2.7"
	claim := newClaim(withImage)
	host := newHost("infra", func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.BMC = bmov1alpha1.BMCDetails{Address: secret, CredentialsName: secret}
		h.Spec.Image = &bmov1alpha1.Image{URL: secret}
		h.Spec.ConsumerRef = &corev1.ObjectReference{Name: secret}
		h.Status.Provisioning.State, h.Status.Provisioning.Image.URL = secret, secret
		h.Status.ErrorType, h.Status.ErrorMessage, h.Status.OperationalStatus = bmov1alpha1.RegistrationError, secret, secret
	})
	for name, given := range map[string]given{
		"alive": {claim: claim, step: binding.Keep, host: host},
		"going": {claim: newClaim(going), step: binding.Release, host: host},
	} {
		t.Run(name, func(t *testing.T) {
			status := given.status(true, now)
			given.claim.Status = status
			told := fmt.Sprint(status, transitions(bmov1alpha1.HostClaimStatus{}, given.scope()))
			expect.That(t, !strings.Contains(told, "192.0.2.7"), "told: %s", told)
			expect.That(t, strings.Contains(told, "The host is in error"), "the error is not told: %s", told)
		})
	}
}

func TestExplanationIsNotWrittenForCountsAlone(t *testing.T) {
	was := newClaim(func(c *bmov1alpha1.HostClaim) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionFalse, Reason: "NoBareMetalHost", Message: "9 hosts seen: 9 in use",
		})
	})
	tests := map[string]struct{ now, want string }{
		"other counts":  {"8 hosts seen: 8 in use", "9 hosts seen: 9 in use"},
		"other reasons": {"8 hosts seen: 7 in use, 1 in error", "8 hosts seen: 7 in use, 1 in error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &given{claim: was, step: binding.Choose, bindWait: binding.Wait{Reason: "NoBareMetalHost", Message: tt.now}}
			got := meta.FindStatusCondition(s.status(true, now).Conditions, bmov1alpha1.AssociatedCondition)
			expect.Equal(t, tt.want, got.Message)
		})
	}
}

// A message may repeat what a tenant or a server wrote. The API server would
// refuse a whole status for one long message.
func TestEveryMessageIsCut(t *testing.T) {
	text := strings.Repeat("ä€", 20_000)
	tests := map[string]given{
		"that says why there is no host": {
			claim: newClaim(), step: binding.Choose, bindWait: binding.Wait{Reason: "NoBareMetalHost", Message: text},
		},
		"that says why the host is not synchronized, or its facts not published": {
			claim: newClaim(withImage), step: binding.Keep, host: newHost("tenant"),
			syncWait: binding.Wait{Reason: "ImageRefused", Message: text}, hardwareWait: binding.Wait{Reason: "PolicyRevoked", Message: text},
		},
		"that repeats an error of the host": {
			claim: newClaim(withImage), step: binding.Keep,
			host: newHost("tenant", func(h *bmov1alpha1.BareMetalHost) { h.Status.ErrorMessage = text }),
		},
		"of a claim that goes": {
			claim: newClaim(going), step: binding.Release, host: newHost("infra"), releaseWait: binding.Wait{Reason: "HostInError", Message: text},
		},
		"that names another controller": {claim: newClaim(), otherController: text},
	}
	for name, given := range tests {
		t.Run(name, func(t *testing.T) {
			cut := 0
			for _, c := range given.status(true, now).Conditions {
				expect.That(t, len(c.Message) <= 1024 && utf8.ValidString(c.Message), "%s has %d bytes, valid %t", c.Type, len(c.Message), utf8.ValidString(c.Message))
				if strings.HasSuffix(c.Message, "…") {
					cut++
				}
			}
			expect.That(t, cut != 0, "no message shows that it was cut")
		})
	}
}

func TestHostError(t *testing.T) {
	givenUp := func(h *bmov1alpha1.BareMetalHost) {
		h.Status.ErrorType, h.Status.ErrorMessage, h.Status.ErrorCount = bmov1alpha1.ProvisioningError, "no image at http://192.0.2.7/", 5
	}
	mute := func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = bmov1alpha1.OperationalStatusError }
	untyped := func(h *bmov1alpha1.BareMetalHost) { h.Status.ErrorMessage = "lost" }
	tests := map[string]struct {
		host     *bmov1alpha1.BareMetalHost
		crossing bool
		want     string
	}{
		"no host has no error":                    {nil, false, ""},
		"a healthy host has none":                 {newHost("infra"), true, ""},
		"its text stays in its namespace":         {newHost("infra", failed), true, "The host is in error (power management error); the infrastructure team sees the text of it on the host"},
		"its text is shown in the same namespace": {newHost("tenant", failed), false, "The host is in error (power management error): BMC 192.0.2.7 does not answer"},
		"a host that may have been given up says so": {
			newHost("infra", givenUp), true, "The host is in error (provisioning error); from release 0.14 on, baremetal-operator gives up after " +
				"5 failures of one image: have the server written anew with another one, or delete the claim; the infrastructure team sees the text of it on the host",
		},
		"an error without a type is still an error": {newHost("tenant", untyped), false, "The host is in error: lost"},
		"so is one without a text":                  {newHost("tenant", mute), false, "The host is in error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, is := hostError(tt.host, tt.crossing)
			expect.That(t, got == tt.want && is == (tt.want != ""), "hostError() = %q, %t, want %q", got, is, tt.want)
		})
	}
}

func TestOtherController(t *testing.T) {
	managers := func(names ...string) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			c.ManagedFields = append(c.ManagedFields, metav1.ManagedFieldsEntry{Manager: "tenant"})
			for _, name := range names {
				c.ManagedFields = append(c.ManagedFields, metav1.ManagedFieldsEntry{Manager: name, Subresource: "status"})
			}
		}
	}
	stood := func(c *bmov1alpha1.HostClaim) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: infrav1.StoodDownCondition, Status: metav1.ConditionTrue, Reason: "x"})
	}
	bound := recorded(metav1.ConditionTrue, "BareMetalHostAssociated", "")
	intended := recorded(metav1.ConditionUnknown, "Binding", "")
	marked := func(c *bmov1alpha1.HostClaim) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: infrav1.HardwareDataPublishedCondition, Status: metav1.ConditionFalse, Reason: "NotAssociated",
		})
	}
	waits := func(c *bmov1alpha1.HostClaim) {
		recorded(metav1.ConditionFalse, "NoBareMetalHost", "")(c)
		c.Status.BareMetalHost = nil
	}
	tests := map[string]struct {
		claim *bmov1alpha1.HostClaim
		own   bool
		want  string
	}{
		"no one on a new claim":                      {newClaim(), false, ""},
		"not we ourselves":                           {newClaim(managers("hostclaim-manager")), false, ""},
		"another one":                                {newClaim(managers("hostclaim-manager", "bmo", "x")), false, "bmo"},
		"another one that has bound the claim":       {newClaim(managers("bmo"), bound), false, "bmo"},
		"not on a claim that we bound":               {newClaim(managers("hostclaim-manager", "bmo"), bound, marked), false, ""},
		"not on a claim that we are binding":         {newClaim(managers("hostclaim-manager"), intended), false, ""},
		"not on a claim whose host names it":         {newClaim(managers("bmo"), stood), true, ""},
		"not on a claim that goes":                   {newClaim(managers("bmo"), going), false, ""},
		"not an administrator":                       {newClaim(managers("kubectl-edit")), false, ""},
		"still, once we stood down":                  {newClaim(managers("hostclaim-manager"), stood), false, "unknown"},
		"and its name, once we stood down before it": {newClaim(managers("bmo"), stood), false, "bmo"},

		// A tenant that may write a claim may also rewrite its managedFields.
		"by the host it has recorded, with the field managers erased":        {newClaim(bound), false, "unknown"},
		"by its own wait for a host, with the field managers erased":         {newClaim(waits), false, "unknown"},
		"by the host it has recorded, with ours forged":                      {newClaim(managers("hostclaim-manager"), bound), false, "unknown"},
		"by the host it has recorded since we stood down":                    {newClaim(marked, bound, stood), false, "unknown"},
		"not on a claim that we bound, with another one forged":              {newClaim(managers("bmo"), bound, marked), false, ""},
		"not on a claim that we are binding, with another one forged":        {newClaim(managers("bmo"), intended), false, ""},
		"not on a claim that waits for a host, with the field managers gone": {newClaim(waits, marked), false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, otherController(tt.claim, tt.own)) })
	}
}

// An administrator of hosts can write any consumerRef, mark and annotation on a
// host, and no status of a claim.
func TestOwnHost(t *testing.T) {
	named := func(names ...string) []bmov1alpha1.BareMetalHost {
		var out []bmov1alpha1.BareMetalHost
		for _, name := range names {
			host := binding.Bind(newHost("infra"), newClaim())
			host.Name = name
			out = append(out, *host)
		}
		return out
	}
	unmarked := named("a")
	unmarked[0].Labels = nil
	bound := recorded(metav1.ConditionTrue, "x", "")
	tests := map[string]struct {
		claim *bmov1alpha1.HostClaim
		hosts []bmov1alpha1.BareMetalHost
		want  string
	}{
		"none when no host names the claim":              {newClaim(bound), nil, ""},
		"the recorded one of several":                    {newClaim(bound), named("a", "host-0", "b"), "host-0"},
		"the intended one":                               {newClaim(recorded(metav1.ConditionUnknown, "Binding", "")), named("host-0"), "host-0"},
		"a lost one that came back":                      {newClaim(recorded(metav1.ConditionFalse, "x", "")), named("host-0"), "host-0"},
		"the marked one when the status was lost":        {newClaim(held), named("host-7"), "host-7"},
		"the first of several when the status was lost":  {newClaim(held), named("c", "a", "b"), "a"},
		"not one that only names the claim":              {newClaim(held), unmarked, ""},
		"not one that carries the marks of a new claim":  {newClaim(), named("a"), ""},
		"not one that names a waiting claim":             {newClaim(waiting), named("a"), ""},
		"not one that names a claim with another host":   {newClaim(bound), named("a"), ""},
		"not one that names a claim with another intent": {newClaim(recorded(metav1.ConditionUnknown, "Binding", "")), named("a"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if host := ownHost(tt.claim, tt.hosts); host != nil {
				got = host.Name
			}
			expect.Equal(t, tt.want, got)
		})
	}
}
