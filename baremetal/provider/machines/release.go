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
	"fmt"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/reuse"
)

// ReleasePlan is what to do now for a machine that is being deleted.
type ReleasePlan struct {
	// DeleteClaim says that the HostClaim is to be deleted.
	DeleteClaim bool
	// ReserveClaim says that it is to be reserved for the next machine instead.
	ReserveClaim bool
	// LetGo are the names of claims that are reserved for no machine any more.
	LetGo []string
	// ReleaseData says that the Metal3DataClaim is to be deleted and our
	// finalizer to be taken off it.
	ReleaseData bool
	// Done says that the finalizer of the machine may go.
	Done bool
	// Waits tells why we are not finished, most important first.
	Waits []Wait
}

// Release returns the plan for a machine that is being deleted: first the
// server, then its data. The other way round, the addresses of a server that is
// still running would go to the next machine. Where the claim is reserved, the
// machine stays until its server is at rest. Claims that are reserved for a group which is
// being deleted go with its machines.
func Release(o Observed) ReleasePlan {
	p := release(o)
	p.LetGo = reuse.Ended(o.Group)
	return p
}

func release(o Observed) ReleasePlan {
	switch {
	case o.Claim.Phase != claims.Absent && reuse.Keeps(o.Group, o.Claim, o.Unhealthy):
		return ReleasePlan{ReserveClaim: true, Waits: kept(o.Claim.Name)}
	case o.Claim.Phase != claims.Absent:
		return ReleasePlan{DeleteClaim: !o.Claim.Deleting, Waits: going(o.Claim)}
	case o.Left != nil && (o.Left.Deleting || !o.Left.Rests):
		return ReleasePlan{Waits: kept(o.Left.Name)}
	case o.Data.ClaimExists && o.Data.ClaimHeld && !o.Data.NameTaken:
		return ReleasePlan{ReleaseData: true, Done: true}
	default:
		return ReleasePlan{Done: true}
	}
}

// going says what a machine waits for whose claim is released.
func going(claim claims.State) []Wait {
	message := fmt.Sprintf("Waiting for HostClaim %q to be released", claim.Name)
	if claim.Deleting && claim.Message != "" {
		message += ": " + claim.Message
	}
	return []Wait{{Condition: infrav1.HostClaimReadyCondition, Reason: infrav1.DeprovisioningReason, Message: message}}
}

// kept says what a machine waits for whose claim is reserved.
func kept(claim string) []Wait {
	return []Wait{{
		Condition: infrav1.HostClaimReadyCondition,
		Reason:    infrav1.ReservedReason,
		Message:   fmt.Sprintf("Waiting for the host of HostClaim %q to be deprovisioned; it is kept for the next machine", claim),
	}}
}
