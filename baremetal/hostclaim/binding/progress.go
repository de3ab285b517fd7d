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

package binding

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
)

// Progress is how far what a claim asks for has come on its host.
type Progress string

// The stages of a payload.
const (
	// NothingAsked means that the claim names neither image nor customDeploy
	// and that the host has none.
	NothingAsked Progress = "NothingAsked"
	// Wanted means that the claim asks for something and the host has nothing.
	Wanted Progress = "Wanted"
	// Applied means that the host is told what the claim asks for and has not
	// begun, or has failed, to write it: its data may still change.
	Applied Progress = "Applied"
	// Frozen means that the host writes, or has written, what the claim asks
	// for: changed data would change nothing on the server.
	Frozen Progress = "Frozen"
	// Diverged means that the claim was changed after its host was told what to
	// write. The host keeps what it has.
	Diverged Progress = "Diverged"
	// Redo means that what the host was told must be taken back: the claim asks
	// for a rebuild, is reserved, or was adopted after it had been parked.
	Redo Progress = "Redo"
	// Emptying means that the host is told nothing and still shows what was on
	// it. Nothing is written now: an image of the same URL would be taken for the
	// one that is there.
	Emptying Progress = "Emptying"
	// Parked means that the host is kept as it is, switched off, for the next
	// workload of the claim.
	Parked Progress = "Parked"
)

// observed is what the progress of a payload depends on.
type observed struct {
	// asked, deployed and same say whether the claim names a payload, whether the host
	// does, and whether the two are equal.
	asked, deployed, same bool
	// begun says that the host writes, or has written, its payload.
	begun bool
	// left says that the host shows a payload, or is on its way from or to one.
	left bool
	// renewed says that the claim carries a token of rebuild that the host was
	// not emptied for.
	renewed bool
	// reserved says that the claim is kept for the next machine, skips that its
	// host then keeps what is on it, and parked that the host does so.
	reserved, skips, parked bool
}

// Compare says how far the payload of a claim has come on its host. skips says
// that the claim wants its host not to be cleaned between two workloads, and
// that policy permits it; a host that must not be switched off cannot have that,
// since what is on it would run on.
func Compare(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, skips bool) Progress {
	return observed{
		asked:    Asked(claim),
		deployed: HasPayload(host),
		same:     same(claim, host),
		begun:    begun(host),
		left:     left(host),
		renewed:  renewed(claim, host),
		reserved: reservation.Holds(claim),
		skips:    skips && !host.Spec.DisablePowerOff,
		parked:   IsParked(host),
	}.progress()
}

// progress is the rule itself: in each of its parts the first case that holds.
func (o observed) progress() Progress {
	switch {
	case o.deployed && (o.reserved || o.parked):
		return o.kept()
	case o.deployed:
		return o.inUse()
	case o.left:
		return Emptying
	case o.asked:
		return Wanted
	default:
		return NothingAsked
	}
}

// kept is for a host with the payload of a machine that is gone. It runs no more,
// whatever happens: it is switched off, or taken back.
func (o observed) kept() Progress {
	if (o.reserved && !o.skips) || o.asked {
		return Redo
	}
	return Parked
}

// inUse is for a host with the payload of its claim.
func (o observed) inUse() Progress {
	switch {
	case o.renewed:
		return Redo
	case !o.same:
		return Diverged
	case o.begun:
		return Frozen
	default:
		return Applied
	}
}

// Asked says that a claim names something to be written.
func Asked(claim *bmov1alpha1.HostClaim) bool {
	return claim.Spec.Image != nil || claim.Spec.CustomDeploy != nil
}

// HasPayload says that a host is told what to write, by any client.
func HasPayload(host *bmov1alpha1.BareMetalHost) bool {
	return host.Spec.Image != nil || host.Spec.CustomDeploy != nil
}

// same says that a host is told what its claim asks for.
func same(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return equality.Semantic.DeepEqual(withoutPullSecret(claim.Spec.Image), withoutPullSecret(host.Spec.Image)) &&
		equality.Semantic.DeepEqual(claim.Spec.CustomDeploy, host.Spec.CustomDeploy)
}

// left says that something of a former payload may be on the host. The reported
// image alone would not do: it is set only when provisioning has finished.
func left(host *bmov1alpha1.BareMetalHost) bool {
	status := host.Status.Provisioning
	switch status.State {
	case bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned, bmov1alpha1.StateDeprovisioning:
		return true
	default:
		return status.Image.URL != "" || status.CustomDeploy != nil
	}
}

// withoutPullSecret is an image without the name of its pull secret, which differs
// between claim and host when the secret is a copy.
func withoutPullSecret(image *bmov1alpha1.Image) *bmov1alpha1.Image {
	if image == nil {
		return nil
	}
	out := image.DeepCopy()
	out.OCIAuthSecretName = nil
	return out
}

// begun says that the host writes its payload, or has written it. A host in
// error will read its data again.
func begun(host *bmov1alpha1.BareMetalHost) bool {
	switch host.Status.Provisioning.State {
	case bmov1alpha1.StateProvisioned:
		return true
	case bmov1alpha1.StateProvisioning:
		return host.Status.ErrorMessage == ""
	default:
		return false
	}
}
