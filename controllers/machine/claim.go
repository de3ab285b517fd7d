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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// observeClaim reads the machine's claim from the cache. A missing claim is a
// fact, not an error.
func (r *Reconciler) observeClaim(ctx context.Context, s *scope) progress.Outcome {
	claim, found, err := r.Claims.ClaimOf(ctx, s.machine)
	if err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"The HostClaim of the machine cannot be read", err)
	}
	if found {
		s.claim = claim
		s.observed.Claim = hostclaim.Read(claim)
	}
	return progress.Outcome{}
}

// pauseClaim keeps the hostclaim manager off the claim while the Cluster is
// paused, so that a move finds claim and host as they are.
func (r *Reconciler) pauseClaim(ctx context.Context, s *scope) progress.Outcome {
	if !s.clusterPaused() {
		return progress.Outcome{}
	}
	if err := r.repause(ctx, s, true); err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.BareMetalHostPauseAnnotationSetFailedReason,
			"The HostClaim of the machine cannot be paused", err)
	}
	return progress.Outcome{}
}

// unpauseClaim takes back what pauseClaim did.
func (r *Reconciler) unpauseClaim(ctx context.Context, s *scope) progress.Outcome {
	if err := r.repause(ctx, s, false); err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.BareMetalHostPauseAnnotationRemoveFailedReason,
			"The HostClaim of the machine cannot be unpaused", err)
	}
	return progress.Outcome{}
}

// repause writes the annotation by a locked merge patch, not by apply: after a
// move it belongs to another field manager, and must still go.
func (r *Reconciler) repause(ctx context.Context, s *scope, pause bool) error {
	if s.claim == nil {
		return nil
	}
	value, change := hostclaim.Repause(s.claim, pause)
	if !change {
		return nil
	}
	before := s.claim.DeepCopy()
	if value == nil {
		delete(s.claim.Annotations, clusterv1.PausedAnnotation)
	} else {
		if s.claim.Annotations == nil {
			s.claim.Annotations = map[string]string{}
		}
		s.claim.Annotations[clusterv1.PausedAnnotation] = *value
	}
	ctrl.LoggerFrom(ctx).Info("Changing the pause annotation of the HostClaim", "HostClaim", klog.KObj(s.claim), "paused", pause)
	err := r.Client.Patch(ctx, s.claim, apply.Locked(before))
	if err != nil {
		return fmt.Errorf("patch the pause annotation of HostClaim %s: %w", s.claim.Name, err)
	}
	return nil
}

// observeHost reads what is published of the bound host, and whether a claim of
// the wanted name belongs to somebody else.
func (r *Reconciler) observeHost(ctx context.Context, s *scope) progress.Outcome {
	const condition, reason = infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
	s.observed.Machine = s.facts()
	if s.claim == nil {
		taken, err := r.Claims.NameTaken(ctx, s.machine)
		if err != nil {
			return s.failed(condition, reason, "The HostClaim of the machine cannot be read", err)
		}
		s.observed.NameTaken = taken
		return progress.Outcome{}
	}
	host, found, err := r.Claims.HostOf(ctx, s.claim)
	if err != nil {
		return s.failed(condition, reason, "The hardware facts of the host cannot be read", err)
	}
	if found {
		s.host = host
		s.observed.Facts, s.observed.HostUID = true, host.UID
	}
	return progress.Outcome{}
}

// applyClaim writes the planned claim, unless it is like that already.
func (r *Reconciler) applyClaim(ctx context.Context, s *scope) progress.Outcome {
	if s.plan.Claim == nil {
		return progress.Outcome{}
	}
	desired := hostclaim.Desired(*s.plan.Claim)
	if s.claim != nil {
		hostclaim.KeepChoice(desired, s.claim)
		if hostclaim.UpToDate(s.claim, desired) {
			return progress.Outcome{}
		}
		// Never make a claim anew whose place in the machine's life was taken
		// from the old one, and never take back what the cache does not show yet:
		// image, secrets and power.
		desired.UID, desired.ResourceVersion = s.claim.UID, s.claim.ResourceVersion
	} else if _, found, err := r.readLive(ctx, s, desired.Name); err != nil || found {
		// Somebody else's claim, or our own that the cache does not show yet and
		// on which nothing of this plan is based: its event wakes us.
		return s.claimProblem(err)
	}
	ctrl.LoggerFrom(ctx).Info("Applying HostClaim", "HostClaim", klog.KObj(desired),
		"deployed", s.plan.Claim.Deployment != nil)
	if err := apply.Object(ctx, r.Client, desired, infrav1.MachineFieldOwner); err != nil {
		return s.claimProblem(fmt.Errorf("apply HostClaim %s: %w", desired.Name, err))
	}
	return progress.Outcome{}
}

// readLive reads a claim past the cache.
func (r *Reconciler) readLive(ctx context.Context, s *scope, name string) (*bmov1alpha1.HostClaim, bool, error) {
	claim := &bmov1alpha1.HostClaim{}
	key := client.ObjectKey{Namespace: s.machine.Namespace, Name: name}
	if err := r.Live.Get(ctx, key, claim); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	return claim, true, nil
}

// claimProblem is what becomes of a claim that could not be written; a nil
// error means that there is one already, which the cache will show in a moment.
func (s *scope) claimProblem(err error) progress.Outcome {
	if err == nil {
		return progress.Outcome{}
	}
	return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
		"The HostClaim of the machine cannot be written", err)
}
