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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// A claim in the namespace of its machine is kept there, when the machine is moved, in two
// locked writes, of which either may be the last before a crash:
//
//	local ──record on the machine──▶ recorded ──hand over the claim──▶ kept
//	  ▲                                │    ▲                           │
//	  └───────forget the record────────┘    └──────take back────────────┘
//
// A machine that is recorded only is not moved by clusterctl, since its claim still is
// owned by it and is not paused any more.

// Local is a claim in the namespace of its machine, seen through the credentials by which
// the machine is to reach it.
type Local struct {
	// Claim is the claim as the machine's own cluster has it.
	Claim *bmov1alpha1.HostClaim
	// Target is where the credentials lead.
	Target Target
	// Seen is the UID of the claim of that name there; empty if there is none.
	Seen types.UID
}

// Keepable returns nil if the machine may go on with the credentials, and else says why not.
// Equal UIDs prove that both ways lead to one object.
func (l Local) Keepable(ref Ref) *Problem {
	state := claims.Read(l.Claim)
	switch {
	case l.Target.Namespace != l.Claim.Namespace:
		return OtherNamespace.Problem(ref.Secret, l.Target.Namespace, l.Claim.Namespace)
	case l.Seen != l.Claim.UID:
		return OtherCluster.Problem(ref.Secret, l.Target.Place(), l.Claim.Name)
	case state.Deleting, state.Phase != claims.Provisioned:
		return ClaimBusy.Problem(l.Claim.Name)
	}
	return nil
}

// KeepStep is the next write for a machine whose claim is, or is to be, kept.
type KeepStep int

const (
	// KeepNothing means that all is as it should be.
	KeepNothing KeepStep = iota
	// HandOver means that the claim gets the origin and loses its owner.
	HandOver
	// TakeBack means that the claim gets its owner again and loses the origin.
	TakeBack
	// Forget means that the record is taken off the machine.
	Forget
)

// Keeping is what NextKeep depends on, for a machine with the record of a kept claim.
type Keeping struct {
	// Requested says that the claim is to be kept; Known, that it is known whether it is.
	Requested, Known bool
	// Here says that the claim is in the namespace of the machine and in its cluster.
	Here bool
	// Owned says that the machine owns the claim.
	Owned bool
}

// NextKeep decides the next write. A machine that was moved away takes nothing back.
func NextKeep(k Keeping) KeepStep {
	switch {
	case !k.Known:
		return KeepNothing
	case k.Requested && k.Owned:
		return HandOver
	case !k.Requested && k.Here && k.Owned:
		return Forget
	case !k.Requested && k.Here:
		return TakeBack
	default:
		return KeepNothing
	}
}
