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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// keepsClaim says whether the owner of the machine wants its claim to stay where it is when
// the machine is moved, and whether that is known: a Metal3Cluster that the cache does not
// show says nothing.
func (s *scope) keepsClaim() (requested, known bool) {
	if value, found := s.machine.Annotations[infrav1.KeepClaimsHereAnnotation]; found {
		return value == "true", true
	}
	return s.infra != nil && s.infra.Annotations[infrav1.KeepClaimsHereAnnotation] == "true", s.infra != nil
}

// keepHere makes a machine reach the claim in its own namespace by its credentials, as soon as
// these lead to that very claim. The record is written first, and the claim is handed over
// after that. Until then, and if it cannot be, the machine goes on as before.
func (c connector) keepHere(ctx context.Context, s *scope, ref identity.Ref) (connection, progress.Outcome) {
	own, out := c.own(ctx, s)
	if own.claim == nil || out.Err() != nil {
		return own, out
	}
	claim, found, err := own.claim.site.ClaimOf(ctx, s.machine)
	if err != nil || !found {
		return own, claimFailed(err)
	}
	site, err := c.remote.Site(ctx, claimreader.UserOf(s.machine), ref)
	var problem *identity.Problem
	switch {
	case errors.As(err, &problem):
	case err != nil:
		return connection{}, unusable(ref, err)
	default:
		local := identity.Local{Claim: claim, Target: site.Target}
		seen, found, err := readLive(ctx, sanitizingReader{site.Live}, site.Target.Namespace, claim.Name)
		if err != nil {
			return connection{}, unusable(ref, err)
		}
		if found {
			local.Seen = seen.UID
		}
		problem = local.Keepable(ref)
	}
	if problem != nil {
		own.identity = &metav1.Condition{Status: metav1.ConditionFalse, Reason: problem.Reason, Message: problem.Message}
		return own, progress.Outcome{}
	}
	record := identity.NewRecord(s.identified(), ref, site.Target, string(uuid.NewUUID()))
	record.Claim = claim.Name
	if err := own.claim.writeRecord(ctx, s, record); err != nil {
		return connection{}, failed(infrav1.IdentityReadyCondition, infrav1.IdentityConnectingReason, "The machine cannot be written", err)
	}
	return c.connectRemote(ctx, s, &record, ref)
}

// keep hands a claim of the machine's own namespace over to the machine's credentials, or
// takes it back. It is for machines with the record of such a claim.
func (c *claimClient) keep(ctx context.Context, s *scope) progress.Outcome {
	if c.site.Record == nil || c.site.Record.Claim == "" || s.claim == nil {
		return progress.Outcome{}
	}
	here, err := c.here(ctx, s)
	if err != nil {
		return claimFailed(err)
	}
	requested, known := s.keepsClaim()
	owner := s.identified()
	switch identity.NextKeep(identity.Keeping{Requested: requested, Known: known, Here: here, Owned: claims.OwnedBy(s.claim, owner)}) {
	case identity.HandOver:
		ctrl.LoggerFrom(ctx).Info("Handing the HostClaim over to the credentials of the machine", "HostClaim", klog.KObj(s.claim))
		return c.rewrite(ctx, s, claims.HandedOver(s.claim, owner, c.site.Record.Origin))
	case identity.TakeBack:
		ctrl.LoggerFrom(ctx).Info("Taking the HostClaim back into the cluster of the machine", "HostClaim", klog.KObj(s.claim))
		return c.rewrite(ctx, s, claims.TakenBack(s.claim, owner)).And(progress.Failed(progress.ErrStale))
	case identity.Forget:
		return c.forget(ctx, s)
	case identity.KeepNothing:
	}
	return progress.Outcome{}
}

// here says that the claim is in the namespace and the cluster of the machine.
func (c *claimClient) here(ctx context.Context, s *scope) (bool, error) {
	if !c.local.Started() || s.claim.Namespace != s.machine.Namespace {
		return false, nil
	}
	claim := &bmov1alpha1.HostClaim{}
	err := c.client.Get(ctx, client.ObjectKeyFromObject(s.claim), claim)
	return err == nil && claim.UID == s.claim.UID, client.IgnoreNotFound(err)
}

// rewrite changes what ties the claim to its machine, in one locked write.
func (c *claimClient) rewrite(ctx context.Context, s *scope, desired *bmov1alpha1.HostClaim) progress.Outcome {
	if err := c.writer.Patch(ctx, desired, patch.Locked(s.claim)); err != nil {
		return claimFailed(fmt.Errorf("patch HostClaim %s: %w", desired.Name, err))
	}
	s.claim = desired
	return progress.Outcome{}
}

// forget takes the record off a machine whose claim was taken back. The next pass finds the
// claim in the machine's own namespace.
func (c *claimClient) forget(ctx context.Context, s *scope) progress.Outcome {
	ctrl.LoggerFrom(ctx).Info("Forgetting the credentials of the machine, whose HostClaim is its own again")
	err := c.annotate(ctx, s, func(annotations map[string]string) {
		delete(annotations, infrav1.EffectiveIdentityAnnotation)
		delete(annotations, infrav1.OriginKey)
	})
	if err != nil {
		return claimFailed(err)
	}
	return progress.Failed(progress.ErrStale)
}
