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

package datatemplate

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/indexes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// maxCollisions is how many indexes that are in use after all one pass runs into for
// each claim. More than a few mean that the cache is behind: the next pass knows them.
const maxCollisions = 5

// allocateSteps give claims their index and their Metal3Data.
type allocateSteps struct {
	client client.Client
	live   client.Reader
	// spec is that of the template.
	spec infrav1.Metal3DataTemplateSpec
	// atOnce is how many claims are served at a time; 0 means one.
	atOnce int
	made   *made
	clock  clock.PassiveClock
}

// allocate gives every claim its index and its Metal3Data. An index that turns
// out to be in use is recorded, and the claims without one are served again. Claims that
// have changed since they were read are left to the next pass.
func (a allocateSteps) allocate(ctx context.Context, s *scope) progress.Outcome {
	known := s.known()
	unseen, until := a.made.unseen(s.key, known, a.clock.Now())
	out := a.allocateAll(ctx, s, append(known, unseen...))
	if len(unseen) > 0 {
		out = out.And(progress.Until(until, "", ""))
	}
	return out
}

func (a allocateSteps) allocateAll(ctx context.Context, s *scope, known []indexes.Data) progress.Outcome {
	claims := s.answerable()
	var stale error
	for collisions := 1; ; collisions++ {
		before := len(known)
		var failed error
		for _, done := range a.serveAll(ctx, s.key, claims, indexes.Allocate(s.key.Name, known, candidates(claims))) {
			known = append(known, done.used...)
			if errors.Is(done.err, progress.ErrStale) {
				delete(claims, done.claim.UID)
				stale = progress.ErrStale
				continue
			}
			claims[done.claim.UID] = done.claim
			if done.err != nil {
				failed = errors.Join(failed, fmt.Errorf("claim %s: %w", done.claim.Name, done.err))
			}
		}
		// A collision added an index that is not the claim's: once more without it.
		switch {
		case len(known) == before, failed != nil, !anyOpen(claims, known):
			return progress.Failed(errors.Join(failed, stale))
		case collisions == maxCollisions:
			return progress.Failed(progress.ErrStale)
		}
	}
}

// restore puts back what the Metal3Datas of living claims have lost of their owners, and the finalizer
// that holds them.
func (a allocateSteps) restore(ctx context.Context, s *scope) progress.Outcome {
	claims := s.answerable()
	var failed error
	for i := range s.data {
		if claim, found := claims[s.claimOf[s.data[i].UID]]; found {
			err := apply.Restore(ctx, a.client, &s.data[i], restored(claim), infrav1.DataClaimFinalizer)
			failed = errors.Join(failed, staleOr(err))
		}
	}
	return progress.Failed(failed)
}

// answerable returns the claims that may get an index now, by UID.
func (s *scope) answerable() map[types.UID]*infrav1.Metal3DataClaim {
	claims := map[types.UID]*infrav1.Metal3DataClaim{}
	for i := range s.claims {
		claim := &s.claims[i]
		if claim.DeletionTimestamp.IsZero() && !s.suspended(claim) && !forbidden(claim) {
			claims[claim.UID] = claim
		}
	}
	return claims
}

// anyOpen says whether a claim is still without Metal3Data.
func anyOpen(claims map[types.UID]*infrav1.Metal3DataClaim, known []indexes.Data) bool {
	open := len(claims)
	counted := map[types.UID]bool{}
	for _, data := range known {
		if _, ours := claims[data.Claim]; ours && !counted[data.Claim] {
			counted[data.Claim] = true
			open--
		}
	}
	return open > 0
}

// candidates are the claims as the allocation sees them.
func candidates(claims map[types.UID]*infrav1.Metal3DataClaim) []indexes.Claim {
	all := make([]indexes.Claim, 0, len(claims))
	for uid, claim := range claims {
		c := indexes.Claim{UID: uid, Name: claim.Name, Created: claim.CreationTimestamp.Time}
		if ref := claim.Status.RenderedData; ref != nil {
			c.Rendered = ref.Name
		}
		all = append(all, c)
	}
	return all
}

// served is what became of one assignment.
type served struct {
	// claim is as it is afterwards.
	claim *infrav1.Metal3DataClaim
	// used are indexes that turned out to be in use, by the claim itself or by
	// another one.
	used []indexes.Data
	err  error
}

// serveAll carries out assignments, some at a time: no two of them concern the same
// claim or the same index.
func (a allocateSteps) serveAll(
	ctx context.Context, template types.NamespacedName, claims map[types.UID]*infrav1.Metal3DataClaim, assignments []indexes.Assignment,
) []served {
	all := make([]served, len(assignments))
	var group errgroup.Group
	group.SetLimit(max(a.atOnce, 1))
	for i, assignment := range assignments {
		claim := claims[assignment.Claim]
		if stands(template, claim, assignment) {
			all[i] = served{claim: claim}
			continue
		}
		group.Go(func() error {
			all[i] = a.serve(withClaim(ctx, claim), template, claim, assignment)
			return nil // one that fails does not stop the others
		})
	}
	_ = group.Wait()
	return all
}

