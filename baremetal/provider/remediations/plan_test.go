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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

const (
	running  = infrav1.RemediationPhaseRunning
	waiting  = infrav1.RemediationPhaseWaiting
	deleting = infrav1.RemediationPhaseDeletingMachine
	failed   = infrav1.RemediationPhaseFailed

	timeout = 10 * time.Minute
)

var start = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

type change func(*Observed)

// observe is a remediation that has just been made for a machine with a Node.
func observe(changes ...change) Observed {
	o := Observed{
		Now: start, Limit: 1, Timeout: timeout,
		Machine: Machine{Name: "m-1", Found: true, Node: "n-1"},
		Claim:   Claim{Phase: claims.Provisioned, Power: claims.Power{Wanted: true, On: true}},
	}
	for _, f := range changes {
		f(&o)
	}
	return o
}

// in is a phase that began before a while.
func in(phase infrav1.RemediationPhase, retries int32, before time.Duration) change {
	return func(o *Observed) { o.Progress = Progress{Phase: phase, Retries: retries, Since: start.Add(-before)} }
}

func held(o *Observed)      { o.Claim.Held = true }
func off(o *Observed)       { o.Claim.Held, o.Claim.Power.On = true, false }
func deleted(o *Observed)   { o.DeletedAt = start.Add(-time.Minute) }
func outOfTurn(o *Observed) { o.OutOfTurn = true }

// node is a Node in a workload cluster that answers.
func node(changes ...func(*Workload)) change {
	return func(o *Observed) {
		o.Workload = Workload{Access: Connected, Found: true}
		for _, f := range changes {
			f(&o.Workload)
		}
	}
}

func tainted(w *Workload) { w.Tainted = true }

func access(a Access) change { return func(o *Observed) { o.Workload = Workload{Access: a} } }

