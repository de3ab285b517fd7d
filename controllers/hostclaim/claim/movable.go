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
	"fmt"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// guard keeps clusterctl from moving a claim without its host, or the host without its
// claim, while the claim is not paused. A host that was made ready for a move, and was not
// moved, or was moved here, comes out of it:
//
//	block-move on the claim ─▶ read the claim ─▶ pause, record and status off the host
//
// The host was read before the claim. So a claim that was paused since then either shows
// that, or its host is written before block-move goes, and this write conflicts.
//
// A lost host still counts: in a move the claim would forget that it ever had one.
func (r *mover) guard(ctx context.Context, s *scope, at standing) (*bmov1alpha1.BareMetalHost, progress.Outcome) {
	if at.step != binding.Keep && !at.hostless() {
		return s.host, progress.Outcome{}
	}
	switch err := guardClaim(ctx, r.client, s.claim, s.host != nil, s.host != nil); {
	case err != nil && s.host != nil:
		return s.host, unsynchronized(err)
	case err != nil || s.host == nil:
		return s.host, progress.Failed(err)
	}
	if !s.grant().Admitted && !binding.Held(s.host) {
		return s.host, progress.Outcome{} // nothing new is written to the host
	}
	host, err := r.resume(ctx, s)
	switch {
	case err != nil:
		return host, unsynchronized(err)
	case !binding.WithoutStatus(host):
		return host, progress.Outcome{}
	}
	return host, progress.Waiting(infrav1.WaitingForHostStatusReason, statusMissing(host))
}

// resume puts on the host what guards it, and takes off what a move has put there. A
// host whose status is lost stays paused.
func (r *mover) resume(ctx context.Context, s *scope) (*bmov1alpha1.BareMetalHost, error) {
	desired := binding.Guarded(s.host, s.claim)
	if binding.Held(s.host) && !binding.StatusLost(s.host) {
		if err := confirm(ctx, r.live, s.claim); err != nil {
			return s.host, err
		}
		desired = binding.Resumed(desired)
	}
	if equality.Semantic.DeepEqual(desired, s.host) {
		return s.host, nil
	}
	if err := r.client.Patch(ctx, desired, apply.Locked(s.host)); err != nil {
		return s.host, fmt.Errorf("guard the host against a move: %w", err)
	}
	if binding.PausedForMove(s.host) && !binding.PausedForMove(desired) {
		ctrl.LoggerFrom(ctx).Info("Unpaused the host, since its HostClaim is not moved or has been moved", "BareMetalHost", klog.KObj(desired))
	}
	return desired, nil
}

// statusMissing says what brings the status of a host back.
func statusMissing(host *bmov1alpha1.BareMetalHost) string {
	if !binding.StatusLost(host) {
		return "The host was moved or restored; waiting for baremetal-operator to restore its status"
	}
	return "The host was restored without its status, so baremetal-operator would take the server for a new one; " +
		"the infrastructure team must restore annotation " + bmov1alpha1.StatusAnnotation + " of the host"
}

// guardClaim writes what a claim must carry about moves, see binding.GuardedClaim.
func guardClaim(ctx context.Context, writer client.Client, claim *bmov1alpha1.HostClaim, bound, block bool) error {
	desired := binding.GuardedClaim(claim, bound, block)
	if maps.Equal(desired.Annotations, claim.Annotations) {
		return nil
	}
	before := claim.DeepCopy()
	claim.Annotations = desired.Annotations
	if err := writer.Patch(ctx, claim, apply.Locked(before)); err != nil {
		return fmt.Errorf("say whether the claim can be moved: %w", err)
	}
	return nil
}
