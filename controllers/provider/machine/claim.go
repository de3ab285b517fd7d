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
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
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
	claim, takenOver, err := c.find(ctx, s)
	if err != nil {
		condition, reason := infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
		if s.deleted() && !s.paused() {
			condition, reason = infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason
		}
		return failed(condition, reason, "The HostClaim of the machine cannot be read", err)
	}
	s.claim = claim
	s.observed.Claim, s.observed.TakenOver = claims.Read(claim), takenOver
	if c.remote() {
		s.observed.Remote = &claims.Remote{Namespace: c.site.Namespace, Origin: c.site.Record.Origin}
	}
	return progress.Outcome{}
}

// find reads the claim from the cache, and past it where the machine would be let go, or
// would seem to have lost its claim, on the strength of a cache that does not show it.
// The machine and another cluster are seen through two caches: a claim may seem to be a
// rival's that was only just taken over, and one that has lost its label is in no cache.
func (c *claimClient) find(ctx context.Context, s *scope) (claim *bmov1alpha1.HostClaim, takenOver bool, err error) {
	claim, found, err := c.site.ClaimOf(ctx, s.machine)
	confirm := s.deleted() || (c.remote() && c.recorded)
	if err != nil || found || s.paused() || !confirm {
		return claim, false, err
	}
	claim, rival, err := c.findLive(ctx, s.machine)
	return claim, rival && claim == nil, err
}

// findLive looks past the cache for the claim of the machine: by its name, and by the one
// that the status reports, which an adopted claim has. Rival says that a copy of the machine
// has taken it over.
func (c *claimClient) findLive(ctx context.Context, machine *infrav1.Metal3Machine) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	if !c.remote() {
		held, err = c.findLocal(ctx, machine)
		return held, false, err
	}
	var list bmov1alpha1.HostClaimList
	origin := c.site.Record.Origin
	err = c.reader.List(ctx, &list, client.InNamespace(c.site.Namespace), client.MatchingLabels{infrav1.OriginKey: origin})
	if err != nil {
		return nil, false, fmt.Errorf("list HostClaims of origin %s: %w", origin, err)
	}
	if held, rival = claimreader.Choose(list.Items, machine, *c.site.Record); held != nil || rival {
		return held, rival, nil
	}
	// One that has lost its label, or has not got it yet, still names the machine.
	name := cmp.Or(c.site.Record.Claim, claims.RemoteName(machine.Name, origin))
	claim, found, err := readLive(ctx, c.reader, c.site.Namespace, name)
	if err != nil || !found || claims.ConsumerUID(claim) != machine.UID {
		return nil, false, err
	}
	return claim, false, nil
}

// findLocal is findLive in the namespace of the machine.
func (c *claimClient) findLocal(ctx context.Context, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, error) {
	owner, names := claimreader.OwnerOf(machine), []string{claims.Name(machine.Name)}
	if ref := machine.Status.HostClaim; ref != nil && ref.Name != names[0] {
		names = append(names, ref.Name)
	}
	for _, name := range names {
		claim, found, err := readLive(ctx, c.reader, c.site.Namespace, name)
		if err != nil || (found && claims.BelongsTo(claim, owner)) {
			return claim, err
		}
	}
	if machine.Status.HostClaim != nil {
		return nil, nil //nolint:nilnil // there is none
	}
	// A move loses the status, which would name a claim that was adopted.
	return c.findOfCluster(ctx, owner, machine.Labels[clusterv1.ClusterNameLabel])
}

// findOfCluster looks past the cache through the claims of a Cluster.
func (c *claimClient) findOfCluster(ctx context.Context, owner claims.Owner, cluster string) (*bmov1alpha1.HostClaim, error) {
	var list bmov1alpha1.HostClaimList
	err := c.reader.List(ctx, &list, client.InNamespace(c.site.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	if err != nil {
		return nil, fmt.Errorf("list the HostClaims of Cluster %s: %w", cluster, err)
	}
	for i := range list.Items {
		if claims.BelongsTo(&list.Items[i], owner) {
			return &list.Items[i], nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// readLive reads a claim past the cache.
func readLive(ctx context.Context, reader client.Reader, namespace, name string) (*bmov1alpha1.HostClaim, bool, error) {
	claim := &bmov1alpha1.HostClaim{}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := reader.Get(ctx, key, claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	return claim, true, nil
}

// observeHost reads what is published of the bound host, and whether a claim of
// the wanted name belongs to something else.
func (c *claimClient) observeHost(ctx context.Context, s *scope) progress.Outcome {
	const condition, reason = infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason
	if s.claim == nil {
		taken, err := c.site.NameTaken(ctx, s.machine)
		if err != nil {
			return failed(condition, reason, "The HostClaim of the machine cannot be read", err)
		}
		s.observed.NameTaken = taken
		return progress.Outcome{}
	}
	host, found, err := c.site.HostOf(ctx, s.claim)
	if err != nil {
		return failed(condition, reason, "The hardware facts of the host cannot be read", err)
	}
	if found {
		s.host = host
		s.observed.Facts, s.observed.HostUID, s.observed.HostLabels = true, host.UID, host.Labels
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
	err := c.writer.Patch(ctx, s.claim, apply.Locked(before))
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
		wanted.Deployment = p.observed.Claim.Deployment
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
		// Never make a claim anew whose place in the machine's life was taken
		// from the old one, and never take back what the cache does not show yet:
		// image, secrets and power.
		desired.UID, desired.ResourceVersion = s.claim.UID, s.claim.ResourceVersion
	} else if err := c.confirmUnclaimed(ctx, s); err != nil {
		return claimFailed(err)
	} else if claim, found, err := readLive(ctx, c.reader, c.site.Namespace, desired.Name); err != nil || found {
		// A foreign claim, or our own that the cache does not show yet and on which
		// nothing of this plan is based: its event wakes us.
		return c.inTheWay(claim, err)
	}
	c.listen(s)
	ctrl.LoggerFrom(ctx).Info(claimStep(s.observed.Claim, wanted), "HostClaim", klog.KObj(desired))
	if err := apply.Object(ctx, c.writer, desired, infrav1.MachineFieldOwner); err != nil {
		return claimFailed(fmt.Errorf("apply HostClaim %s: %w", desired.Name, err))
	}
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

// inTheWay is the outcome for a claim that has the wanted name although the cache does
// not show it. In another cluster only events of claims of our origin wake us: for any
// other the pass fails, and is repeated with a growing delay.
func (c *claimClient) inTheWay(claim *bmov1alpha1.HostClaim, err error) progress.Outcome {
	if err != nil || !c.remote() || claim.Labels[infrav1.OriginKey] == c.site.Record.Origin {
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
	out := c.letAllGo(ctx, r.scope, r.plan.LetGo)
	switch {
	case out.Err() != nil:
		return out
	case r.plan.ReserveClaim:
		return c.reserve(ctx, r)
	case !r.plan.DeleteClaim:
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Deleting HostClaim", "HostClaim", klog.KObj(r.claim))
	// It may be another machine's by now, which has adopted it under the same UID.
	as := client.Preconditions{UID: &r.claim.UID, ResourceVersion: &r.claim.ResourceVersion}
	if err := client.IgnoreNotFound(c.writer.Delete(ctx, r.claim, as)); err != nil {
		return failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason, "The HostClaim of the machine cannot be deleted", err)
	}
	return progress.Outcome{}
}
