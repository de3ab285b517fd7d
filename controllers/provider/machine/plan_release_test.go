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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// ofGroup makes the machine one of a group that misses it.
func ofGroup(reserved ...claims.Reservation) change {
	return func(o *Observed) { o.Group = Group{Asked: true, Desired: 1, Reserved: reserved} }
}

// TestMachineReusesTheHostOfAnother shows when a machine looks at what is reserved; TestNextReserved shows what it finds.
func TestMachineReusesTheHostOfAnother(t *testing.T) {
	ready, unfit := claims.Reservation{Name: "ready", Rests: true}, claims.Reservation{Name: "unfit", FailureDomain: "row-9"}
	for name, tc := range map[string]struct {
		given Observed
		want  ReusePlan
		waits string
	}{
		"it lets go what it cannot use, and asks at once": {observe(ofGroup(unfit)), ReusePlan{LetGo: []string{"unfit"}}, "HostClaimNotBound"},
		"it adopts nothing before it has user data": {
			given: observe(ofGroup(ready), func(o *Observed) { o.Bootstrap = noUserData }), waits: "WaitingForBootstrapData",
		},
		"it adopts nothing once it has a claim":       {given: observe(ofGroup(ready), unbound), waits: "HostClaimNotBound"},
		"it adopts nothing after it has lost its own": {given: observe(ofGroup(ready), established), waits: "HostLost"},
		"it adopts nothing after a copy took its own": {
			given: observe(ofGroup(ready), func(o *Observed) { o.TakenOver = true }), waits: "HostClaimTakenOver",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Next(tc.given)
			expect.Equal(t, tc.want, p.Reuse)
			if waits := p.waits(); len(waits) != 1 || waits[0].Reason != tc.waits {
				t.Errorf("waits are %v, want %s", waits, tc.waits)
			}
			expect.Equal(t, tc.waits == "HostClaimNotBound", p.Claim != nil) // asks the pool
		})
	}
}

// TestRelease shows what the transcripts of TestLife do not.
func TestRelease(t *testing.T) {
	wait := []metav1.Condition{waiting("HostClaimReady", "Deprovisioning", `Waiting for HostClaim "m-1" to be released`)}
	for name, tc := range map[string]struct {
		given Observed
		want  ReleasePlan
	}{
		"leaves data of something else alone": {observe(func(o *Observed) { o.Data.NameTaken = true }), ReleasePlan{Done: true}},
		"keeps the data while the host is given back": {
			observe(rendered, func(o *Observed) { o.Left = &claims.Reservation{Name: "m-1", Rests: true, Deleting: true} }),
			ReleasePlan{Waits: kept("m-1")},
		},
		"ends the reservations of a group that goes": {
			observe(ofGroup(claims.Reservation{Name: "a"}, claims.Reservation{Name: "b", Deleting: true}), func(o *Observed) { o.Group.Going = true }),
			ReleasePlan{LetGo: []string{"a"}, Done: true},
		},
		"reserves no claim of an unhealthy machine": {
			observe(bound, ofGroup(), func(o *Observed) { o.Unhealthy = true }), ReleasePlan{DeleteClaim: true, Waits: wait},
		},
	} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Release(tc.given)) })
	}
}
