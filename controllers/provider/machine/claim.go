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
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// errNameTaken is the error of a pass that found a foreign claim in its way.
var errNameTaken = errors.New("the name of the HostClaim is taken")

// claimClient reads and writes the claim of one machine, in the machine's own namespace
// or in another cluster, with what belongs to it: the record on the machine, and the
// secrets that are copied next to it. What the claim should be is in the plan.
type claimClient struct {
	connector

	// site finds the claim; its Record is nil in the machine's own namespace.
	site claimreader.Site
	// writer reads from the cache of the claim's cluster, and writes to it.
	writer client.Client
	// reader reads past that cache.
	reader client.Reader
	// recorded says that the record stands on the machine. One that does not is
	// what will be written before the first write to the other cluster.
	recorded bool
}

// remote says that the claim is in another cluster.
func (c *claimClient) remote() bool {
	return c.site.Record != nil
}

// observe finds the claim. A missing claim is a fact, not an error.
func (c *claimClient) observe(ctx context.Context, s *scope) progress.Outcome {
	claim, takenOver, err := finder{c}.find(ctx, s)
	if err != nil {
		condition, reason := infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
		if s.deleted() && !s.paused() {
			condition, reason = infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason
		}
		return failed(condition, reason, "The HostClaim of the machine cannot be read", err)
	}
	if until, behind := c.behind(s, claim); behind {
		return progress.Behind(until, "HostClaim")
	}
	s.claim = claim
	s.observed.Claim, s.observed.TakenOver = claims.Read(claim), takenOver
	if c.remote() {
		s.observed.Remote = &claims.Remote{Namespace: c.site.Namespace, Origin: c.site.Record.Origin}
	}
	return progress.Outcome{}
}

// behind says that a claim is not what this controller has made of it a moment ago: the cache
// is late, and what is concluded from it would cost requests for nothing. That the claim of a
// machine which goes is gone was not read from the cache.
func (c *claimClient) behind(s *scope, claim *bmov1alpha1.HostClaim) (until time.Time, behind bool) {
	version := patch.OnlyNew // is older than any claim
	switch {
	case s.paused(), s.deleted() && claim == nil:
		return time.Time{}, false
	case claim != nil:
		version = claim.ResourceVersion
	}
	return c.written.Behind(client.ObjectKeyFromObject(s.machine), version, c.now())
}

// observeHost reads what is published of the bound host, and whether a claim of
// the wanted name belongs to something else.
func (c *claimClient) observeHost(ctx context.Context, s *scope) progress.Outcome {
	const condition, reason = infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
	if s.claim == nil {
		claim, taken, err := c.site.InTheWay(ctx, s.machine)
		if err != nil {
			return failed(condition, reason, "The HostClaim of the machine cannot be read", err)
		}
		if s.observed.NameTaken = taken; taken {
			s.observed.Former = claims.ReadFormer(claim, claimreader.OwnerOf(s.machine))
		}
		return progress.Outcome{}
	}
	host, found, err := c.site.HostOf(ctx, s.claim)
	if err != nil {
		return failed(condition, reason, "The hardware facts of the host cannot be read", err)
	}
	if found {
		s.host = host
		s.observed.Facts, s.observed.HostUID, s.observed.HostLabels = true, host.UID, host.Labels
		s.observed.HostDomain = host.FailureDomain
	}
	return progress.Outcome{}
}

// pause keeps the hostclaim manager off the claim while the Cluster is paused, so that a
// move finds claim and host as they are, and lets it go on afterwards. A claim in another
// cluster is not moved. The annotation is written by a locked merge patch, not by apply:
// after a move it belongs to another field manager, and must still go.
func (c *claimClient) pause(ctx context.Context, s *scope) progress.Outcome {
	if s.claim == nil || c.remote() || (s.paused() && !s.clusterPaused()) {
		return progress.Outcome{}
	}
	value, change := claims.Repause(s.claim, s.paused())
	if !change {
		return progress.Outcome{}
	}
	before := s.claim.DeepCopy()
	delete(s.claim.Annotations, clusterv1.PausedAnnotation)
	if value != nil {
		metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, clusterv1.PausedAnnotation, *value)
	}
	ctrl.LoggerFrom(ctx).Info("Changing the pause annotation of the HostClaim", "HostClaim", klog.KObj(s.claim), "paused", s.paused())
	err := c.writer.Patch(ctx, s.claim, patch.Locked(before))
	if err == nil {
		return progress.Outcome{}
	}
	reason, message := infrav1.BareMetalHostPauseAnnotationRemoveFailedReason, "The HostClaim of the machine cannot be unpaused"
	if s.paused() {
		reason, message = infrav1.BareMetalHostPauseAnnotationSetFailedReason, "The HostClaim of the machine cannot be paused"
	}
	return failed(infrav1.AssociateBareMetalHostCondition, reason, message,
		fmt.Errorf("patch the pause annotation of HostClaim %s: %w", s.claim.Name, err))
}

// write brings the claim, and the copies of secrets next to it, in line with the plan.
// The claim does not name the copies before all of them are made.
func (c *claimClient) write(ctx context.Context, p *planned) progress.Outcome {
	if p.plan.Claim == nil {
		return c.nameTaken(p)
	}
	copied := c.copySecrets(ctx, p)
	if copied.Err() != nil {
		return copied
	}
	wanted := *p.plan.Claim
	switch {
	case copied.Done():
	case p.observed.Claim.Deployment == nil:
		wanted.Deployment, wanted.PoweredOn = nil, false
	default:
		wanted.Deployment, wanted.PoweredOn = p.observed.Claim.Deployment, p.observed.Claim.PoweredOn
		wanted.Rebuild = p.observed.Claim.Rebuild
	}
	return copied.And(c.apply(ctx, p.scope, wanted))
}

