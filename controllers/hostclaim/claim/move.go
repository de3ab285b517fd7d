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

package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// MoveKinds finds the kinds whose objects clusterctl would leave behind.
type MoveKinds interface {
	// Unlabeled returns the CustomResourceDefinitions of claims, hosts and hardware that
	// do not exist or lack ClusterctlLabel, sorted.
	Unlabeled(ctx context.Context) ([]string, error)
}

// reconcilePaused does what is to be done about a claim that is paused: nothing, but to let
// clusterctl move it as soon as its host is ready. A claim that goes, or was moved, is
// left alone.
func (r *Reconciler) reconcilePaused(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	if deleting(claim) || binding.MovedAway(claim) || claim.Labels[infrav1.OriginKey] != "" {
		return nil
	}
	s := &scope{claim: claim}
	if err := r.observeHosts(ctx, s); err != nil {
		return err
	}
	if otherController(claim, s.host != nil) != "" {
		return nil
	}
	plan, err := r.prepareMove(ctx, s)
	if err != nil && plan.Step != moveWait {
		return err
	}
	return errors.Join(err, r.reportMovable(ctx, claim, plan))
}

// prepareMove makes claim and host ready to be moved:
//
//	read the host ─▶ pause, status and record on the host ─▶ block-move off the claim
//
// Both writes are locked, the second to the version of the claim that the record names. A
// pass that died between the two is continued by the next one. Whatever keeps the claim
// from being moved puts block-move back on a claim that lost it, a refused write as well: it
// comes with a plan and an error.
func (r *Reconciler) prepareMove(ctx context.Context, s *scope) (movePlan, error) {
	observed, err := r.observeMove(ctx, s)
	if err != nil {
		return movePlan{}, err
	}
	switch plan := nextMove(observed); plan.Step {
	case moveUnblock:
		return plan, r.guardClaim(ctx, s.claim, false, false)
	case moveWait:
		return plan, r.guardClaim(ctx, s.claim, true, true)
	case movePrepare:
		if err := r.pauseHost(ctx, s.claim, observed.host); err != nil {
			return moveRefused("the host made ready for a move", err), errors.Join(err, r.guardClaim(ctx, s.claim, true, true))
		}
		plan.Step = moveDone
		if err := r.guardClaim(ctx, s.claim, true, false); err != nil {
			return moveRefused("annotation "+infrav1.BlockMoveAnnotation+" taken off the claim", err), err
		}
		return plan, nil
	default:
		return plan, nil
	}
}

// observeMove gathers what is decided on. The host is read live, since its status is copied,
// and since a cache that is late would show a host at rest, or one that is not ready any
// more.
func (r *Reconciler) observeMove(ctx context.Context, s *scope) (moveFacts, error) {
	o := moveFacts{claim: s.claim}
	if s.host == nil {
		return o, nil
	}
	o.host = &bmov1alpha1.BareMetalHost{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.host), o.host); err != nil {
		return o, fmt.Errorf("read the host before it is moved: %w", err)
	}
	if !binding.Owned(o.host, s.claim) {
		return o, patch.Conflict("the host is not the claim's any more")
	}
	var err error
	if o.unlabeled, err = r.Kinds.Unlabeled(ctx); err != nil {
		return o, fmt.Errorf("read the labels of CustomResourceDefinitions: %w", err)
	}
	namespace, err := watch.ReadNamespace(ctx, r.Client, o.host.Namespace)
	o.handOver = namespace.Annotations[infrav1.HostsMayMoveAnnotation] == "true"
	return o, err
}