// stands says that nothing is left to do for a claim, as for most of them in most passes.
func stands(template types.NamespacedName, claim *infrav1.Metal3DataClaim, to indexes.Assignment) bool {
	return to.Exists && controllerutil.ContainsFinalizer(claim, infrav1.DataClaimFinalizer) && !changes(claim, reserved(template, to))
}

// serve writes the index into the claim and makes the Metal3Data. The claim is
// written first and with its resourceVersion, even if that changes nothing: a
// controller with an old copy of it fails at that write, before a second Metal3Data
// is made.
func (a allocateSteps) serve(
	ctx context.Context, template types.NamespacedName, claim *infrav1.Metal3DataClaim, to indexes.Assignment,
) served {
	if err := a.confirm(ctx, template, claim, to); err != nil {
		return served{claim: claim, err: err}
	}
	current, err := a.ensureFinalizer(ctx, claim)
	switch {
	case err != nil:
		return served{claim: current, err: err}
	case to.Exists:
		current, err = writeClaim(ctx, a.client, current, reserved(template, to))
		return served{claim: current, err: err}
	}
	before := current.DeepCopy()
	reserved(template, to)(current)
	if err := patchClaim(ctx, a.client, before, current); err != nil {
		return served{claim: current, err: err}
	}
	used, err := a.makeData(ctx, template, current, to.Index)
	return served{claim: current, used: used, err: err}
}

// makeData makes the Metal3Data of a claim, and returns which claim has its index then.
func (a allocateSteps) makeData(
	ctx context.Context, template types.NamespacedName, claim *infrav1.Metal3DataClaim, index int32,
) ([]indexes.Data, error) {
	desired := desiredData(template, a.spec, claim, index)
	ctrl.LoggerFrom(ctx).Info("Creating Metal3Data", "Metal3Data", klog.KObj(desired), "index", index)
	err := a.client.Create(ctx, desired, client.FieldOwner(infrav1.DataTemplateFieldOwner))
	switch {
	case apierrors.IsAlreadyExists(err):
		return a.usedBy(ctx, template, index, claim)
	case err != nil:
		_, complaint := writeClaim(ctx, a.client, claim, failed(fmt.Sprintf("Metal3Data %q cannot be created", desired.Name)))
		return nil, errors.Join(fmt.Errorf("create Metal3Data %s: %w", desired.Name, err), complaint)
	}
	held := indexes.Data{Index: index, Claim: claim.UID}
	a.made.note(template, held, a.clock.Now())
	return []indexes.Data{held}, nil
}

// confirm looks live at the index that a claim has reserved, before the claim gets
// another one. The cache of Metal3Data may be older than that of claims: it may
// still show a former holder, or not yet that the claim itself has the index.
func (a allocateSteps) confirm(
	ctx context.Context, template types.NamespacedName, claim *infrav1.Metal3DataClaim, to indexes.Assignment,
) error {
	ref := claim.Status.RenderedData
	if to.Exists || ref == nil {
		return nil
	}
	reserved, parsed := indexes.Parse(template.Name, ref.Name)
	if !parsed || reserved == to.Index {
		return nil
	}
	holder, found, err := a.holder(ctx, template, reserved, claim)
	if err == nil && (!found || holder.Claim == claim.UID) {
		err = progress.ErrStale
	}
	return err
}

// usedBy reads live whether the claim itself holds an index that is not free after all, as when the
// cache is behind, or another one.
func (a allocateSteps) usedBy(
	ctx context.Context, template types.NamespacedName, index int32, claim *infrav1.Metal3DataClaim,
) ([]indexes.Data, error) {
	holder, found, err := a.holder(ctx, template, index, claim)
	if !found {
		holder = indexes.Data{Index: index} // gone again; in this pass the index counts as used
	}
	return []indexes.Data{holder}, err
}

// holder reads live whether an index is held, and if so whether by the claim.
func (a allocateSteps) holder(
	ctx context.Context, template types.NamespacedName, index int32, claim *infrav1.Metal3DataClaim,
) (holder indexes.Data, found bool, err error) {
	name := indexes.Name(template.Name, index)
	var data infrav1.Metal3Data
	err = a.live.Get(ctx, types.NamespacedName{Namespace: template.Namespace, Name: name}, &data)
	if client.IgnoreNotFound(err) != nil {
		return indexes.Data{}, false, fmt.Errorf("read Metal3Data %s: %w", name, err)
	}
	holder.Index = index
	if err == nil && MadeFor(&data, claim) {
		holder.Claim = claim.UID
	}
	return holder, err == nil, nil
}

// ensureFinalizer makes sure that the claim does not go before its data does.
// It returns a copy of the claim as it is afterwards, and leaves the cached one alone.
func (a allocateSteps) ensureFinalizer(ctx context.Context, claim *infrav1.Metal3DataClaim) (*infrav1.Metal3DataClaim, error) {
	current := claim.DeepCopy()
	if !controllerutil.AddFinalizer(current, infrav1.DataClaimFinalizer) {
		return current, nil
	}
	err := a.client.Patch(ctx, current, apply.Locked(claim))
	return current, staleOr(err)
}

// staleOr turns the errors of a write that was based on an old copy into
// progress.ErrStale: the newer one, or its deletion, is on its way to the cache.
func staleOr(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return progress.ErrStale
	}
	return err
}
