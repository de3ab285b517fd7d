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

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// Standing is what a claim of another cluster is to a machine.
type Standing int

const (
	// Foreign means that the claim carries another origin, or none.
	Foreign Standing = iota
	// Ours means that the claim names the machine.
	Ours
	// Inherited means that the claim names what the machine was before it was
	// moved or restored, so that the machine takes it over.
	Inherited
	// TakenOver means that the machine had the claim, and something of the same
	// origin has it now: a copy of the machine that was restored in
	// another management cluster.
	TakenOver
)

// Held says that the claim is the machine's to write and to delete.
func (s Standing) Held() bool {
	return s == Ours || s == Inherited
}

// StandingOf says what a claim is to the machine with the record. A machine that
// has had the claim under its present UID does not take it back: two copies of a
// machine would otherwise take it from each other for ever, and the one that is
// deleted first would take the server of the other.
func StandingOf(claim *bmov1alpha1.HostClaim, owner claims.Owner, r Record) Standing {
	switch {
	case r.Origin == "" || claim.Labels[infrav1.OriginKey] != r.Origin:
		return Foreign
	case claims.ConsumerUID(claim) == owner.UID:
		return Ours
	case r.UID != owner.UID:
		return Inherited
	default:
		return TakenOver
	}
}
