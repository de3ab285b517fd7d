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

package machine

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/finalizers"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// ownerDeadline is how long after its creation a machine without an owner says so.
// Cluster API makes a Machine its owner within seconds.
const ownerDeadline = 10 * time.Minute

// Reconcile brings one Metal3Machine a step closer to its spec. It decides
// nothing itself: see baremetal/provider/machines for the rules.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if wait := r.stale.TooEarly(req.NamespacedName, r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		return ctrl.Result{}, err
	}
	if until, behind := r.written.Behind(req.NamespacedName, s.machine.ResourceVersion, r.Clock.Now()); behind {
		return r.stale.Result(ctx, req.NamespacedName, progress.Behind(until, "Metal3Machine"), r.Clock.Now())
	}
	ctx = withOwners(ctx, s)
	if !controllerutil.ContainsFinalizer(s.machine, infrav1.MachineFinalizer) {
		switch {
		case s.deleted():
			return ctrl.Result{}, nil // nothing was ever done for it, or all is undone
		case s.owner == nil:
			return r.awaitOwner(ctx, s)
		}
	}

	if !s.paused() {
		if added, err := finalizers.EnsureFinalizer(ctx, r.Client, s.machine, infrav1.MachineFinalizer); err != nil || added {
			r.written.Wrote(req.NamespacedName, s.machine.ResourceVersion, r.Clock.Now())
			return ctrl.Result{}, err
		}
	}
	s.before = s.machine.DeepCopy()
	return r.finish(ctx, s, r.pass(ctx, s))
}

// pass carries out the steps that the machine needs now. Each sees what those before it
// have observed, and none is carried out after one that failed: a decision on half of
// the facts could claim a second server.
func (r *Reconciler) pass(ctx context.Context, s *scope) result {
	c, out := r.connector().connect(ctx, s)
	var res result
	switch {
	case out.Err() != nil:
	case s.paused():
		res = r.pause(ctx, s, c.claim)
	case s.deleted():
		res = r.release(ctx, s, c)
	case s.ownerless():
		res.Outcome = waitForOwners(s)
	case c.claim != nil: // else connect has said why
		res = r.provision(ctx, s, c.claim)
	}
	res.identity, res.Outcome = c.identity, out.And(res.Outcome)
	return res
}

// pause leaves the machine alone, but for the claim, which is paused with its Cluster.
func (r *Reconciler) pause(ctx context.Context, s *scope, claim *claimClient) result {
	if claim == nil {
		return result{}
	}
	return result{Outcome: progress.Run(ctx, s, progress.UntilError, claim.observe, claim.pause)}
}

// provision brings the machine a step closer to its Node.
func (r *Reconciler) provision(ctx context.Context, s *scope, claim *claimClient) result {
	data, nodes, reserved := r.dataSteps(), r.nodeSteps(), reservations{claim}
	s.observed.Machine = s.facts()
	out := progress.Run(ctx, s, progress.UntilError,
		claim.observe, claim.keep, claim.pause, reserved.observeGroup, claim.observeHost, r.bootstrapSteps().observe, data.observe, data.observeDomains, data.observeName, nodes.observe)
	if out.Err() != nil {
		return result{Outcome: out}
	}
	p := &planned{scope: s, plan: machines.Next(s.observed)}
	written := progress.Run(ctx, p, progress.UntilError, data.applyName, reserved.reuse, claim.write)
	if written.Err() == nil { // the rest depends on the claim, and not on one another
		written = written.And(progress.Run(ctx, p, progress.ToTheEnd, data.apply, nodes.apply, r.heldData().end))
	}
	return result{Outcome: out.And(written), plan: &p.plan}
}

// finish writes what the pass has found out, and announces what has happened.
func (r *Reconciler) finish(ctx context.Context, s *scope, res result) (ctrl.Result, error) {
	report(s, res, metav1.NewTime(r.Clock.Now()))
	out, key := res.Outcome, client.ObjectKeyFromObject(s.machine)
	if until, held := r.reports.Hold(key, reportOf(s, res), r.Clock.Now(), r.HoldReports); held {
		out = out.And(progress.Until(until, "", ""))
	} else {
		version, err := patch.Changes(ctx, r.Client, s.before, s.machine)
		switch {
		case version != s.before.ResourceVersion:
			r.written.Wrote(key, version, r.Clock.Now())
		case err == nil && released(s.machine):
			r.written.Left(key, version, r.Clock.Now())
		}
		if err == nil {
			r.announce(ctx, s, res.abandoned)
		}
		out = out.And(progress.Failed(err))
	}
	r.Metrics.decided(out)
	return r.stale.Result(ctx, key, out, r.Clock.Now())
}

