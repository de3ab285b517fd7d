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

package claims

import (
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestHostileStatus has the administrator of the claim's cluster write what no
// condition of a machine can take.
func TestHostileStatus(t *testing.T) {
	host := func(namespace, name string) change {
		return func(c *bmov1alpha1.HostClaim) {
			c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: namespace, Name: name}
		}
	}
	associated := with("Associated", metav1.ConditionTrue, "BareMetalHostAssociated", "")
	refused := func(reason, message string) []change {
		return []change{toHost, associated, with("Synchronized", metav1.ConditionFalse, reason, message)}
	}
	failed := func(reason, message string) State {
		return State{Phase: Failed, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1", Reason: reason, Message: message, Unsynchronized: message}
	}
	misnamed := State{
		Phase: Unbound, Name: "a-cp-1", Reason: "InvalidHostClaimStatus",
		Message: "The HostClaim names a host whose name is none: have its hostclaim manager looked at",
	}
	tests := map[string]struct {
		given []change
		want  State
	}{
		"a message of any length is cut": {
			given: []change{with("Associated", metav1.ConditionFalse, "NoBareMetalHost", strings.Repeat("ä", 40000))},
			want:  State{Phase: Unbound, Name: "a-cp-1", Reason: "NoBareMetalHost", Message: strings.Repeat("ä", 510) + "…"},
		},
		"a message becomes one line that can be printed": {
			given: refused("Broken", "first\r\n\x1b[31msecond\u202e\xff third\n"),
			want:  failed("Broken", "first [31msecond third"),
		},
		"a message that is just long enough stays": {
			given: refused("Broken", strings.Repeat("x", 1024)), want: failed("Broken", strings.Repeat("x", 1024)),
		},
		"a reason that is none is replaced":      {given: refused("not a reason", "m"), want: failed("InvalidHostClaimStatus", "m")},
		"a reason with a line break is replaced": {given: refused("Broken\n", "m"), want: failed("InvalidHostClaimStatus", "m")},
		"a reason that is too long is replaced":  {given: refused(strings.Repeat("x", 1025), "m"), want: failed("InvalidHostClaimStatus", "m")},
		"a reason that is missing is replaced":   {given: refused("", "m"), want: failed("InvalidHostClaimStatus", "m")},
		"a reason of one letter is a reason":     {given: refused("x", "m"), want: failed("x", "m")},
		"the explanation of missing facts is bound": {
			given: []change{toHost, associated, with("hostclaim.metal3.io/HardwareDataPublished", metav1.ConditionFalse, "a b", "c\nd")},
			want: State{
				Phase: Bound, Name: "a-cp-1", HostNamespace: "infra", HostName: "host-1",
				FactsReason: "InvalidHostClaimStatus", FactsMessage: "c d",
			},
		},
		"a host whose name is none is no host":        {given: []change{associated, host("infra", "a/b")}, want: misnamed},
		"a host with a name that never ends is none":  {given: []change{associated, host("infra", strings.Repeat("x", 254))}, want: misnamed},
		"a host without a name is none":               {given: []change{associated, host("infra", "")}, want: misnamed},
		"a host in a namespace that is none is none":  {given: []change{associated, host("in fra", "h")}, want: misnamed},
		"a host of the namespace of the claim is one": {given: []change{associated, host("", "h.example")}, want: State{Phase: Bound, Name: "a-cp-1", HostName: "h.example"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Name: "a-cp-1"}}
			for _, f := range tc.given {
				f(claim)
			}
			expect.Equal(t, tc.want, Read(claim))
		})
	}
}
