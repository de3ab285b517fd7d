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

package keep

import (
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestKeepable shows what is refused. The writes are tried in test/machine.
func TestKeepable(t *testing.T) {
	holds := func(kind string) metav1.Condition { return metav1.Condition{Type: kind, Status: metav1.ConditionTrue} }
	for name, tc := range map[string]struct {
		namespace string
		seen      types.UID
		change    func(*bmov1alpha1.HostClaim)
		message   string // empty if it is not refused
	}{
		"the very claim of the machine":                   {namespace: "a", seen: "claim-uid"},
		"credentials for another namespace":               {namespace: "b", seen: "claim-uid", message: `namespace "b"`},
		"credentials for another cluster":                 {namespace: "a", message: "this very cluster"},
		"a claim of that name in another cluster is none": {namespace: "a", seen: "other-uid", message: "https://hosts.example"},
		"a claim that is being deleted": {
			namespace: "a", seen: "claim-uid", message: "unpause",
			change: func(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) },
		},
		"a server that does not run the image yet": {
			namespace: "a", seen: "claim-uid", message: "unpause",
			change: func(c *bmov1alpha1.HostClaim) { c.Status.Conditions = c.Status.Conditions[:1] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &bmov1alpha1.HostClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "m-1", UID: "claim-uid"},
				Spec:       bmov1alpha1.HostClaimSpec{Image: &bmov1alpha1.Image{URL: "http://x/i"}},
				Status: bmov1alpha1.HostClaimStatus{
					BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"},
					Conditions:    []metav1.Condition{holds("Associated"), holds("Provisioned")},
				},
			}
			if tc.change != nil {
				tc.change(claim)
			}
			err := keepable(claim, identity.Ref{Secret: "hosts"}, identity.Target{Server: "https://hosts.example", Namespace: tc.namespace}, tc.seen)
			expect.That(t, (err != nil) == (tc.message != "") && (err == nil || strings.Contains(err.Error(), tc.message)), "error is %v, want one with %q", err, tc.message)
		})
	}
}