// reportOf is what there is to report. The first report is urgent, as is one that Cluster API
// or a person waits for, and one that changes more than the status.
func reportOf(s *scope, res result) retry.Report {
	before, after := s.before, s.machine
	switch {
	case reflect.DeepEqual(before, after):
		return retry.Nothing
	case res.Stale(): // the next pass decides anew
		return retry.Transient
	case len(before.Status.Conditions) == 0, before.Spec.ProviderID != after.Spec.ProviderID, provisioned(before) != provisioned(after):
		return retry.Urgent
	case isTransient(s, res):
		return retry.Transient
	case changesMore(before, after):
		return retry.Urgent
	default:
		return retry.Changed
	}
}

// isTransient says that a machine waits for nothing but what as a rule comes at once, or that it is
// being deleted and has nothing to say but how far its claim is, unless a machine that would keep
// its server waits for the first of that.
func isTransient(s *scope, res result) bool {
	switch {
	case !res.Done():
		return false
	case res.plan != nil && machines.Transient(s.observed, *res.plan):
		return true
	default:
		return res.release != nil && !res.release.Done && (decided(s.before) == decided(s.machine) || goesAlone(s, res))
	}
}

// goesAlone says that no other machine waits to be told what becomes of the claim of one that
// is being deleted.
func goesAlone(s *scope, res result) bool {
	group := s.observed.Group
	return !res.release.ReserveClaim && (!group.Asked || group.Going)
}

// changesMore says that more than the status has changed, or the name of the host, which in
// another cluster is whatever its API server says.
func changesMore(before, after *infrav1.Metal3Machine) bool {
	was, is := before.ObjectMeta.DeepCopy(), after.ObjectMeta.DeepCopy()
	if hostOf(before) != "" {
		delete(was.Annotations, infrav1.HostAnnotation)
		delete(is.Annotations, infrav1.HostAnnotation)
	}
	return !reflect.DeepEqual(was, is) || !reflect.DeepEqual(before.Spec, after.Spec)
}

// awaitOwner is for a machine that Cluster API is still making: Cluster API creates the
// machine, writes it again with a lock, and makes a Machine its owner only then. A
// write of ours in between could make it give up, and leave the machine behind. So
// nothing is written before the deadline, after which the machine says what it lacks.
func (r *Reconciler) awaitOwner(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.paused() {
		return ctrl.Result{}, nil
	}
	if deadline := s.machine.CreationTimestamp.Add(ownerDeadline); r.Clock.Now().Before(deadline) {
		return progress.Until(deadline, infrav1.WaitingForMetal3MachineOwnerRefReason, "").Result(r.Clock.Now())
	}
	s.before = s.machine.DeepCopy()
	return r.finish(ctx, s, result{Outcome: waitForOwners(s)})
}

// waitForOwners says which of the objects above the machine is missing.
func waitForOwners(s *scope) progress.Outcome {
	if s.owner != nil {
		return waiting(infrav1.AssociateBareMetalHostCondition, infrav1.WaitingForClusterInfrastructureReadyReason,
			fmt.Sprintf("Waiting for Cluster %q of the Machine to exist", s.owner.Spec.ClusterName))
	}
	return waiting(infrav1.AssociateBareMetalHostCondition, infrav1.WaitingForMetal3MachineOwnerRefReason,
		"Waiting for Cluster API to make a Machine the owner of this Metal3Machine")
}

// withOwners puts the objects above the machine into the logger.
func withOwners(ctx context.Context, s *scope) context.Context {
	log := ctrl.LoggerFrom(ctx)
	if s.owner != nil {
		log = log.WithValues("Machine", klog.KObj(s.owner))
	}
	if s.cluster != nil {
		log = log.WithValues("Cluster", klog.KObj(s.cluster))
	}
	return ctrl.LoggerInto(ctx, log)
}
