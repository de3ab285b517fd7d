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
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// reservations are the claims that go over from one machine to the next of its group.
type reservations struct{ *claimClient }

// observeGroup finds what is reserved for a machine that has no claim.
func (c reservations) observeGroup(ctx context.Context, s *scope) progress.Outcome {
	if s.claim != nil || s.machine.Spec.ProviderID != "" || provisioned(s.machine) {
		return progress.Outcome{}
	}
	if err := c.readGroup(ctx, s); err != nil {
		return failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"The HostClaims that are reserved for the machine cannot be read", err)
	}
	return progress.Outcome{}
}

// observeLeaving finds out whether the next machine needs the claim of one that is being
// deleted, and what became of a claim that was reserved. A claim that was handed over to
// the credentials of its machine is not reserved.
func (c reservations) observeLeaving(ctx context.Context, s *scope) progress.Outcome {
	if s.paused() || (c.remote() && c.site.Record.Claim != "") {
		return progress.Outcome{}
	}
	err := c.readGroup(ctx, s)
	if err == nil && s.claim == nil {
		err = c.readLeft(ctx, s)
	}
	if err != nil {
		return failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason, "The HostClaim of the machine cannot be read", err)
	}
	s.observed.Unhealthy = (s.owner != nil && unhealthy(s.owner)) ||
		(s.claim != nil && s.claim.Annotations[infrav1.UnhealthyClaimAnnotation] == "true")
	return progress.Outcome{}
}

// readGroup reads the group and what is reserved for it. In another cluster the UID of the
// keeper is the origin of reserved claims: the machine is woken by them.
func (c reservations) readGroup(ctx context.Context, s *scope) error {
	group, err := c.groups.of(ctx, s)
	if err != nil || !group.Asked {
		return err
	}
	keeper := group.Keeper.Reference.UID
	if c.remote() && s.claim == nil {
		c.connector.remote.Bind(claimreader.UserOf(s.machine), string(keeper))
	}
	s.reserved, err = c.site.ReservedFor(ctx, keeper)
	for i := range s.reserved {
		group.Reserved = append(group.Reserved, claims.ReadReservation(&s.reserved[i]))
	}
	s.observed.Group = group
	return err
}

// readLeft reads the claim that the machine has reserved, until its host is at rest.
func (c reservations) readLeft(ctx context.Context, s *scope) error {
	claim, found, err := c.site.LeftBy(ctx, s.machine)
	if err == nil && found && c.remote() {
		// Also where the template does not ask for reuse any more. What came before is read.
		c.connector.remote.Bind(claimreader.UserOf(s.machine), claim.Labels[infrav1.OriginKey])
		claim, found, err = c.site.LeftBy(ctx, s.machine)
	}
	if err != nil || !found {
		return err
	}
	left := claims.ReadReservation(claim)
	s.observed.Left = &left
	return nil
}

// reuse carries out what was decided about reserved claims. Only one of two machines that
// adopt the same claim succeeds, since the write is locked; the other one decides anew.
func (c reservations) reuse(ctx context.Context, p *planned) progress.Outcome {
	out := c.letAllGo(ctx, p.scope, p.plan.Reuse.LetGo)
	for i := range p.reserved {
		if claim := &p.reserved[i]; claim.Name == p.plan.Reuse.Adopt {
			out = out.And(c.adopt(ctx, p.scope, claim))
		}
	}
	return out
}

// letAllGo deletes the reserved claims of these names.
func (c reservations) letAllGo(ctx context.Context, s *scope, names []string) progress.Outcome {
	var out progress.Outcome
	for i := range s.reserved {
		if claim := &s.reserved[i]; slices.Contains(names, claim.Name) {
			out = out.And(c.letGo(ctx, claim))
		}
	}
	return out
}

// adopt makes a reserved claim that of the machine. As before any first write, a machine
// with an identityRef names the cluster of its claim first.
func (c reservations) adopt(ctx context.Context, s *scope, claim *bmov1alpha1.HostClaim) progress.Outcome {
	if written, err := c.record(ctx, s); written || err != nil {
		return claimFailed(err)
	}
	if err := c.confirmUnclaimed(ctx, s); err != nil {
		return claimFailed(err)
	}
	var remote *claims.Remote
	if c.remote() {
		remote = s.observed.Remote
	}
	ctrl.LoggerFrom(ctx).Info("Adopting a reserved HostClaim", "HostClaim", klog.KObj(claim))
	adopted := claims.WithCleaning(claims.Adopt(claim, s.identified(), s.observed.Group.Keeper, remote), s.machine.Spec.AutomatedCleaningMode)
	err := c.writer.Patch(ctx, adopted, patch.Locked(claim))
	if apierrors.IsNotFound(err) {
		return progress.Failed(progress.ErrStale)
	}
	if err != nil {
		return claimFailed(fmt.Errorf("adopt HostClaim %s: %w", claim.Name, err))
	}
	return progress.Outcome{} // its event begins the next pass
}

