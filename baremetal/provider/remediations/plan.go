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
	"fmt"
	"time"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// Step is the one thing that is to be done now.
type Step string

const (
	// NoStep means that the remediation waits.
	NoStep Step = ""
	// PowerOff holds the server off, by the annotation on its claim.
	PowerOff Step = "PowerOff"
	// PowerOn takes the annotation away.
	PowerOn Step = "PowerOn"
	// TaintNode declares the Node out of service.
	TaintNode Step = "TaintNode"
	// UntaintNode takes the taint away.
	UntaintNode Step = "UntaintNode"
	// HandBack has the owner of the Machine replace it, and marks the claim, so that its host is
	// kept out of the pool where policy permits that.
	HandBack Step = "HandBack"
	// UnmarkClaim takes the mark off a claim whose machine is healthy again.
	UnmarkClaim Step = "UnmarkClaim"
)

// Plan is what is to be done now, and what the remediation says.
type Plan struct {
	// Step is carried out first; Progress holds once it is.
	Step Step
	// Progress is how far the remediation has come then.
	Progress Progress
	// Ready, Reason and Message are the condition Ready.
	Ready           bool
	Reason, Message string
	// Deadline is when to plan again if nothing has happened; zero means never.
	Deadline time.Time
	// Skipped says why the workload was left on the Node although the server was off; empty if
	// it was not.
	Skipped string
	// Left says what is left behind although the remediation ends; empty if nothing is.
	Left string
	// Finished says that the remediation may go.
	Finished bool
}

// Next says what is to be done for a remediation.
func Next(o Observed) Plan {
	switch {
	case !o.DeletedAt.IsZero():
		return end(o)
	case o.Machine.Name == "":
		return o.says(infrav1.OwnerNotFoundReason, "No Machine is among the owners of this Metal3Remediation: leave it to a MachineHealthCheck to make one")
	case o.OutOfTurn:
		return stop(o, infrav1.OtherRemediationReason, fmt.Sprintf(
			"Another Metal3Remediation of Machine %q acts: delete one of them", o.Machine.Name))
	case o.Machine.Deleting:
		return stop(o, infrav1.MachineDeletingReason, fmt.Sprintf("Machine %q is being deleted, so that its server is not rebooted", o.Machine.Name))
	case !o.Machine.Found:
		return o.says(infrav1.OwnerNotFoundReason, fmt.Sprintf("Machine %q or its Metal3Machine does not exist", o.Machine.Name))
	case o.Machine.Skipped:
		return stop(o, infrav1.RemediationSkippedReason, fmt.Sprintf(
			"Machine %q has the annotation cluster.x-k8s.io/skip-remediation: remove it to have the server rebooted", o.Machine.Name))
	case o.Phase == infrav1.RemediationPhaseDeletingMachine:
		return stop(o, infrav1.HandedBackReason, handedBack)
	case o.Claim.Unknown != "":
		return o.says(infrav1.HostClaimUnreachableReason, o.Claim.Unknown)
	default:
		return treat(o)
	}
}

const handedBack = "Rebooting did not help: the owner of the Machine replaces it while the Machine is unhealthy"

// treat begins the remediation or carries it on.
func treat(o Observed) Plan {
	switch {
	case o.Claim.Phase == claims.Lost:
		return o.giveUp("The host of the machine does not exist any more")
	case !o.begun() && (o.Claim.Phase == claims.Absent || o.Claim.Phase == claims.Unbound || o.Claim.Deleting):
		return o.says(infrav1.WaitingForHostClaimReason, "The machine has no host that could be rebooted: it is waited for without a limit, since a new Machine would wait too")
	case o.Claim.hasHost() && !o.Claim.Power.Wanted:
		return o.switchedOff()
	case !o.begun():
		o.Phase, o.Retries, o.Since = infrav1.RemediationPhaseRunning, 0, o.Now
		return o.saysUntilDeadline(infrav1.PoweringOffReason, "The server is about to be switched off")
	case o.Phase == infrav1.RemediationPhaseRunning:
		return run(o)
	default:
		return wait(o)
	}
}

// begun says that a reboot has begun.
func (o Observed) begun() bool {
	return !o.Since.IsZero() && (o.Phase == infrav1.RemediationPhaseRunning || o.Phase == infrav1.RemediationPhaseWaiting)
}

// switchedOff is for a server that its owner switched off.
func (o Observed) switchedOff() Plan {
	if step := o.undo(); step != NoStep {
		return o.does(step, infrav1.PoweredOffReason, poweredOff)
	}
	o.Phase = infrav1.RemediationPhaseFailed
	return o.says(infrav1.PoweredOffReason, poweredOff)
}

const poweredOff = "The server is switched off by spec.poweredOn of its HostClaim: set it to true to have the server rebooted"

// run is the phase in which the server is switched off and its workload moved away.
func run(o Observed) Plan {
	switch {
	case o.expired():
		return o.again()
	case o.Claim.off():
		return evacuate(o)
	case o.Claim.Held:
		return o.saysUntilDeadline(infrav1.PoweringOffReason, "Waiting for the server to be off"+o.problem())
	case o.Claim.Rival:
		return o.saysUntilDeadline(infrav1.OtherRemediationReason, "Another Metal3Remediation holds the server off: delete one of them")
	case o.Claim.Phase != claims.Provisioned || o.Claim.Deleting:
		return o.saysUntilDeadline(infrav1.HostNotProvisionedReason,
			"The server does not run the image of the machine, so that it cannot be rebooted; see the conditions of the Metal3Machine")
	default:
		return o.does(PowerOff, infrav1.PoweringOffReason, "Waiting for the server to be off")
	}
}

