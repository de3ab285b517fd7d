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
	"strings"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// world carries plans out, and plays server, Kubernetes and MachineHealthCheck.
type world struct {
	Observed

	// out is written what happens; nil for nothing.
	out *strings.Builder
	// tainted and pods are the Node as it is, whether it can be seen or not.
	tainted bool
	pods    int
	access  Access
	claim   Claim
	dead    bool // the cluster of the hosts does not answer
	// cycles counts the reboots, and unconfirmed is one that was not seen to end.
	cycles      int
	unconfirmed bool
	finished    bool
	faults      []string
}

func newWorld() *world {
	w := &world{Observed: observe(), pods: 1, access: Connected}
	w.claim = w.Claim
	return w
}

// pass is one pass of the controller. A manager that is killed carries out the step and
// forgets to write the status, or does neither.
func (w *world) pass(steps, status bool) Plan {
	w.Claim = w.claim
	if w.dead {
		w.Claim = Claim{Unknown: "The cluster of the hosts does not answer"}
	}
	w.Workload = Workload{}
	if w.AsksForNode() {
		w.Workload.Access = w.access
		if w.access == Connected {
			w.Workload = Workload{Access: Connected, Found: true, Tainted: w.tainted, Pods: w.pods}
		}
	}
	p := Next(w.Observed)
	if steps {
		w.do(p.Step)
	}
	if steps && status {
		w.Progress = p.Progress
		w.finished = p.Finished
	}
	w.note(p)
	return p
}

func (w *world) do(step Step) {
	switch step {
	case NoStep:
	case PowerOff:
		if w.unconfirmed || w.claim.Held {
			w.faults = append(w.faults, "a reboot begins before the last one has ended")
		}
		w.claim.Held, w.unconfirmed = true, true
		w.cycles++
	case PowerOn:
		w.claim.Held = false
		if w.Machine.Skipped {
			// A user who stops a remediation and lets it go on asks for a reboot anew.
			w.unconfirmed = false
			w.cycles--
		}
	case TaintNode:
		w.offOnly("taint")
		w.tainted = true
	case UntaintNode:
		w.tainted = false
	case HandBack:
		w.Machine.HandedBack, w.claim.Marked = true, true
	case UnmarkClaim:
		w.claim.Marked = false
	}
}

func (w *world) offOnly(what string) {
	if w.claim.Power.On {
		w.faults = append(w.faults, what+" while the server runs")
	}
}

// obey lets the server follow its claim.
func (w *world) obey() {
	on := w.claim.Power.Wanted && !w.claim.Held
	if on == w.claim.Power.On {
		return
	}
	w.claim.Power.On = on
	if on {
		w.unconfirmed = false
	}
}

// leave lets Kubernetes take the Pods away.
func (w *world) leave() {
	if w.tainted {
		w.pods = 0
	}
}

func (w *world) note(p Plan) {
	if w.out == nil {
		return
	}
	if p.Step != NoStep {
		fmt.Fprintf(w.out, "    %s\n", p.Step)
	}
	if p.Skipped != "" {
		fmt.Fprintf(w.out, "    skips: %s\n", p.Skipped)
	}
	fmt.Fprintf(w.out, "    %s %d %s", w.Phase, w.Retries, p.Reason)
	if p.Message != "" {
		fmt.Fprintf(w.out, ": %s", p.Message)
	}
	if !p.Deadline.IsZero() {
		fmt.Fprintf(w.out, " (at the latest %s)", p.Deadline.Format("15:04"))
	}
	if p.Finished {
		fmt.Fprint(w.out, ", finished")
	}
	fmt.Fprintln(w.out)
}

// phases of the claim that a machine may see while it is treated.
func (w *world) lost() { w.claim = Claim{Phase: claims.Lost} }