// apply writes the claim, unless it is like that already.
func (c *claimClient) apply(ctx context.Context, s *scope, wanted claims.Wanted) progress.Outcome {
	if written, err := c.record(ctx, s); written || err != nil {
		return claimFailed(err) // the machine's own event begins the next pass
	}
	desired := claims.Desired(wanted)
	if s.claim != nil {
		claims.KeepChoice(desired, s.claim)
		if claims.UpToDate(s.claim, desired) {
			return progress.Outcome{}
		}
		if err := c.confirmRebuild(ctx, s, wanted); err != nil {
			return claimFailed(err)
		}
		// Never make a claim anew whose place in the machine's life was taken
		// from the old one, and never take back what the cache does not show yet:
		// image, secrets and power.
		desired.UID, desired.ResourceVersion = s.claim.UID, s.claim.ResourceVersion
	} else if err := (reservations{c}).confirmUnclaimed(ctx, s); err != nil {
		return claimFailed(err)
	} else {
		desired.ResourceVersion = patch.OnlyNew
	}
	c.listen(s)
	ctrl.LoggerFrom(ctx).Info(claimStep(s.observed.Claim, wanted), "HostClaim", klog.KObj(desired))
	version, err := patch.ApplyVersioned(ctx, c.writer, desired, infrav1.MachineFieldOwner)
	switch {
	case s.claim == nil && apierrors.IsConflict(err):
		return c.inTheWay(ctx, desired.Name)
	case err != nil:
		return claimFailed(fmt.Errorf("apply HostClaim %s: %w", desired.Name, err))
	}
	if s.claim == nil {
		s.made = &infrav1.Metal3ObjectRef{Namespace: desired.Namespace, Name: desired.Name}
	}
	c.written.Wrote(client.ObjectKeyFromObject(s.machine), version, c.now())
	return progress.Outcome{}
}

// listen has the machine woken by its own claim again, not by those that are reserved.
func (c *claimClient) listen(s *scope) {
	if c.remote() && s.claim == nil && s.observed.Group.Asked {
		c.connector.remote.Bind(claimreader.UserOf(s.machine), c.site.Record.Origin)
	}
}

// claimStep names the step in the life of the machine that a write of its claim is.
func claimStep(current claims.State, wanted claims.Wanted) string {
	switch {
	case current.Phase == claims.Absent:
		return "Creating HostClaim"
	case current.Deployment == nil && wanted.Deployment != nil:
		return "Asking for the image on HostClaim"
	default:
		return "Updating HostClaim"
	}
}

// inTheWay ends the pass when a claim has the wanted name that the cache does not show yet: what
// follows would act without a claim. Its event, or the delay of a stale pass, begins the next
// one. The cache of another cluster never shows a claim of another origin: for that the pass
// fails, and is repeated with a growing delay.
func (c *claimClient) inTheWay(ctx context.Context, name string) progress.Outcome {
	if !c.remote() {
		return progress.Failed(fmt.Errorf("HostClaim %s exists by now: %w", name, progress.ErrStale))
	}
	claim, found, err := readLive(ctx, c.reader, c.site.Namespace, name)
	switch {
	case err == nil && !found:
		return progress.Failed(progress.ErrStale) // gone again, unseen
	case err != nil || claim.Labels[infrav1.OriginKey] == c.site.Record.Origin:
		return claimFailed(err)
	}
	return failed(infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimNameTakenReason, fmt.Sprintf(
		"HostClaim %q in namespace %q of the other cluster belongs to something else: delete it", claim.Name, claim.Namespace),
		errNameTaken)
}

// nameTaken is the same for a claim in another cluster that the cache shows. The
// plan has said so already.
func (c *claimClient) nameTaken(p *planned) progress.Outcome {
	taken := func(w machines.Wait) bool { return w.Reason == infrav1.HostClaimNameTakenReason }
	if !c.remote() || !slices.ContainsFunc(p.plan.Waits, taken) {
		return progress.Outcome{}
	}
	return progress.Failed(errNameTaken)
}

// claimFailed is the outcome for a claim that could not be written; a nil error means
// that there is one already, which the cache will show in a moment.
func claimFailed(err error) progress.Outcome {
	switch {
	case err == nil:
		return progress.Outcome{}
	case errors.Is(err, progress.ErrStale):
		return progress.Failed(err)
	}
	return failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
		"The HostClaim of the machine cannot be written", err)
}

// release deletes the claim, or reserves it; the hostclaim manager takes it from there.
func (c *claimClient) release(ctx context.Context, r *releasing) progress.Outcome {
	out := reservations{c}.letAllGo(ctx, r.scope, r.plan.LetGo)
	switch {
	case out.Err() != nil:
		return out
	case r.plan.ReserveClaim:
		return reservations{c}.reserve(ctx, r)
	case !r.plan.DeleteClaim:
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Deleting HostClaim", "HostClaim", klog.KObj(r.claim))
	// It may be another machine's by now, which has adopted it under the same UID.
	as := client.Preconditions{UID: &r.claim.UID, ResourceVersion: &r.claim.ResourceVersion}
	if err := client.IgnoreNotFound(c.writer.Delete(ctx, r.claim, as)); err != nil {
		return failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason, "The HostClaim of the machine cannot be deleted", err)
	}
	c.written.Left(client.ObjectKeyFromObject(r.machine), *as.ResourceVersion, c.now())
	return progress.Outcome{}
}