// confirmUnclaimed makes sure that the machine has not adopted a claim that the cache does not
// show as its own yet: it would take a second one. In another cluster find has looked.
func (c reservations) confirmUnclaimed(ctx context.Context, s *scope) error {
	if c.remote() || !s.observed.Group.Asked {
		return nil
	}
	held, err := finder(c).findOfCluster(ctx, s.identified(), s.cluster.Name)
	if err == nil && held != nil {
		err = progress.ErrStale
	}
	return err
}

// letGo deletes a reserved claim as it is known, so that one that was adopted meanwhile
// stays. The hostclaim manager takes it from there.
func (c reservations) letGo(ctx context.Context, claim *bmov1alpha1.HostClaim) progress.Outcome {
	ctrl.LoggerFrom(ctx).Info("Deleting a reserved HostClaim that no machine of its group can use", "HostClaim", klog.KObj(claim))
	uid, version := claim.UID, claim.ResourceVersion
	err := c.writer.Delete(ctx, claim, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return claimFailed(fmt.Errorf("let HostClaim %s go: %w", claim.Name, err))
	}
	return progress.Outcome{}
}

// reserve leaves the claim to the next machine, in one locked write. The status names the
// claim before, since the machine finds it by that afterwards.
func (c reservations) reserve(ctx context.Context, r *releasing) progress.Outcome {
	named := r.before.Status.HostClaim
	if named == nil || named.Name != r.claim.Name || named.Namespace != r.claim.Namespace {
		r.machine.Status.HostClaim = &infrav1.Metal3ObjectRef{Namespace: r.claim.Namespace, Name: r.claim.Name}
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Reserving HostClaim for the next machine", "HostClaim", klog.KObj(r.claim),
		r.observed.Group.Keeper.Reference.Kind, klog.KRef(r.machine.Namespace, r.observed.Group.Keeper.Reference.Name))
	copies := claims.CopiesOf(r.claim)
	reserved := claims.Reserve(r.claim, r.identified(), r.observed.Group.Keeper, c.now().Add(c.keepFor), c.remote())
	reserved = claims.WithCleaning(reserved, r.machine.Spec.AutomatedCleaningMode)
	if err := c.writer.Patch(ctx, reserved, patch.Locked(r.claim)); err != nil {
		return failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason, "The HostClaim of the machine cannot be reserved",
			fmt.Errorf("reserve HostClaim %s: %w", r.claim.Name, err))
	}
	if !c.remote() {
		return progress.Outcome{}
	}
	return secretCopies(c).drop(ctx, r.claim, copies)
}

// claimToMachines maps a claim to its consumer, and to the machine that waits for its name
// to become free. A reserved claim concerns the machine that left it, and those of its
// Cluster that have none.
func (m mapper) claimToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	claim, ok := o.(*bmov1alpha1.HostClaim)
	if !ok {
		return nil
	}
	names := []string{claim.Name}
	if ref := claim.Spec.ConsumerRef; ref != nil && ref.Kind == claims.MachineKind {
		names = append(names, ref.Name)
	}
	former, _ := claims.ReservedBy(claim)
	names = append(names, former)
	slices.Sort(names)
	var woken []ctrl.Request
	for _, name := range slices.Compact(names) {
		if name != "" {
			woken = append(woken, request(claim.Namespace, name))
		}
	}
	if reservation.Holds(claim) {
		woken = append(woken, m.unclaimed(ctx, claim.Namespace, claim.Labels)...)
	}
	return woken
}

// memberToMachines maps what is part of a control plane or MachineDeployment, or is one, to
// the machines of its Cluster that have no claim: they may wait for a reserved one.
func (m mapper) memberToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	return m.unclaimed(ctx, o.GetNamespace(), o.GetLabels())
}

// templateToMachines maps a template to the machines made from it that have no claim, or that cannot
// ask for data by what the template says.
func (m mapper) templateToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	return m.machinesWhere(ctx, func(machine *infrav1.Metal3Machine) bool {
		name, found := claims.TemplateOf(machine.Annotations)
		return found && name == o.GetName() && (machine.Status.HostClaim == nil ||
			conditions.GetReason(machine, infrav1.AssociateMetal3MachineMetaDataCondition) == infrav1.InvalidConfigurationReason)
	}, client.InNamespace(o.GetNamespace()))
}

// unclaimed are the machines of a Cluster, named by a label, that have no claim.
func (m mapper) unclaimed(ctx context.Context, namespace string, labels map[string]string) []ctrl.Request {
	cluster := labels[clusterv1.ClusterNameLabel]
	if cluster == "" {
		return nil
	}
	return m.machinesWhere(ctx, func(machine *infrav1.Metal3Machine) bool {
		return machine.Status.HostClaim == nil && machine.DeletionTimestamp.IsZero()
	}, client.InNamespace(namespace), client.MatchingFields{watch.ByCluster: cluster})
}

// whenLeaving passes on that a machine does not count any more for those that wait for a claim of
// their group, which is once for each that leaves. A claim that is reserved wakes them itself.
func whenLeaving() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, _ := e.ObjectOld.(*infrav1.Metal3Machine)
			after, ok := e.ObjectNew.(*infrav1.Metal3Machine)
			return ok && counts(before) && !counts(after)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			machine, ok := e.Object.(*infrav1.Metal3Machine)
			return ok && mayReserve(machine) // without our finalizer, which says no more then
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