// pauseHost makes the host ready, unless it is ready and recorded for this very version of
// the claim.
func (r *Reconciler) pauseHost(ctx context.Context, claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) error {
	if binding.IsReadyToMove(host, claim) && binding.IsRecorded(host, claim) {
		return nil
	}
	desired, err := binding.ReadyToMove(host, claim)
	if err != nil {
		return fmt.Errorf("keep the status of the host: %w", err)
	}
	if err := r.Client.Patch(ctx, desired, patch.Locked(host)); err != nil {
		return fmt.Errorf("make the host ready to be moved: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Paused the host and kept its status, so that it can be moved", "BareMetalHost", klog.KObj(desired))
	return nil
}

// reportMovable writes the condition Movable of a paused claim, and nothing else.
func (r *Reconciler) reportMovable(ctx context.Context, claim *bmov1alpha1.HostClaim, plan movePlan) error {
	desired := claim.DeepCopy()
	setMovable(&desired.Status, plan, claim.Generation, r.Clock.Now())
	if equality.Semantic.DeepEqual(desired.Status, claim.Status) {
		return nil
	}
	return r.writeStatus(ctx, claim, desired, "write condition Movable")
}

// setMovable sets the condition Movable of a paused claim, or removes it where there is nothing
// to report.
func setMovable(status *bmov1alpha1.HostClaimStatus, plan movePlan, generation int64, now time.Time) {
	if plan.Reason == "" {
		meta.RemoveStatusCondition(&status.Conditions, infrav1.MovableCondition)
		return
	}
	c := isFalse(infrav1.MovableCondition, plan.Reason, text.Shorten(plan.Message, maxMessage))
	if plan.Step == moveDone {
		c.Status = metav1.ConditionTrue
	}
	c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now)
	meta.SetStatusCondition(&status.Conditions, c)
}

// guard keeps clusterctl from moving a claim without its host, or the host without its
// claim, while the claim is not paused. A host that was made ready for a move, and was not
// moved, or was moved here, comes out of it:
//
//	block-move on the claim ─▶ read the claim ─▶ pause, record and status off the host
//
// The host was read before the claim. So a claim that was paused since then either shows
// that, or its host is written before block-move goes, and this write conflicts.
//
// A lost host still counts: in a move, the claim would lose the record of it.
func (r *Reconciler) guard(ctx context.Context, s *scope) (ready bool, err error) {
	if s.step != binding.Keep && !s.hostless() {
		return false, nil
	}
	if err := r.guardClaim(ctx, s.claim, s.host != nil, s.host != nil); err != nil || s.host == nil {
		if s.host != nil {
			err = s.unsynchronized(err)
		}
		return false, err
	}
	if !s.grant().Admitted && !binding.Held(s.host) {
		return true, nil // nothing new is written to the host
	}
	if err := r.resumeHost(ctx, s); err != nil {
		return false, s.unsynchronized(err)
	}
	if binding.WithoutStatus(s.host) { // nothing is concluded from it
		s.waitsForSync(binding.Wait{Reason: infrav1.WaitingForHostStatusReason, Message: statusMissing(s.host)})
		return false, nil
	}
	return true, nil
}

// hostless reports whether the claim has no host, and has lost none.
func (s *scope) hostless() bool {
	return (s.step == binding.Choose || s.step == binding.Rest) &&
		(s.known.Record == binding.Unrecorded || s.known.Record == binding.Blank)
}

// resumeHost puts on the host what guards it, and takes off what a move has put there. A
// host whose status is lost stays paused.
func (r *Reconciler) resumeHost(ctx context.Context, s *scope) error {
	before, desired := s.host, binding.Guarded(s.host, s.claim)
	if binding.Held(before) && !binding.StatusLost(before) {
		if err := r.confirm(ctx, s.claim); err != nil {
			return err
		}
		desired = binding.Resumed(desired)
	}
	if equality.Semantic.DeepEqual(desired, before) {
		return nil
	}
	if err := r.patchHost(ctx, s, desired, "guard the host against a move"); err != nil {
		return err
	}
	if binding.PausedForMove(before) && !binding.PausedForMove(desired) {
		ctrl.LoggerFrom(ctx).Info("Unpaused the host, since its HostClaim is not moved or has been moved", "BareMetalHost", klog.KObj(desired))
	}
	return nil
}

// statusMissing is what brings the status of a host back.
func statusMissing(host *bmov1alpha1.BareMetalHost) string {
	if !binding.StatusLost(host) {
		return "The host was moved or restored; waiting for baremetal-operator to restore its status"
	}
	return "The host was restored without its status, so baremetal-operator would take the server for a new one; " +
		"the infrastructure team must restore annotation " + bmov1alpha1.StatusAnnotation + " of the host"
}

// guardClaim writes what a claim must carry about moves, see binding.GuardedClaim.
func (r *Reconciler) guardClaim(ctx context.Context, claim *bmov1alpha1.HostClaim, bound, block bool) error {
	desired := binding.GuardedClaim(claim, bound, block)
	if maps.Equal(desired.Annotations, claim.Annotations) {
		return nil
	}
	return r.patchClaim(ctx, claim, desired, "say whether the claim can be moved")
}
