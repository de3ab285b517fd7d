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

package machines

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

func TestTransient(t *testing.T) {
	waits := func(reasons ...string) Plan {
		var p Plan
		for _, reason := range reasons {
			p.wait("Any", reason, "")
		}
		return p
	}
	claim := func(s claims.State) Observed { return Observed{Claim: s} }
	tests := map[string]struct {
		observed Observed
		plan     Plan
		want     bool
	}{
		"a machine that waits for nothing":           {Observed{}, Plan{}, false},
		"a claim that was just made":                 {Observed{}, waits(infrav1.HostClaimNotBoundReason), true},
		"a claim whose host is being bound again":    {claim(claims.State{Binding: true, Reason: "MissingBareMetalHost", Message: "m"}), waits(infrav1.HostClaimNotBoundReason), true},
		"a claim whose host is being bound":          {claim(claims.State{Reason: infrav1.BindingReason, Message: "m"}), waits(infrav1.HostClaimNotBoundReason), true},
		"a claim that no host suits":                 {claim(claims.State{Reason: bmov1alpha1.NoBareMetalHostReason, Message: "m"}), waits(infrav1.HostClaimNotBoundReason), false},
		"a claim that is being deleted":              {claim(claims.State{Deleting: true}), waits(infrav1.HostClaimNotBoundReason), false},
		"facts that are about to be published":       {Observed{}, waits(infrav1.HardwareDataMissingReason), true},
		"facts that the claim misses":                {claim(claims.State{FactsReason: infrav1.HardwareDataMissingReason}), waits(infrav1.HardwareDataMissingReason), false},
		"data that is being rendered":                {Observed{}, waits(infrav1.WaitingForMetal3DataReason), true},
		"an address that a pool does not give":       {Observed{}, waits(infrav1.AddressUnavailableReason), false},
		"a pool that does not exist":                 {Observed{}, waits(infrav1.PoolNotFoundReason), false},
		"a host that gets its image":                 {Observed{}, waits(infrav1.ProvisioningReason), true},
		"user data that the bootstrap provider owes": {Observed{}, waits(infrav1.WaitingForBootstrapDataReason), false},
		"one wait of two that a person must end":     {Observed{}, waits(infrav1.WaitingForMetal3DataReason, infrav1.SecretsForbiddenReason), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Transient(tc.observed, tc.plan); got != tc.want {
				t.Errorf("Transient() = %v, want %v", got, tc.want)
			}
		})
	}
}
