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

package remediation

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// maxSteps bounds the steps of one pass: a Node is tainted, and looked at again.
const maxSteps = 3

// Reconcile brings one Metal3Remediation a step closer to its end. It decides nothing itself:
// see baremetal/provider/remediations for the rules.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if wait := r.stale.TooEarly(req.NamespacedName, r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		r.departures.end(req)
		r.stale.Forget(req.NamespacedName)
		r.reports.Forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	if s.deleted() && !controllerutil.ContainsFinalizer(s.remediation, infrav1.RemediationFinalizer) {
		r.departures.end(req)
		return ctrl.Result{}, nil
	}
	ctx = withOwners(ctx, s)
	if s.paused() {
		r.departures.end(req)
		return r.finish(ctx, s, nil, progress.Outcome{})
	}
	if !s.observed.OutOfTurn { // one that does nothing has nothing to take back
		if added, err := finalizers.EnsureFinalizer(ctx, r.Client, s.remediation, infrav1.RemediationFinalizer); err != nil || added {
			return ctrl.Result{}, err
		}
	}
	plan, out := r.pass(ctx, s)
	return r.finish(ctx, s, plan, out)
}

// load reads the remediation and what is above it.
func (r *Reconciler) load(ctx context.Context, key types.NamespacedName) (*scope, bool, error) {
	s := &scope{remediation: &infrav1.Metal3Remediation{}}
	if err := r.Client.Get(ctx, key, s.remediation); err != nil {
		return nil, false, client.IgnoreNotFound(err)
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(s.remediation, r.WatchFilter) {
		return nil, false, nil
	}
	s.before = s.remediation.DeepCopy()
	return s, true, r.owner().observe(ctx, s)
}

// pass observes and decides, and takes a step. Behind a step on the Node it observes and
// decides anew, since no event follows; behind any other one an event begins the next pass.
// The plan is nil if the pass failed before it was carried out.
func (r *Reconciler) pass(ctx context.Context, s *scope) (*remediations.Plan, progress.Outcome) {
	s.observed.Now = r.Clock.Now()
	for range maxSteps {
		out := progress.Run(ctx, s, progress.UntilError, r.claimSteps().observe, r.nodeSteps().observe)
		if out.Err() != nil {
			return nil, out
		}
		plan := remediations.Next(s.observed)
		if err := r.do(ctx, s, plan.Step); err != nil {
			return nil, progress.Failed(err)
		}
		s.done = append(s.done, plan.Step)
		if !again(plan.Step) {
			return &plan, progress.Failed(s.nodeErr)
		}
	}
	// The steps have not shown, perhaps since something holds the Node: no event may follow.
	return nil, progress.Failed(progress.ErrStale)
}

// again says that a step is on the Node alone, so that the next one can follow at once.
func again(step remediations.Step) bool {
	return step == remediations.TaintNode || step == remediations.UntaintNode
}

// do takes a step.
func (r *Reconciler) do(ctx context.Context, s *scope, step remediations.Step) error {
	claim, node := r.claimSteps(), r.nodeSteps()
	switch step {
	case remediations.NoStep:
		return nil
	case remediations.PowerOff:
		return claim.powerOff(ctx, s)
	case remediations.PowerOn:
		return claim.powerOn(ctx, s)
	case remediations.TaintNode:
		return r.taint(ctx, s)
	case remediations.UntaintNode:
		return node.untaint(ctx, s)
	case remediations.HandBack:
		return r.handBack(ctx, s)
	case remediations.UnmarkClaim:
		return claim.mark(ctx, s, false)
	default:
		return fmt.Errorf("unknown step %s", step)
	}
}

// taint moves work away from the Node of a server that a live read of the claim shows to be off.
func (r *Reconciler) taint(ctx context.Context, s *scope) error {
	if err := r.claimSteps().confirm(ctx, s); err != nil {
		return err
	}
	return r.nodeSteps().taint(ctx, s)
}

// handBack marks the server and leaves the Machine to Cluster API.
func (r *Reconciler) handBack(ctx context.Context, s *scope) error {
	if err := r.claimSteps().mark(ctx, s, true); err != nil {
		return err
	}
	return r.owner().handBack(ctx, s)
}

// finish writes what the pass has found out, and announces what has happened.
func (r *Reconciler) finish(ctx context.Context, s *scope, plan *remediations.Plan, out progress.Outcome) (ctrl.Result, error) {
	report(s, plan)
	if plan != nil && plan.Finished {
		controllerutil.RemoveFinalizer(s.remediation, infrav1.RemediationFinalizer)
		r.departures.end(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.remediation)})
	}
	key := client.ObjectKeyFromObject(s.remediation)
	if until, held := r.reports.Hold(key, reportOf(s), r.Clock.Now(), 0); held {
		r.announce(ctx, s, plan, false)
		out = out.And(progress.Until(until, "", ""))
	} else {
		_, err := apply.Changes(ctx, r.Client, s.before, s.remediation)
		if err != nil {
			err = fmt.Errorf("write Metal3Remediation: %w", err)
		}
		r.announce(ctx, s, plan, err == nil)
		out = out.And(progress.Failed(err))
	}
	if plan != nil && !plan.Deadline.IsZero() {
		out = out.And(progress.Until(plan.Deadline, plan.Reason, plan.Message))
	}
	return r.stale.Result(ctx, key, out, r.Clock.Now())
}

// reportOf is what there is to report: whatever the next pass goes by is awaited, and the words of
// the claim are not.
func reportOf(s *scope) retry.Report {
	before, after := s.before, s.remediation
	was, is := before.Status.DeepCopy(), after.Status.DeepCopy()
	was.Conditions, is.Conditions = nil, nil
	switch {
	case reflect.DeepEqual(before, after):
		return retry.Nothing
	case !reflect.DeepEqual(before.ObjectMeta, after.ObjectMeta), !reflect.DeepEqual(was, is):
		return retry.Urgent
	default:
		return retry.Changed
	}
}

// withOwners puts the objects above the remediation into the logger.
func withOwners(ctx context.Context, s *scope) context.Context {
	log := ctrl.LoggerFrom(ctx)
	if s.machine != nil {
		log = log.WithValues("Machine", klog.KObj(s.machine))
	}
	if s.cluster != nil {
		log = log.WithValues("Cluster", klog.KObj(s.cluster))
	}
	return ctrl.LoggerInto(ctx, log)
}
