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

package identity

import (
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func TestKeepable(t *testing.T) {
	holds := func(kind string) metav1.Condition { return metav1.Condition{Type: kind, Status: metav1.ConditionTrue} }
	tests := map[string]struct {
		seen    types.UID
		change  func(*Local)
		reason  string
		message string
	}{
		"the claim of a running server is handed over": {seen: "claim-uid"},
		"credentials for another namespace are refused": {
			seen: "claim-uid", change: func(l *Local) { l.Target.Namespace = "b" }, reason: "LeadsElsewhere", message: `namespace "b"`,
		},
		"credentials for another cluster are refused":     {reason: "LeadsElsewhere", message: "this very cluster"},
		"a claim of that name in another cluster is none": {seen: "other-uid", reason: "LeadsElsewhere", message: target.Server},
		"a claim that is being deleted stays": {
			seen: "claim-uid", change: func(l *Local) { l.Claim.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }, reason: "ClaimBusy",
		},
		"a claim that is being provisioned stays": {
			seen: "claim-uid", change: func(l *Local) { l.Claim.Status.Conditions = l.Claim.Status.Conditions[:1] }, reason: "ClaimBusy", message: `"m-1"`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := Local{Target: target, Seen: tt.seen, Claim: &bmov1alpha1.HostClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "m-1", UID: "claim-uid"},
				Spec:       bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "http://x/i"}},
				Status: bmov1alpha1.HostClaimStatus{
					BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"},
					Conditions:    []metav1.Condition{holds("Associated"), holds("Provisioned")},
				},
			}}
			if tt.change != nil {
				tt.change(&l)
			}
			got := l.Keepable(ref)
			if got == nil {
				got = &Problem{}
			}
			if got.Reason != tt.reason || !strings.Contains(got.Message, tt.message) {
				t.Errorf("got %+v, want reason %q with %q", got, tt.reason, tt.message)
			}
		})
	}
}

func TestNextKeep(t *testing.T) {
	tests := map[string]struct {
		given Keeping
		want  KeepStep
	}{
		"a recorded claim is handed over":             {Keeping{Requested: true, Known: true, Here: true, Owned: true}, HandOver},
		"a claim that was handed over stays so":       {Keeping{Requested: true, Known: true, Here: true}, KeepNothing},
		"a machine that was moved finds nothing here": {Keeping{Requested: true, Known: true}, KeepNothing},
		"a request taken back takes the claim back":   {Keeping{Known: true, Here: true}, TakeBack},
		"then the record goes":                        {Keeping{Known: true, Here: true, Owned: true}, Forget},
		"a machine that was moved takes nothing back": {Keeping{Known: true}, KeepNothing},
		"nothing is taken back on a guess":            {Keeping{Here: true}, KeepNothing},
		"nothing is handed over on a guess":           {Keeping{Here: true, Owned: true}, KeepNothing},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := NextKeep(tt.given); got != tt.want {
				t.Errorf("got step %d, want %d", got, tt.want)
			}
		})
	}
}
