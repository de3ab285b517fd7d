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
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestHistoryNotices shows that the history of a run would tell of each
// invariant that is broken, and is silent about a run as it should be.
func TestHistoryNotices(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		given []any
		want  string // part of the only violation; empty for none
	}{
		"nothing in a bind, a release and the next bind": {
			[]any{
				someHost("h", 1, ""), someHost("h", 2, "one"), someClaim("one", "h"), someCopy("one", 3, false),
				someCopy("one", 5, true), someHost("h", 6, ""), leaving(someClaim("one", "h")), someHost("h", 7, "two"), someClaim("two", "h"),
			}, "",
		},
		"nothing in a move of host and claim, there and back": {
			[]any{
				moved(someHost("h", 1, "one"), "bound"), gone(moved(someHost("h", 3, "one"), "bound")),
				moved(someHost("h", 4, "two"), "old"), moved(called(someHost("h", 5, "three"), "two"), "new"),
			}, "",
		},
		"a host that was deleted under its claim":  {[]any{someHost("h", 1, "one"), gone(someHost("h", 2, "one"))}, "was deleted while"},
		"a host that another claim took in a move": {[]any{moved(someHost("h", 1, "one"), "old"), moved(someHost("h", 2, "two"), "new")}, "without being free"},
		"a claim with two hosts":                   {[]any{someHost("h", 1, "one"), someHost("i", 2, "one")}, "has the hosts"},
		"a host with two claims":                   {[]any{someClaim("one", "h"), someClaim("two", "h")}, "both report host"},
		"a host that was never free":               {[]any{someHost("h", 1, "one"), someHost("h", 2, "two")}, "without being free"},
		"a release before the image went":          {[]any{someHost("h", 1, "one"), holding(someHost("h", 2, ""))}, "freed with image"},
		"a release before the data went":           {[]any{someHost("h", 1, "one"), knowing(someHost("h", 2, ""))}, "references to data"},
		"a release without cleaning":               {[]any{dirty(someHost("h", 1, "one")), someHost("h", 2, "")}, "cleaning mode"},
		"a release before a secret went":           {[]any{someHost("h", 1, "one"), someCopy("one", 2, false), someHost("h", 3, ""), someCopy("one", 4, true)}, "while secret"},
		"a secret that stays":                      {[]any{someHost("h", 1, "one"), someCopy("one", 2, false), someHost("h", 3, "")}, "while secret"},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			h := newHistory()
			for _, object := range tt.given {
				h.replay(object)
			}
			got := h.violations()
			if ok := tt.want == "" && len(got) == 0 || len(got) == 1 && tt.want != "" && strings.Contains(got[0], tt.want); !ok {
				t.Errorf("got violations %q, want one with %q", got, tt.want)
			}
		})
	}
}

// replay shows the history one version. A host or secret with a deletionTimestamp is gone.
func (h *history) replay(object any) {
	switch o := object.(type) {
	case *bmov1alpha1.BareMetalHost:
		h.seeHost(o, o.DeletionTimestamp != nil)
	case *bmov1alpha1.HostClaim:
		h.seeClaim(o, false)
	case *corev1.Secret:
		h.seeCopy(o, o.DeletionTimestamp != nil)
	}
}

// someHost is a version of a host that one claim, or none, has.
func someHost(name string, version int, claim types.UID) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, ResourceVersion: fmt.Sprint(version)}}
	host.Status.Provisioning.State = bmov1alpha1.StateAvailable
	if claim != "" {
		host.Spec.ConsumerRef = &corev1.ObjectReference{Namespace: "tenant", Name: string(claim), UID: claim}
		host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
	}
	return host
}

// moved is a host that clusterctl takes away, or that came so and was bound as another.
func moved(host *bmov1alpha1.BareMetalHost, uid types.UID) *bmov1alpha1.BareMetalHost {
	host.Namespace, host.UID = host.Spec.ConsumerRef.Namespace, uid
	host.Annotations = map[string]string{infrav1.BoundHostUIDAnnotation: "bound", clusterctlv1.DeleteForMoveAnnotation: ""}
	return host
}

// called gives the claim of the host another name.
func called(host *bmov1alpha1.BareMetalHost, claim string) *bmov1alpha1.BareMetalHost {
	host.Spec.ConsumerRef.Name = claim
	return host
}

func gone(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	now := metav1.Now()
	host.DeletionTimestamp = &now
	return host
}

func holding(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	host.Status.Provisioning.Image.URL = "http://images.example.com/node"
	return host
}

func knowing(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	host.Spec.UserData = &corev1.SecretReference{Name: "data"}
	return host
}

func dirty(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
	return host
}

// someClaim is a claim that reports a host.
func someClaim(uid types.UID, host string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: string(uid), UID: uid},
		Status: bmov1alpha1.HostClaimStatus{
			BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: host},
			Conditions:    []metav1.Condition{{Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionTrue}},
		},
	}
}

func leaving(claim *bmov1alpha1.HostClaim) *bmov1alpha1.HostClaim {
	now := metav1.Now()
	claim.DeletionTimestamp = &now
	return claim
}

// someCopy is a secret that was copied for a claim.
func someCopy(claim types.UID, version int, gone bool) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "infra", Name: "copy-" + string(claim), ResourceVersion: fmt.Sprint(version),
		Labels: map[string]string{infrav1.SecretClaimUIDLabel: string(claim)},
	}}
	if gone {
		now := metav1.Now()
		secret.DeletionTimestamp = &now
	}
	return secret
}
