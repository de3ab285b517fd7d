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

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
)

// reconcileDelete runs the life of the machine backwards: server, data, finalizer.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) error {
	if err := r.connect(ctx, s); err != nil {
		return err
	}
	if s.claims == nil && s.identity.Reason != "" {
		if held := s.holdsForClaim(); held {
			return nil
		}
		s.abandon(ctx)
	}
	if err := r.observeDeletion(ctx, s); err != nil {
		return err
	}
	plan := Release(s.Observed)
	s.release = &plan
	if err := r.releaseClaim(ctx, s); err != nil {
		return err
	}
	if plan.ReleaseData {
		if err := r.releaseDataClaim(ctx, s); err != nil {
			return err
		}
	}
	if plan.Done {
		controllerutil.RemoveFinalizer(s.Machine, infrav1.MachineFinalizer) // finish writes it
	}
	return nil
}

// holdsForClaim reports whether the machine stays because its claim in another cluster cannot be released
// now. It adds a wait with what its owner can do about that.
func (s *scope) holdsForClaim() bool {
	switch {
	case s.identity.Reason == infrav1.IdentityConnectingReason: // IdentityReady reports it
		return true
	case s.Machine.Annotations[infrav1.AbandonClaimAnnotation] == "true":
		return false
	}
	s.wait(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason,
		"The HostClaim in another cluster cannot be released: "+s.identity.Message+
			". To let the machine go without it, and leave claim and server behind, set annotation "+
			infrav1.AbandonClaimAnnotation+" to \"true\"")
	return true
}

// abandon lets the machine go without its claim in another cluster, as its owner wants it.
func (s *scope) abandon(ctx context.Context) {
	record, _, _ := identity.Read(claims.OwnerOf(s.Machine), s.Machine.Annotations)
	ctrl.LoggerFrom(ctx).Info("Abandoning the HostClaim", "server", record.Server, "namespace", record.Namespace,
		"HostClaim", claims.RemoteName(s.Machine.Name, record.Origin))
	s.abandoned = &record
}

// observeDeletion reads claim and data. What no cache shows is looked for live before the machine is let go: a
// Metal3DataClaim would keep our finalizer for ever, and a HostClaim its server.
func (r *Reconciler) observeDeletion(ctx context.Context, s *scope) error {
	if s.claims != nil {
		if err := r.observeClaim(ctx, s); err != nil {
			return err
		}
		if err := r.observeLeaving(ctx, s); err != nil {
			return s.failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason, "The HostClaim of the machine cannot be read", err)
		}
	}
	if err := r.observeData(ctx, s); err != nil || s.hostClaim != nil || s.dataClaim != nil {
		return err
	}
	claim, err := readDataClaim(ctx, r.Live, s.Machine)
	if claim != nil && datatemplate.MadeBy(claim, s.Machine) {
		s.dataClaim, s.Data = claim, dataFacts(claim, infrav1.Metal3Data{})
	}
	return s.failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.DisassociateM3MetaDataFailedReason,
		"The Metal3DataClaim of the machine cannot be read", err)
}

// releaseClaim deletes the claim, or reserves it; the hostclaim manager takes it from there.
func (r *Reconciler) releaseClaim(ctx context.Context, s *scope) error {
	const condition, reason = infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason
	if err := r.letGo(ctx, s, s.release.LetGo); err != nil {
		return err
	}
	switch {
	case s.release.ReserveClaim && !s.namesClaim():
		// The status names the claim before it is reserved, since the machine finds it by that afterwards.
		s.Machine.Status.HostClaim = &infrav1.Metal3ObjectRef{Namespace: s.hostClaim.Namespace, Name: s.hostClaim.Name}
		return nil
	case s.release.ReserveClaim:
		return s.failed(condition, reason, "The HostClaim of the machine cannot be reserved",
			s.claims.Reserve(ctx, s.hostClaim, s.Group.Keeper, r.Clock.Now().Add(r.KeepFor)))
	case s.release.DeleteClaim:
		return s.failed(condition, reason, "The HostClaim of the machine cannot be deleted", s.claims.Delete(ctx, s.hostClaim))
	default:
		return nil
	}
}

// namesClaim reports whether the status that was read names the claim.
func (s *scope) namesClaim() bool {
	named := s.before.Status.HostClaim
	return named != nil && named.Name == s.hostClaim.Name && named.Namespace == s.hostClaim.Namespace
}

// releaseDataClaim takes our finalizer off the Metal3DataClaim and deletes it. The finalizer goes first, since
// deleting would make the copy at hand an old one; those of others are in the same list: hence the lock.
func (r *Reconciler) releaseDataClaim(ctx context.Context, s *scope) error {
	ctrl.LoggerFrom(ctx).Info("Releasing Metal3DataClaim", "Metal3DataClaim", klog.KObj(s.dataClaim))
	var err error
	before := s.dataClaim.DeepCopy()
	if controllerutil.RemoveFinalizer(s.dataClaim, infrav1.MachineFinalizer) {
		err = r.Client.Patch(ctx, s.dataClaim, patch.Locked(before))
	}
	if err == nil && s.dataClaim.DeletionTimestamp.IsZero() {
		err = r.Client.Delete(ctx, s.dataClaim, client.Preconditions{UID: &s.dataClaim.UID})
	}
	return s.failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.DisassociateM3MetaDataFailedReason,
		"The Metal3DataClaim of the machine cannot be released", client.IgnoreNotFound(err))
}
