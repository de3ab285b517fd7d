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

package machine

import (
	"testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// ofGroup makes the machine one of a group that misses it.
func ofGroup(reserved ...claims.Reservation) change {
	return func(o *Observed) { o.Group = Group{Asked: true, Desired: 1, Reserved: reserved} }
}

func TestMachineReusesTheHostOfAnother(t *testing.T) {
	kept, ready := claims.Reservation{Name: "kept"}, claims.Reservation{Name: "ready", Rests: true}
	unfit := claims.Reservation{Name: "unfit", FailureDomain: "row-9"}
	leaving := func(o *Observed) { o.Group.Leaving = 1 }
	tests := map[string]struct {
		given Observed
		want  ReusePlan
		waits string
	}{
		"it asks the pool if nothing is reserved":         {given: observe(ofGroup()), waits: infrav1.HostClaimNotBoundReason},
		"it waits for a machine that leaves":              {observe(ofGroup(), leaving), ReusePlan{Wait: true}, infrav1.WaitingForReservedHostReason},
		"it waits for a host that is not at rest":         {observe(ofGroup(kept)), ReusePlan{Wait: true}, infrav1.WaitingForReservedHostReason},
		"it adopts the first one that is":                 {observe(ofGroup(kept, ready)), ReusePlan{Adopt: "ready"}, infrav1.WaitingForReservedHostReason},
		"it lets go what it cannot use, and asks at once": {observe(ofGroup(unfit)), ReusePlan{LetGo: []string{"unfit"}}, infrav1.HostClaimNotBoundReason},
		"it adopts nothing before it has user data": {
			given: observe(ofGroup(ready), func(o *Observed) { o.Bootstrap = noUserData }), waits: infrav1.WaitingForBootstrapDataReason,
		},
		"it adopts nothing once it has a claim":       {given: observe(ofGroup(ready), unbound), waits: infrav1.HostClaimNotBoundReason},
		"it adopts nothing after it has lost its own": {given: observe(ofGroup(ready), established), waits: infrav1.HostLostReason},
		"it adopts nothing after a copy took its own": {
			given: observe(ofGroup(ready), func(o *Observed) { o.TakenOver = true }), waits: infrav1.HostClaimTakenOverReason,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := Next(tc.given)
			expect.Equal(t, tc.want, p.Reuse)
			if waits := p.waits(); len(waits) != 1 || waits[0].Reason != tc.waits {
				t.Errorf("waits are %v, want %s", waits, tc.waits)
			}
			if asks := p.Claim != nil; asks != (tc.waits == infrav1.HostClaimNotBoundReason) {
				t.Errorf("asks the pool: %t", asks)
			}
		})
	}
}

func TestMachineLeavesItsHostToTheNext(t *testing.T) {
	left := func(r claims.Reservation) change {
		return func(o *Observed) { o.Left, o.Data = &r, DataFacts{ClaimExists: true, ClaimHeld: true} }
	}
	tests := map[string]struct {
		given Observed
		want  ReleasePlan
	}{
		"its claim is reserved":                        {observe(bound, ofGroup()), ReleasePlan{ReserveClaim: true, Waits: kept("m-1")}},
		"its data stays while its host is not at rest": {observe(left(claims.Reservation{Name: "m-1"})), ReleasePlan{Waits: kept("m-1")}},
		"its data stays while its host is given back": {
			observe(left(claims.Reservation{Name: "m-1", Rests: true, Deleting: true})), ReleasePlan{Waits: kept("m-1")},
		},
		"it goes once its host is at rest": {observe(left(claims.Reservation{Name: "m-1", Rests: true})), ReleasePlan{ReleaseData: true, Done: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Release(tc.given)) })
	}
	ending := observe(ofGroup(claims.Reservation{Name: "a"}, claims.Reservation{Name: "b", Deleting: true}), func(o *Observed) { o.Group.Going = true })
	expect.Equal(t, ReleasePlan{LetGo: []string{"a"}, Done: true}, Release(ending))
	if p := Release(observe(bound, ofGroup(), func(o *Observed) { o.Unhealthy = true })); !p.DeleteClaim || p.ReserveClaim {
		t.Errorf("the plan of an unhealthy machine is %+v", p)
	}
}
