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

package reuse

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// Prefixes of the label of a reserved claim, as CAPM3 writes it on hosts.
const (
	controlPlanePrefix = "cp-"
	deploymentPrefix   = "md-"

	// maxLabel is how long the value of a label may be, and hashLength how many hex digits
	// end a value that was cut.
	maxLabel   = 63
	hashLength = 8
)

// ControlPlaneLabel and DeploymentLabel are the values of infrav1.NodeReuseLabel for a
// control plane and a MachineDeployment of that name.
func ControlPlaneLabel(name string) string { return label(controlPlanePrefix + name) }

// DeploymentLabel is the same for a MachineDeployment.
func DeploymentLabel(name string) string { return label(deploymentPrefix + name) }

// label cuts a value that is too long, and makes it unique by a hash.
func label(value string) string {
	if len(value) <= maxLabel {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return value[:maxLabel-hashLength-1] + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// Group is the control plane or MachineDeployment of a machine, as far as its template asks
// for reuse. The zero value means that no server is reused.
type Group struct {
	// Asked says that the template has nodeReuse, and that Keeper is known.
	Asked bool
	// Keeper is the control plane or MachineDeployment.
	Keeper claims.Keeper
	// Going says that it, or its Cluster, is being deleted.
	Going bool
	// Desired is how many machines it should have.
	Desired int
	// Holding is how many other machines of it that stay have a claim.
	Holding int
	// Leaving is how many others are being deleted and may reserve the claim they have.
	Leaving int
	// Left are others which are being deleted and say that they have reserved their claim.
	Left []types.UID
	// Reserved are the claims that are reserved for it.
	Reserved []claims.Reservation
}

// Keeps says that a machine which is being deleted leaves its claim to the next machine of
// its group. Claims are kept for machines that are missing and for no others: not when the
// group shrinks or goes, nor where the next machine has a server already. Unhealthy says
// that the machine goes since something is wrong with it, which may be its server.
func Keeps(g Group, claim claims.State, unhealthy bool) bool {
	switch {
	case !g.Asked, g.Going, unhealthy, claim.Deleting:
		return false
	case claim.HostInError:
		return false
	case claim.Phase != claims.Bound && claim.Phase != claims.Provisioned:
		return false
	default:
		return g.Holding+g.kept() < g.Desired
	}
}

// kept counts the reservations that have not ended.
func (g Group) kept() int {
	n := 0
	for _, r := range g.Reserved {
		if !r.Deleting && !r.Broken {
			n++
		}
	}
	return n
}

// Ended are the names of the claims that are reserved for a group which is being deleted.
func Ended(g Group) []string {
	if !g.Asked || !g.Going {
		return nil
	}
	var names []string
	for _, r := range g.Reserved {
		if !r.Deleting {
			names = append(names, r.Name)
		}
	}
	return names
}

// Plan is what a machine without a claim does about the reservations of its group.
type Plan struct {
	// Adopt is the name of the claim to adopt; empty for none.
	Adopt string
	// Wait says that a server comes free soon, and that no other one is asked for until then.
	Wait bool
	// LetGo are the names of claims whose servers the machine cannot use.
	LetGo []string
}

// unseen says that one that leaves has reserved a claim which is not among the reserved ones
// yet, or not any more.
func (g Group) unseen() bool {
	return slices.ContainsFunc(g.Left, func(leaver types.UID) bool {
		return !slices.ContainsFunc(g.Reserved, func(r claims.Reservation) bool { return r.By == leaver })
	})
}

// Next returns the plan of a machine that is to have the wanted claim. It takes a server
// that is at rest, whatever the others do, and waits for one only if there is none.
func Next(g Group, wanted *bmov1alpha1.HostClaim) Plan {
	var p Plan
	if !g.Asked || g.Going {
		return p
	}
	p.Wait = g.Leaving > 0 || g.unseen()
	for _, r := range g.Reserved {
		switch {
		case r.Deleting:
		case r.Broken, !r.Answers(wanted):
			p.LetGo = append(p.LetGo, r.Name)
		case r.Rests && (p.Adopt == "" || preference(wanted, r.Name) > preference(wanted, p.Adopt)):
			p.Adopt = r.Name
		default:
			p.Wait = true
		}
	}
	p.Wait = p.Wait && p.Adopt == ""
	return p
}

// preference orders the reserved claims for a machine, which adopts the highest. The order
// differs between machines, so that those which choose at the same time seldom choose the same.
func preference(wanted *bmov1alpha1.HostClaim, reserved string) string {
	sum := sha256.Sum256([]byte(wanted.Name + "/" + reserved))
	return string(sum[:])
}
