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
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// told is a notice without its note.
type told struct {
	To                   reader
	Kind, Reason, Action string
}

const (
	associated   = bmov1alpha1.AssociatedCondition
	synchronized = bmov1alpha1.SynchronizedCondition
	isReady      = bmov1alpha1.ReadyCondition
)

// conditionsOf makes conditions of pairs of a type and "Status/Reason".
func conditionsOf(pairs map[string]string) []metav1.Condition {
	var out []metav1.Condition
	for kind, value := range pairs {
		status, reason, _ := strings.Cut(value, "/")
		meta.SetStatusCondition(&out, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: "message of " + reason})
	}
	return out
}

func TestTransitions(t *testing.T) {
	type conditions map[string]string
	live, gone := newClaim(), newClaim(going)
	host, broken := newHost("infra"), newHost("infra", failed)
	claimed := []told{{tenant, "Normal", "Bound", "Bind"}}
	warned := func(reason, action string) []told { return []told{{tenant, "Warning", reason, action}} }
	both := func(kind, toTenant, toAdministrator, action string) []told {
		return []told{{tenant, kind, toTenant, action}, {administrator, kind, toAdministrator, action}}
	}
	tests := map[string]struct {
		before, after conditions
		claim         *bmov1alpha1.HostClaim // a live one unless given
		host          *bmov1alpha1.BareMetalHost
		want          []told
	}{
		"nothing of a new claim that waits for a free host": {after: conditions{associated: "False/NoBareMetalHost", isReady: "False/NoBareMetalHost"}},
		"an intent is not told": {
			before: conditions{associated: "False/NoBareMetalHost"}, after: conditions{associated: "Unknown/Binding"}, host: host,
		},
		"a bind": {before: conditions{associated: "Unknown/Binding"}, after: conditions{associated: "True/BareMetalHostAssociated"}, host: host, want: claimed},
		"a bind that was reported by a later pass, without its intent": {after: conditions{associated: "True/BareMetalHostAssociated"}, host: host, want: claimed},
		"a host that stays bound": {
			before: conditions{associated: "True/BareMetalHostAssociated", isReady: "True/Provisioned"},
			after:  conditions{associated: "True/BareMetalHostAssociated", isReady: "True/Provisioned"}, host: host,
		},
		"a lost host": {
			before: conditions{associated: "True/BareMetalHostAssociated"}, after: conditions{associated: "False/MissingBareMetalHost"},
			want: warned("HostLost", "Observe"),
		},
		"a host that stays lost": {before: conditions{associated: "False/MissingBareMetalHost"}, after: conditions{associated: "False/MissingBareMetalHost"}},
		"a host that stays lost after it was nearly bound again": {
			before: conditions{associated: "Unknown/MissingBareMetalHost"}, after: conditions{associated: "False/MissingBareMetalHost"},
		},
		"a selector that cannot be understood": {
			before: conditions{associated: "False/NoBareMetalHost"}, after: conditions{associated: "False/InvalidHostSelector"},
			want: warned("InvalidHostSelector", "Bind"),
		},
		"that no policy admits the namespace": {after: conditions{associated: "False/NoNamespaceAdmits"}, want: warned("NoNamespaceAdmits", "Bind")},

		"nothing of a limit on power changes": {
			before: conditions{synchronized: "True/ConfigurationSynced"}, after: conditions{synchronized: "False/PowerChangesLimited"}, host: host,
		},
		"a refused image": {
			before: conditions{synchronized: "True/ConfigurationSynced"}, after: conditions{synchronized: "False/ImageRefused"}, host: host,
			want: warned("ImageRefused", "Synchronize"),
		},
		"a secret that is missing after an image was refused": {
			before: conditions{synchronized: "False/ImageRefused"}, after: conditions{synchronized: "False/UserDataSecretSyncFailure"}, host: host,
			want: warned("UserDataSecretSyncFailure", "Synchronize"),
		},
		"a rebuild, which has events of its own": {
			before: conditions{synchronized: "True/ConfigurationSynced"}, after: conditions{synchronized: "False/Rebuilding"}, host: host,
		},
		"a host that is wiped for a reservation": {
			before: conditions{synchronized: "True/ConfigurationSynced"}, after: conditions{synchronized: "False/HostDeprovisioning"}, host: host,
		},
		"a rebuild that a paused host holds up": {
			before: conditions{synchronized: "False/Rebuilding"}, after: conditions{synchronized: "False/HostPaused"}, host: host,
			want: warned("HostPaused", "Synchronize"),
		},
		"a secret that stays missing": {
			before: conditions{synchronized: "False/UserDataSecretSyncFailure"}, after: conditions{synchronized: "False/UserDataSecretSyncFailure"}, host: host,
		},
		"a request that is tried again is not told": {
			before: conditions{synchronized: "True/ConfigurationSynced"}, after: conditions{synchronized: "False/BareMetalHostNotSynchronized"}, host: host,
		},
		"a foreign object under the name of the facts": {
			after: conditions{infrav1.HardwareDataPublishedCondition: "False/HardwareDataNameTaken"}, host: host, want: warned("HardwareDataNameTaken", "Publish"),
		},
		"facts that are not there yet are not told": {after: conditions{infrav1.HardwareDataPublishedCondition: "False/HardwareDataMissing"}, host: host},

		"a policy that was revoked, once": {
			before: conditions{infrav1.AdmittedCondition: "True/PolicyAdmits", synchronized: "True/ConfigurationSynced"},
			after: conditions{
				infrav1.AdmittedCondition: "False/PolicyRevoked", synchronized: "False/PolicyRevoked",
				infrav1.HardwareDataPublishedCondition: "False/PolicyRevoked",
			}, host: host, want: both("Warning", "PolicyRevoked", "PolicyRevoked", "Admit"),
		},
		"a policy that came back": {
			before: conditions{infrav1.AdmittedCondition: "False/PolicyRevoked"}, after: conditions{infrav1.AdmittedCondition: "True/PolicyAdmits"}, host: host,
			want: both("Normal", "PolicyAdmits", "PolicyAdmits", "Admit"),
		},
		"a policy that admits a new claim is not told": {after: conditions{infrav1.AdmittedCondition: "True/PolicyAdmits"}, host: host},

		"a host that is being written": {
			before: conditions{"Provisioned": "False/NotProvisioned"}, after: conditions{"Provisioned": "False/Provisioning"}, host: host,
			want: []told{{tenant, "Normal", "ProvisioningStarted", "Provision"}},
		},
		"a host that is still being written": {before: conditions{"Provisioned": "False/Provisioning"}, after: conditions{"Provisioned": "False/Provisioning"}, host: host},
		"a host that runs what was asked for": {
			before: conditions{"Provisioned": "False/Provisioning"}, after: conditions{"Provisioned": "True/Provisioned"}, host: host,
			want: []told{{tenant, "Normal", "Provisioned", "Provision"}},
		},
		"an error of the host": {
			before: conditions{isReady: "True/Provisioned"}, after: conditions{isReady: "False/Error"}, host: broken,
			want: both("Warning", "HostError", "ClaimAffected", "Observe"),
		},
		"an error that lasts": {before: conditions{isReady: "False/Error"}, after: conditions{isReady: "False/Error"}, host: broken},
		"an error that lasts while the claim is deleted": {
			before: conditions{isReady: "False/Error", synchronized: "False/HostClaimDeleting"},
			after:  conditions{isReady: "False/HostInError", synchronized: "False/HostClaimDeleting"}, claim: gone, host: broken,
		},
		"an error that is gone": {
			before: conditions{isReady: "False/Error"}, after: conditions{isReady: "True/Provisioned"}, host: host,
			want: both("Normal", "HostErrorGone", "ClaimUnaffected", "Observe"),
		},
		"an error is not gone with the host": {
			before: conditions{isReady: "False/Error"}, after: conditions{isReady: "False/MissingBareMetalHost", associated: "False/MissingBareMetalHost"},
			want: warned("HostLost", "Observe"),
		},
		"an error is not gone because another reason comes first": {
			before: conditions{isReady: "False/HostInError"}, after: conditions{isReady: "False/HostPaused"}, claim: gone, host: broken,
			want: both("Warning", "ReleaseHeld", "ReleaseHeld", "Release"),
		},

		"a release that takes time": {
			before: conditions{synchronized: "True/ConfigurationSynced", isReady: "True/Provisioned"},
			after:  conditions{synchronized: "False/HostClaimDeleting", isReady: "False/HostDeprovisioning"}, claim: gone, host: host,
			want: []told{{tenant, "Normal", "Releasing", "Release"}},
		},
		"a release that goes on": {
			before: conditions{synchronized: "False/HostClaimDeleting", isReady: "False/HostDeprovisioning"},
			after:  conditions{synchronized: "False/HostClaimDeleting", isReady: "False/HostPoweringOff"}, claim: gone, host: host,
		},
		"a release that is held up": {
			before: conditions{synchronized: "False/HostClaimDeleting", isReady: "False/HostDeprovisioning"},
			after:  conditions{synchronized: "False/HostClaimDeleting", isReady: "False/HostDetached"}, claim: gone, host: host,
			want: both("Warning", "ReleaseHeld", "ReleaseHeld", "Release"),
		},
		"the end of a claim without a host is not told": {before: conditions{isReady: "False/NoBareMetalHost"}, after: conditions{isReady: "False/HostClaimDeleting"}, claim: gone},

		"another controller": {after: conditions{infrav1.StoodDownCondition: "True/OtherController"}, want: warned("StoodDown", "Observe")},
		"another controller that is still there": {
			before: conditions{infrav1.StoodDownCondition: "True/OtherController"}, after: conditions{infrav1.StoodDownCondition: "True/OtherController"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := live
			if tt.claim != nil {
				claim = tt.claim
			}
			s := &scope{claim: claim.DeepCopy(), host: tt.host}
			s.claim.Status.Conditions = conditionsOf(tt.after)
			var got []told
			for _, n := range transitions(bmov1alpha1.HostClaimStatus{Conditions: conditionsOf(tt.before)}, s) {
				got = append(got, told{n.to, n.kind, n.reason, n.action})
				expect.That(t, n.note != "" && len(n.note) <= maxMessage, "%s has a note of %d bytes", n.reason, len(n.note))
				expect.That(t, n.to != administrator || tt.host != nil, "%s is about a host that is not there", n.reason)
			}
			expect.Equal(t, tt.want, got)
			again := transitions(s.claim.Status, s)
			expect.That(t, again == nil, "told again: %v", again)
		})
	}
}

// The notes are for two readers: the tenant learns nothing of the infrastructure
// but the name of its host.
func TestNotes(t *testing.T) {
	s := &scope{claim: newClaim(), host: newHost("infra", failed)}
	s.claim.Status.Conditions = conditionsOf(map[string]string{associated: "True/BareMetalHostAssociated", isReady: "False/Error"})
	want := map[reader][]string{
		tenant: {
			"Host host-0 of namespace infra answers this claim",
			"The host is in error (power management error); the infrastructure team sees the text of it on the host",
		},
		administrator: {
			"The error of this host affects HostClaim machine of namespace tenant",
		},
	}
	got := map[reader][]string{}
	for _, n := range transitions(bmov1alpha1.HostClaimStatus{}, s) {
		got[n.to] = append(got[n.to], n.note)
	}
	expect.Equal(t, want, got)
}