func TestNext(t *testing.T) {
	since := func(before time.Duration) time.Time { return start.Add(-before) }
	ends := func(before time.Duration) time.Time { return since(before).Add(timeout) }
	tests := map[string]struct {
		observed Observed
		want     Plan
		message  string // a part of it
	}{
		"begins": {observe(), Plan{Progress: Progress{Phase: running, Since: start}, Reason: "PoweringOff", Deadline: ends(0)}, ""},
		"begins for a server that is being provisioned, which may never end": {
			observe(func(o *Observed) { o.Claim.Phase = claims.Bound }),
			Plan{Progress: Progress{Phase: running, Since: start}, Reason: "PoweringOff", Deadline: ends(0)},
			"",
		},
		"does not begin without a host":      {observe(func(o *Observed) { o.Claim = Claim{Phase: claims.Unbound} }), Plan{Reason: "WaitingForHostClaim"}, "no host"},
		"does not begin without a claim":     {observe(func(o *Observed) { o.Claim = Claim{} }), Plan{Reason: "WaitingForHostClaim"}, ""},
		"does not begin without an owner":    {observe(func(o *Observed) { o.Machine = Machine{} }), Plan{Reason: "OwnerNotFound"}, "MachineHealthCheck"},
		"does not begin without its Machine": {observe(func(o *Observed) { o.Machine.Found = false }), Plan{Reason: "OwnerNotFound"}, `"m-1"`},
		"waits for a cluster of hosts that is dead, however long": {
			observe(in(running, 1, time.Hour), func(o *Observed) { o.Claim = Claim{Unknown: "dead"} }),
			Plan{Progress: Progress{running, 1, since(time.Hour)}, Reason: "HostClaimUnreachable"},
			"dead",
		},
		"does not begin beside another one": {observe(outOfTurn), Plan{Reason: "OtherRemediation"}, `"m-1"`},
		"lets the server go beside another one": {
			observe(outOfTurn, off, in(running, 0, 0)),
			Plan{Step: PowerOn, Progress: Progress{running, 0, start}, Reason: "OtherRemediation"},
			"delete",
		},
		"leaves the taint of the one that holds the server off": {
			observe(deleted, in(running, 0, 0), node(tainted), func(o *Observed) { o.Claim.Rival, o.Claim.Power.On = true, false }),
			Plan{Progress: Progress{running, 0, start}, Reason: "Deleting", Finished: true},
			"",
		},
		"does not wait for a claim when it has not begun": {
			observe(deleted, func(o *Observed) { o.Claim = Claim{Unknown: "dead"} }),
			Plan{Reason: "Deleting", Finished: true},
			"",
		},
		"begins anew after the owner switched the server off": {
			observe(in(failed, 1, time.Hour)),
			Plan{Progress: Progress{Phase: running, Since: start}, Reason: "PoweringOff", Deadline: ends(0)},
			"",
		},
		"leaves the mark of another one when it is deleted": {
			observe(outOfTurn, deleted, func(o *Observed) { o.Claim.Marked = true }),
			Plan{Reason: "Deleting", Finished: true},
			"",
		},
		"switches off": {
			observe(in(running, 0, 0)),
			Plan{Step: PowerOff, Progress: Progress{running, 0, start}, Reason: "PoweringOff"},
			"",
		},
		"waits for another remediation of the machine": {
			observe(in(running, 0, 0), func(o *Observed) { o.Claim.Rival = true }),
			Plan{Progress: Progress{running, 0, start}, Reason: "OtherRemediation", Deadline: ends(0)},
			"delete",
		},
		"says why the server is not switched off": {
			observe(in(running, 0, 0), held, func(o *Observed) { o.Claim.Power.Problem = "10 times within 10 minutes" }),
			Plan{Progress: Progress{running, 0, start}, Reason: "PoweringOff", Deadline: ends(0)},
			"off: 10 times within 10 minutes",
		},
		"cannot reboot a server that does not run the image": {
			observe(in(running, 0, 0), func(o *Observed) { o.Claim.Phase = claims.Bound }),
			Plan{Progress: Progress{running, 0, start}, Reason: "HostNotProvisioned", Deadline: ends(0)},
			"",
		},
		"a server that cannot be switched off in time gets the time of the next reboot, which is no new one": {
			observe(in(running, 0, timeout), held),
			Plan{Progress: Progress{running, 1, start}, Reason: "PoweringOff", Deadline: ends(0)},
			"",
		},
		"a server that cannot be switched off is let go before its Machine is handed back": {
			observe(in(running, 1, timeout), held),
			Plan{Step: PowerOn, Progress: Progress{running, 1, since(timeout)}, Reason: "PoweringOn"},
			"within 2 reboots of 10m0s",
		},
		"does not switch off what it gave up on": {
			observe(in(running, 1, timeout)),
			Plan{Step: HandBack, Progress: Progress{deleting, 1, since(timeout)}, Reason: "HandedBack"},
			"",
		},
		"taints the Node of a server that is off": {
			observe(in(running, 0, 0), off, node()),
			Plan{Step: TaintNode, Progress: Progress{running, 0, start}, Reason: "Evacuating"},
			"",
		},
		"waits for Pods": {
			observe(in(running, 0, 0), off, node(tainted, func(w *Workload) { w.Pods, w.Volumes = 1, 1 })),
			Plan{Progress: Progress{running, 0, start}, Reason: "Evacuating", Deadline: ends(0)},
			"Pods",
		},
		"waits for volumes": {
			observe(in(running, 0, 0), off, node(tainted, func(w *Workload) { w.Volumes = 1 })),
			Plan{Progress: Progress{running, 0, start}, Reason: "Evacuating", Deadline: ends(0)},
			"volumes",
		},
		"Pods that do not leave in time end the wait": {
			observe(in(running, 0, timeout), off, node(tainted, func(w *Workload) { w.Pods = 1 })),
			Plan{Progress: Progress{waiting, 1, start}, Reason: "PoweringOn", Deadline: ends(0), Skipped: "What ran on the Node stays there while the server is rebooted: it did not leave in time"},
			"",
		},
		"switches on where there is no Node any more": {
			observe(in(running, 0, 0), off, node(func(w *Workload) { w.Found = false })),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "PoweringOn", Deadline: ends(0)},
			"",
		},
		"switches on once all is gone": {
			observe(in(running, 0, 0), off, node(tainted)),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "PoweringOn", Deadline: ends(0)},
			"",
		},
		"goes on with the power alone where the workload cluster is away": {
			observe(in(running, 0, 0), off, access(Disconnected)),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "PoweringOn", Deadline: ends(0), Skipped: "What ran on the Node stays there while the server is rebooted: there is no connection to the workload cluster"},
			"no connection",
		},
		"goes on with the power alone without rights": {
			observe(in(running, 0, 0), off, access(Denied)),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "PoweringOn", Deadline: ends(0), Skipped: "What ran on the Node stays there while the server is rebooted: the kubeconfig of the Cluster does not permit it"},
			"",
		},
		"repeats requests that fail": {
			observe(in(running, 0, 0), off, access(Failing)),
			Plan{Progress: Progress{running, 0, start}, Reason: "WorkloadClusterUnreachable", Deadline: ends(0)},
			"",
		},
		"believes nothing of the power of a server that is not its own any more": {
			observe(in(running, 0, 0), off, node(), func(o *Observed) { o.Claim.Phase = claims.Unbound }),
			Plan{Progress: Progress{running, 0, start}, Reason: "PoweringOff", Deadline: ends(0)},
			"",
		},
		"reboots a machine that never had a Node": {
			observe(in(running, 0, 0), off, func(o *Observed) { o.Machine.Node = "" }),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "PoweringOn", Deadline: ends(0)},
			"",
		},
		"lets the server go": {
			observe(in(waiting, 0, 0), off),
			Plan{Step: PowerOn, Progress: Progress{waiting, 0, start}, Reason: "PoweringOn"},
			"",
		},
		"waits for the server to be on": {
			observe(in(waiting, 0, 0), func(o *Observed) { o.Claim.Power.On = false }, node(tainted)),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "PoweringOn", Deadline: ends(0)},
			"to be on",
		},
		"a server that does not come on is not switched off again": {
			observe(in(waiting, 0, timeout), func(o *Observed) { o.Claim.Power.On = false }),
			Plan{Progress: Progress{waiting, 1, start}, Reason: "PoweringOn", Deadline: ends(0)},
			"",
		},
		"takes the taint away": {
			observe(in(waiting, 0, 0), node(tainted)),
			Plan{Step: UntaintNode, Progress: Progress{waiting, 0, start}, Reason: "PoweringOn"},
			"",
		},
		"waits for the workload cluster, which may have a taint": {
			observe(in(waiting, 0, 0), access(Disconnected)),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "WorkloadClusterUnreachable", Deadline: ends(0)},
			"",
		},
		"is ready until the MachineHealthCheck deletes it": {
			observe(in(waiting, 0, 0), node()),
			Plan{Progress: Progress{waiting, 0, start}, Ready: true, Reason: "Rebooted", Deadline: ends(0)},
			"",
		},
		"reboots again": {
			observe(in(waiting, 0, timeout), node()),
			Plan{Progress: Progress{running, 1, start}, Reason: "PoweringOff", Deadline: ends(0)},
			"again",
		},
		"hands the Machine back at the limit": {
			observe(in(waiting, 1, timeout), node()),
			Plan{Step: HandBack, Progress: Progress{deleting, 1, since(timeout)}, Reason: "HandedBack"},
			"owner",
		},
		"a Machine that is handed back already is left as it is": {
			observe(in(waiting, 1, timeout), node(), func(o *Observed) { o.Machine.HandedBack = true }),
			Plan{Progress: Progress{deleting, 1, since(timeout)}, Reason: "HandedBack"},
			"",
		},
		"takes the taint away also from a Machine that is handed back": {
			observe(in(deleting, 1, timeout), node(tainted)),
			Plan{Step: UntaintNode, Progress: Progress{deleting, 1, since(timeout)}, Reason: "HandedBack"},
			"",
		},
		"does nothing more for it": {
			observe(in(deleting, 1, timeout), node()),
			Plan{Progress: Progress{deleting, 1, since(timeout)}, Reason: "HandedBack"},
			"",
		},
		"hands the Machine of a host that is gone back at once": {
			observe(func(o *Observed) { o.Claim = Claim{Phase: claims.Lost} }),
			Plan{Step: HandBack, Progress: Progress{Phase: deleting}, Reason: "HandedBack"},
			"",
		},
		"fails while the server is switched off on purpose": {
			observe(func(o *Observed) { o.Claim.Power.Wanted = false }),
			Plan{Progress: Progress{Phase: failed}, Reason: "PoweredOff"},
			"spec.poweredOn",
		},
		"lets go of a server that is switched off on purpose": {
			observe(in(running, 0, 0), off, func(o *Observed) { o.Claim.Power.Wanted = false }),
			Plan{Step: PowerOn, Progress: Progress{running, 0, start}, Reason: "PoweredOff"},
			"",
		},
		"begins anew once it is switched on": {
			observe(in(failed, 0, time.Hour)),
			Plan{Progress: Progress{running, 0, start}, Reason: "PoweringOff", Deadline: ends(0)},
			"",
		},
		"lets the server of a Machine go that is being deleted": {
			observe(in(running, 0, 0), off, func(o *Observed) { o.Machine.Deleting = true }),
			Plan{Step: PowerOn, Progress: Progress{running, 0, start}, Reason: "MachineDeleting"},
			"",
		},
		"stops where a user wants no remediation": {
			observe(in(waiting, 0, 0), node(tainted), func(o *Observed) { o.Machine.Skipped = true }),
			Plan{Step: UntaintNode, Progress: Progress{waiting, 0, start}, Reason: "RemediationSkipped"},
			"skip-remediation",
		},
		"ends at once before it began": {observe(deleted), Plan{Reason: "Deleting", Finished: true}, ""},
		"ends with the server on": {
			observe(in(running, 0, 0), off, node(tainted), deleted),
			Plan{Step: PowerOn, Progress: Progress{running, 0, start}, Reason: "Deleting"},
			"",
		},
		"ends without the taint": {
			observe(in(waiting, 0, 0), node(tainted), deleted),
			Plan{Step: UntaintNode, Progress: Progress{waiting, 0, start}, Reason: "Deleting"},
			"",
		},
		"ends without the mark, since the machine is healthy": {
			observe(in(deleting, 1, 0), deleted, func(o *Observed) { o.Claim.Marked = true }),
			Plan{Step: UnmarkClaim, Progress: Progress{deleting, 1, start}, Reason: "Deleting"},
			"",
		},
		"leaves the mark for a Machine that is replaced": {
			observe(in(deleting, 1, 0), deleted, func(o *Observed) { o.Claim.Marked, o.Machine.Deleting = true, true }),
			Plan{Progress: Progress{deleting, 1, start}, Reason: "Deleting", Finished: true},
			"",
		},
		"ends when all is taken back": {
			observe(in(waiting, 0, 0), node(), deleted),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "Deleting", Finished: true},
			"",
		},
		"does not end while the server may be held off in a cluster that is dead": {
			observe(in(waiting, 0, 0), deleted, func(o *Observed) { o.Claim = Claim{Unknown: "dead"} }),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "HostClaimUnreachable"},
			"dead",
		},
		"does not end before the taint can be taken away": {
			observe(in(waiting, 0, 0), access(Disconnected), deleted),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "WaitingForNode", Deadline: ends(time.Minute)},
			"out-of-service",
		},
		"ends nevertheless after the time of a reboot": {
			observe(in(waiting, 0, 0), access(Failing), func(o *Observed) { o.DeletedAt = since(timeout) }),
			Plan{Progress: Progress{waiting, 0, start}, Reason: "Deleting", Finished: true, Left: "the workload cluster does not answer or does not permit it, and the Node may keep the taint node.kubernetes.io/out-of-service"},
			"",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Next(tc.observed)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Plan{}, "Message")); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if !strings.Contains(got.Message, tc.message) {
				t.Errorf("message %q lacks %q", got.Message, tc.message)
			}
		})
	}
}

