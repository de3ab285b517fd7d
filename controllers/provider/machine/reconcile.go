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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// ownerDeadline is how long after its creation a machine without an owner says so.
// Cluster API makes a Machine its owner within seconds.
const ownerDeadline = 10 * time.Minute

// phase is one step of a pass. It may add facts to the scope; it never sets a
// condition.
type phase = progress.Step[*scope]

// Reconcile brings one Metal3Machine a step closer to its spec. It decides
// nothing itself: see baremetal/provider/machines for the rules.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		return ctrl.Result{}, err
	}
	ctx = withOwners(ctx, s)
	if !controllerutil.ContainsFinalizer(s.machine, infrav1.MachineFinalizer) {
		switch {
		case !s.machine.DeletionTimestamp.IsZero():
			return ctrl.Result{}, nil // nothing was ever done for it, or all is undone
		case s.owner == nil:
			return r.awaitOwner(ctx, s)
		}
	}

	if added, err := finalizers.EnsureFinalizer(ctx, r.Client, s.machine, infrav1.MachineFinalizer); err != nil || added {
		return ctrl.Result{}, err
	}
	isPaused, changed, err := paused.EnsurePausedCondition(ctx, r.Client, s.cluster, s.machine)
	switch {
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("set condition Paused: %w", err)
	case changed && !isPaused:
		return ctrl.Result{}, nil // our own write wakes us
	}
	s.paused = isPaused

	s.before = s.machine.DeepCopy()
	out := r.connector().connect(ctx, s)
	if out.Err() == nil {
		// A decision on half of the facts could claim a second server.
		out = out.And(progress.Run(ctx, s, progress.UntilError, r.phases(s)...))
	}
	return r.finish(ctx, s, out)
}

// finish writes what the pass has found out, and announces what has happened.
func (r *Reconciler) finish(ctx context.Context, s *scope, out progress.Outcome) (ctrl.Result, error) {
	report(s, metav1.NewTime(r.Clock.Now()))
	err := apply.Changes(ctx, r.Client, s.before, s.machine)
	if err == nil {
		r.announce(ctx, s)
	}
	return out.And(progress.Failed(err)).Result(r.Clock.Now())
}

// awaitOwner is for a machine that Cluster API is still making: it creates the
// machine, writes it again with a lock, and makes a Machine its owner only then. A
// write of ours in between could make it give up, and leave the machine behind. So
// nothing is written before the deadline, after which the machine says what it lacks.
func (r *Reconciler) awaitOwner(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.clusterPaused() || annotations.HasPaused(s.machine) {
		return ctrl.Result{}, nil
	}
	if deadline := s.machine.CreationTimestamp.Add(ownerDeadline); r.Clock.Now().Before(deadline) {
		return progress.Until(deadline, infrav1.WaitingForMetal3MachineOwnerRefReason, "").Result(r.Clock.Now())
	}
	s.before = s.machine.DeepCopy()
	return r.finish(ctx, s, waitForOwners(ctx, s))
}

// phases lists the steps of this pass in order.
func (r *Reconciler) phases(s *scope) []phase {
	claim, data := r.claimSteps(), r.dataSteps()
	switch {
	case s.paused && s.site == nil:
		return nil
	case s.paused:
		return []phase{claim.observeClaim, claim.pauseClaim}
	case !s.machine.DeletionTimestamp.IsZero() && s.site == nil:
		return phasesWithoutClaim(s, data)
	case !s.machine.DeletionTimestamp.IsZero():
		return []phase{
			claim.observeClaim, claim.unpauseClaim, data.observeData, claim.confirmNoClaim, data.confirmNoData,
			decideRelease, claim.releaseClaim, data.releaseData, dropFinalizer,
		}
	case s.owner == nil || s.cluster == nil:
		return []phase{waitForOwners}
	case s.site == nil:
		return nil // connect has said why
	}
	bootstrap, node := bootstrapSteps{live: r.Live, secrets: r.Secrets}, r.nodeSteps()
	return []phase{
		claim.observeClaim, claim.unpauseClaim, claim.confirmElsewhere, claim.observeHost,
		bootstrap.observeBootstrap, data.observeData, data.observeName, node.observeNode,
		decide,
		data.applyName, claim.copySecrets, claim.applyClaim, data.applyData, node.applyNode,
	}
}

// phasesWithoutClaim are those of a machine that is being deleted and whose claim
// cannot be reached, or never was.
func phasesWithoutClaim(s *scope, data dataSteps) []phase {
	released := []phase{data.observeData, data.confirmNoData, decideRelease, data.releaseData, dropFinalizer}
	switch {
	case s.claimless:
		return released
	case s.abandoning() && s.unreachable.Reason != infrav1.IdentityConnectingReason:
		return append([]phase{abandonClaim}, released...)
	default:
		return []phase{holdElsewhere}
	}
}

// decide lets the planner decide. No IO.
func decide(_ context.Context, s *scope) progress.Outcome {
	plan := machines.Next(s.observed)
	s.plan = &plan
	return progress.Outcome{}
}

// waitForOwners says which of the objects above the machine is missing.
func waitForOwners(_ context.Context, s *scope) progress.Outcome {
	w := machines.Wait{
		Condition: infrav1.AssociateBareMetalHostCondition,
		Reason:    infrav1.WaitingForMetal3MachineOwnerRefReason,
		Message:   "Waiting for Cluster API to make a Machine the owner of this Metal3Machine",
	}
	if s.owner != nil {
		w.Reason = infrav1.WaitingForClusterInfrastructureReadyReason
		w.Message = fmt.Sprintf("Waiting for Cluster %q of the Machine to exist", s.owner.Spec.ClusterName)
	}
	s.problems = append(s.problems, w)
	return progress.Waiting(w.Reason, w.Message)
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
