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
)

// undo is the next step to take back what the remediation has changed, as far as that is
// possible now.
func (o Observed) undo() Step {
	w := o.Workload
	switch {
	case o.holdsOff():
		return PowerOn
	case o.recovered():
		return UnmarkClaim
	case w.Access != Connected || w.Tainted && o.Claim.heldByAnother():
		return NoStep
	case w.Tainted:
		return UntaintNode
	default:
		return NoStep
	}
}

// holdsOff says that this remediation has the server off, as far as that can be changed now.
func (o Observed) holdsOff() bool {
	return o.Claim.Unknown == "" && o.Claim.Held && !o.Claim.Deleting
}

// heldByAnother says that another remediation has the server off, so that the taint of the Node
// is its.
func (c Claim) heldByAnother() bool {
	return c.Rival && !c.Power.On
}

// recovered says that the machine stays although the remediation goes, so that its server
// is not unhealthy any more.
func (o Observed) recovered() bool {
	return !o.DeletedAt.IsZero() && !o.OutOfTurn && o.Claim.Marked && o.Machine.Found && !o.Machine.Deleting
}

// stop takes back what was changed, and says why nothing else is done.
func stop(o Observed, reason, message string) Plan {
	if step := o.undo(); step != NoStep {
		return o.does(step, reason, message)
	}
	return o.says(reason, message)
}

// end takes back what was changed before the remediation goes. What another cluster keeps it
// from taking back holds it, with the reason, but the Node only for as long as a reboot may
// take.
func end(o Observed) Plan {
	const message = "Taking back what was changed on the server and its Node"
	if step := o.undo(); step != NoStep {
		return o.does(step, infrav1.DeletingReason, message)
	}
	left := o.left()
	deadline := o.DeletedAt.Add(o.Timeout)
	switch {
	case o.Claim.Unknown != "" && o.Phase != "":
		return o.says(infrav1.HostClaimUnreachableReason, o.Claim.Unknown)
	case left != "" && o.Now.Before(deadline):
		p := o.says(infrav1.WaitingForNodeReason, "Waiting until "+deadline.UTC().Format(time.RFC3339)+" at the latest: "+left)
		p.Deadline = deadline
		return p
	}
	p := o.says(infrav1.DeletingReason, message)
	p.Finished, p.Left = true, left
	return p
}

// left is what cannot be taken back from the Node now; empty if nothing needs to be.
func (o Observed) left() string {
	switch o.Workload.Access {
	case Unasked, Connected:
		return ""
	default:
		return "the workload cluster does not answer or does not permit it, and the Node may keep the taint node.kubernetes.io/out-of-service"
	}
}

// says is a plan that does nothing until something happens.
func (o Observed) says(reason, message string) Plan {
	return Plan{Progress: o.Progress, Reason: reason, Message: message}
}

// saysUntilDeadline is a plan that does nothing until something happens or the time of the
// reboot is over.
func (o Observed) saysUntilDeadline(reason, message string) Plan {
	p := o.says(reason, message)
	p.Deadline = o.deadline()
	return p
}

// does is a plan with a step.
func (o Observed) does(step Step, reason, message string) Plan {
	p := o.says(reason, message)
	p.Step = step
	return p
}
