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

package remediations

import (
	"time"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// Observed is what Next decides on.
type Observed struct {
	// Now is the time of the decision.
	Now time.Time
	// Progress is how far the remediation has come, as its status says.
	Progress
	// DeletedAt is when the remediation was deleted; zero as long as it was not.
	DeletedAt time.Time
	// Limit is how often the reboot is repeated, and Timeout how long one may take.
	Limit   int32
	Timeout time.Duration
	// OutOfTurn says that another remediation of the Machine acts, and this one waits.
	OutOfTurn bool
	// Machine, Claim and Workload are what the remediation treats.
	Machine  Machine
	Claim    Claim
	Workload Workload
}

// Progress is what the status of a remediation keeps.
type Progress struct {
	// Phase is empty before the remediation begins.
	Phase infrav1.RemediationPhase
	// Retries is how often the reboot has been repeated.
	Retries int32
	// Since is when the current reboot began.
	Since time.Time
}

// Machine is the Cluster API Machine that owns the remediation.
type Machine struct {
	// Name of the Machine; empty if the remediation has no owner.
	Name string
	// Found says that the Machine and its Metal3Machine exist.
	Found bool
	// Deleting says that one of both is being deleted.
	Deleting bool
	// Skipped says that the Machine has the annotation cluster.x-k8s.io/skip-remediation.
	Skipped bool
	// HandedBack says that the owner of the Machine is to replace it.
	HandedBack bool
	// Node is the name of the Machine's Node; empty if it never had one.
	Node string
}

// Claim is the HostClaim of the machine.
type Claim struct {
	// Unknown says why the claim cannot be read now; empty if it can.
	Unknown string
	// Phase is how far the claim has come, and Deleting that it is on its way out.
	Phase    claims.Phase
	Deleting bool
	// Power is what the claim says about the power of its host.
	Power claims.Power
	// Marked says that the host is to be kept out of the pool when the claim is released.
	Marked bool
	// Held says that the remediation holds the server off, and Rival that another one does.
	Held, Rival bool
}

// off says that the remediation has switched the server off.
func (c Claim) off() bool {
	return c.Held && c.hasHost() && !c.Power.On
}

// hasHost says that a host belongs to the claim. Nothing is known of the power of any other.
func (c Claim) hasHost() bool {
	return claims.State{Phase: c.Phase}.HasHost()
}

// Access says how the API server of the workload cluster answers.
type Access string

const (
	// Unasked means that nothing needs to be known. It is the zero value.
	Unasked Access = ""
	// Connected means that the workload cluster answers.
	Connected Access = "Connected"
	// Disconnected means that there is no connection; one wakes the controller.
	Disconnected Access = "Disconnected"
	// Denied means that the kubeconfig of the Cluster does not give the rights.
	Denied Access = "Denied"
	// Failing means that requests fail for another reason, and are repeated.
	Failing Access = "Failing"
)

// Workload is the Node of the machine and what runs on it.
type Workload struct {
	// Access says whether the rest is known.
	Access Access
	// Found says that there is a Node of that name.
	Found bool
	// Tainted says that the Node has the taint node.kubernetes.io/out-of-service.
	Tainted bool
	// Pods and Volumes are what is still on the Node and must go.
	Pods, Volumes int
}

// AsksForNode says that Next needs to know the Node.
func (o Observed) AsksForNode() bool {
	switch {
	case !o.Machine.Found || o.Machine.Deleting || o.Machine.Node == "":
		return false
	case o.ends():
		return o.Phase != ""
	case o.Phase == infrav1.RemediationPhaseRunning:
		return o.Claim.off()
	default:
		return o.Phase != ""
	}
}

// ends says that the remediation does nothing but take back what it has done.
func (o Observed) ends() bool {
	return !o.DeletedAt.IsZero() || o.Machine.Skipped || o.OutOfTurn
}

// Evacuating says that the remediation is about to move the workload away, so that Next
// needs to know what of it is left.
func (o Observed) Evacuating() bool {
	return !o.ends() && o.Phase == infrav1.RemediationPhaseRunning && o.AsksForNode()
}

// deadline is when the current reboot must have helped.
func (o Observed) deadline() time.Time {
	return o.Since.Add(o.Timeout)
}

func (o Observed) expired() bool {
	return !o.Now.Before(o.deadline())
}