// problem is what the claim says about why its host is not switched.
func (o Observed) problem() string {
	if o.Claim.Power.Problem == "" {
		return ""
	}
	return ": " + o.Claim.Power.Problem
}

// evacuate moves the workload away from the Node of a server that is off. Where it cannot be
// moved, the server is switched on all the same: to leave it off would help no Pod.
func evacuate(o Observed) Plan {
	w := o.Workload
	switch {
	case o.Machine.Node == "":
		return o.switchOn("")
	case w.Access == Disconnected:
		return o.switchOn("there is no connection to the workload cluster")
	case w.Access == Denied:
		return o.switchOn("the kubeconfig of the Cluster does not permit it")
	case w.Access != Connected:
		return o.saysUntilDeadline(infrav1.WorkloadClusterUnreachableReason, "The server is off, and requests to the workload cluster fail")
	case !w.Found:
		return o.switchOn("")
	default:
		return o.drain()
	}
}

// drain has Kubernetes take the Pods and volumes away from the Node.
func (o Observed) drain() Plan {
	w := o.Workload
	switch {
	case !w.Tainted:
		return o.does(TaintNode, infrav1.EvacuatingReason, "The server is off, and its Node is declared out of service")
	case w.Pods > 0:
		return o.saysUntilDeadline(infrav1.EvacuatingReason, "The server is off: waiting for the Pods to leave its Node")
	case w.Volumes > 0:
		return o.saysUntilDeadline(infrav1.EvacuatingReason, "The server is off: waiting for the volumes to be detached from its Node")
	default:
		return o.switchOn("")
	}
}

// switchOn ends the phase in which the server is off. Skipped says why its workload was not
// moved away; empty if it was.
func (o Observed) switchOn(skipped string) Plan {
	o.Phase = infrav1.RemediationPhaseWaiting
	p := o.saysUntilDeadline(infrav1.PoweringOnReason, "The server is about to be switched on")
	if skipped != "" {
		p.Skipped = "What ran on the Node stays there while the server is rebooted: " + skipped
		p.Message = p.Skipped
	}
	return p
}

// wait is the phase in which the server is switched on, and in which its Node is to become
// healthy.
func wait(o Observed) Plan {
	const on = "The server is switched on"
	switch {
	case o.Claim.Held:
		return o.does(PowerOn, infrav1.PoweringOnReason, on)
	case !o.Claim.Power.On && o.expired():
		return o.again()
	case !o.Claim.Power.On:
		return o.saysUntilDeadline(infrav1.PoweringOnReason, "Waiting for the server to be on"+o.problem())
	}
	if step := o.undo(); step != NoStep {
		return o.does(step, infrav1.PoweringOnReason, "The server is on, and its Node gets back what it had")
	}
	switch {
	case o.expired():
		return o.again()
	case o.Workload.Access == Disconnected || o.Workload.Access == Failing:
		return o.saysUntilDeadline(infrav1.WorkloadClusterUnreachableReason,
			"The server is on: waiting for the workload cluster to answer, to take back what was changed on the Node")
	}
	p := o.saysUntilDeadline(infrav1.RebootedReason, "")
	p.Ready = true
	return p
}

// again begins the next reboot, or gives up at the limit. A reboot that has not come to its
// end is not begun anew: it gets the time of the next one.
func (o Observed) again() Plan {
	if o.Retries >= o.Limit {
		return o.giveUp(fmt.Sprintf("The machine did not become healthy within %d reboots of %s each", o.Retries+1, o.Timeout))
	}
	o.Retries++
	o.Since = o.Now
	switch {
	case o.Phase == infrav1.RemediationPhaseWaiting && o.Claim.Power.On && !o.Claim.Held:
		o.Phase = infrav1.RemediationPhaseRunning
		return o.saysUntilDeadline(infrav1.PoweringOffReason, "The server is about to be switched off again")
	case o.Phase == infrav1.RemediationPhaseRunning && o.Claim.off():
		return o.switchOn("it did not leave in time")
	case o.Phase == infrav1.RemediationPhaseWaiting:
		return o.saysUntilDeadline(infrav1.PoweringOnReason, "Waiting for the server to be on"+o.problem())
	default:
		return o.saysUntilDeadline(infrav1.PoweringOffReason, "Waiting for the server to be off"+o.problem())
	}
}

// giveUp switches the server on and hands the Machine back.
func (o Observed) giveUp(why string) Plan {
	switch {
	case o.Claim.Held && !o.Claim.Deleting:
		return o.does(PowerOn, infrav1.PoweringOnReason, why+": the server is switched on before the Machine is handed back")
	case !o.Machine.HandedBack:
		o.Phase = infrav1.RemediationPhaseDeletingMachine
		return o.does(HandBack, infrav1.HandedBackReason, handedBack)
	default:
		o.Phase = infrav1.RemediationPhaseDeletingMachine
		return o.says(infrav1.HandedBackReason, handedBack)
	}
}