func TestAsksForNode(t *testing.T) {
	tests := map[string]struct {
		observed          Observed
		asked, evacuating bool
	}{
		"nothing before it begins":                   {observed: observe()},
		"nothing while the server is on":             {observed: observe(in(running, 0, 0), held)},
		"all once the server is off":                 {observed: observe(in(running, 0, 0), off), asked: true, evacuating: true},
		"the Node while it is restored":              {observed: observe(in(waiting, 0, 0)), asked: true},
		"the Node of a Machine that is handed back":  {observed: observe(in(deleting, 0, 0)), asked: true},
		"the Node at the end":                        {observed: observe(in(running, 0, 0), deleted), asked: true},
		"nothing at the end of what never began":     {observed: observe(deleted)},
		"nothing where the Machine is being deleted": {observed: observe(in(waiting, 0, 0), func(o *Observed) { o.Machine.Deleting = true })},
		"nothing without a Node":                     {observed: observe(in(waiting, 0, 0), func(o *Observed) { o.Machine.Node = "" })},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.observed.AsksForNode(); got != tc.asked {
				t.Errorf("asks for the Node: %t", got)
			}
			if got := tc.observed.Evacuating(); got != tc.evacuating {
				t.Errorf("asks for the workload: %t", got)
			}
		})
	}
}
