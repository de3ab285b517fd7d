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
	"errors"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// errNameTaken is the error of a pass that found a foreign claim in its way.
var errNameTaken = errors.New("the name of the HostClaim is taken")

// claimSteps observe, write, pause and release the claim of a machine, in its own
// cluster or in another one, and the secrets copied next to it.
type claimSteps struct{ connector }

// observeClaim reads the machine's claim from the cache. A missing claim is a
// fact, not an error.
func (p claimSteps) observeClaim(ctx context.Context, s *scope) progress.Outcome {
	claim, found, err := s.site.claims.ClaimOf(ctx, s.machine)
	if err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"The HostClaim of the machine cannot be read", err)
	}
	if found {
		s.claim = claim
		s.observed.Claim = claims.Read(claim)
	}
	return progress.Outcome{}
}

// pauseClaim keeps the hostclaim manager off the claim while the Cluster is
// paused, so that a move finds claim and host as they are. A claim in another
// cluster is not moved.
func (p claimSteps) pauseClaim(ctx context.Context, s *scope) progress.Outcome {
	if !s.clusterPaused() || s.site.elsewhere() {
		return progress.Outcome{}
	}
	if err := p.repause(ctx, s, true); err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.BareMetalHostPauseAnnotationSetFailedReason,
			"The HostClaim of the machine cannot be paused", err)
	}
	return progress.Outcome{}
}

// unpauseClaim takes back what pauseClaim did.
func (p claimSteps) unpauseClaim(ctx context.Context, s *scope) progress.Outcome {
	if s.site.elsewhere() {
		return progress.Outcome{}
	}
	if err := p.repause(ctx, s, false); err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.BareMetalHostPauseAnnotationRemoveFailedReason,
			"The HostClaim of the machine cannot be unpaused", err)
	}
	return progress.Outcome{}
}

// repause writes the annotation by a locked merge patch, not by apply: after a
// move it belongs to another field manager, and must still go.
func (p claimSteps) repause(ctx context.Context, s *scope, pause bool) error {
	if s.claim == nil {
		return nil
	}
	value, change := claims.Repause(s.claim, pause)
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
	err := p.client.Patch(ctx, s.claim, apply.Locked(before))
	if err != nil {
		return fmt.Errorf("patch the pause annotation of HostClaim %s: %w", s.claim.Name, err)
	}
	return nil
}

// confirmElsewhere looks past the cache for a claim in another cluster that the
// cache does not show. The machine and that cluster are seen through two caches:
// a claim may seem to be a rival's that was only just taken over, and one that has
// lost its label is in no cache.
func (p claimSteps) confirmElsewhere(ctx context.Context, s *scope) progress.Outcome {
	if s.claim != nil || !s.site.elsewhere() || !s.site.recorded {
		return progress.Outcome{}
	}
	claim, rival, err := s.site.findLive(ctx, s.machine)
	if err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"The HostClaim of the machine cannot be read", err)
	}
	s.observed.TakenOver = rival && claim == nil
	if claim != nil {
		s.claim = claim
		s.observed.Claim = claims.Read(claim)
	}
	return progress.Outcome{}
}

// observeHost reads what is published of the bound host, and whether a claim of
// the wanted name belongs to somebody else.
func (p claimSteps) observeHost(ctx context.Context, s *scope) progress.Outcome {
	const condition, reason = infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
	s.observed.Machine = s.facts()
	if s.claim == nil {
		taken, err := s.site.claims.NameTaken(ctx, s.machine)
		if err != nil {
			return s.failed(condition, reason, "The HostClaim of the machine cannot be read", err)
		}
		s.observed.NameTaken = taken
		return progress.Outcome{}
	}
	host, found, err := s.site.claims.HostOf(ctx, s.claim)
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
func (p claimSteps) applyClaim(ctx context.Context, s *scope) progress.Outcome {
	if s.plan.Claim == nil {
		return s.takenElsewhere()
	}
	if done, out := p.keepRecord(ctx, s); !done {
		return out
	}
	desired := claims.Desired(*s.plan.Claim)
	if s.claim != nil {
		claims.KeepChoice(desired, s.claim)
		if claims.UpToDate(s.claim, desired) {
			return progress.Outcome{}
		}
		// Never make a claim anew whose place in the machine's life was taken
		// from the old one, and never take back what the cache does not show yet:
		// image, secrets and power.
		desired.UID, desired.ResourceVersion = s.claim.UID, s.claim.ResourceVersion
	} else if claim, found, err := s.site.readLive(ctx, desired.Name); err != nil || found {
		// Somebody else's claim, or our own that the cache does not show yet and
		// on which nothing of this plan is based: its event wakes us.
		return s.inTheWay(claim, err)
	}
	ctrl.LoggerFrom(ctx).Info(claimStep(s.observed.Claim, s.plan.Claim), "HostClaim", klog.KObj(desired))
	if err := apply.Object(ctx, s.site.client, desired, infrav1.MachineFieldOwner); err != nil {
		return s.claimProblem(fmt.Errorf("apply HostClaim %s: %w", desired.Name, err))
	}
	return progress.Outcome{}
}

// claimStep names the step in the life of the machine that a write of its claim is.
func claimStep(current claims.State, wanted *claims.Wanted) string {
	switch {
	case current.Phase == claims.Absent:
		return "Creating HostClaim"
	case current.Deployment == nil && wanted.Deployment != nil:
		return "Asking for the image on HostClaim"
	default:
		return "Updating HostClaim"
	}
}

// inTheWay is what becomes of a claim whose name is taken although the cache does
// not show it. In another cluster only events of claims of our origin wake us: for
// any other we come back.
func (s *scope) inTheWay(claim *bmov1alpha1.HostClaim, err error) progress.Outcome {
	if err != nil || !s.site.elsewhere() || claim.Labels[infrav1.OriginKey] == s.site.claims.Record.Origin {
		return s.claimProblem(err)
	}
	return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimNameTakenReason, fmt.Sprintf(
		"HostClaim %q in namespace %q of the other cluster belongs to something else: delete it", s.plan.Claim.Name, s.site.claims.Namespace),
		errNameTaken)
}

// takenElsewhere is the same for a claim in another cluster that the cache shows. The
// plan has said so already.
func (s *scope) takenElsewhere() progress.Outcome {
	taken := func(w machines.Wait) bool { return w.Reason == infrav1.HostClaimNameTakenReason }
	if !s.site.elsewhere() || !slices.ContainsFunc(s.plan.Waits, taken) {
		return progress.Outcome{}
	}
	return progress.Failed(errNameTaken)
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
