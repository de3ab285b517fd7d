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
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// releaseSteps let go what is deleted. What others hold is read live before.
type releaseSteps struct {
	client client.Client
	live   client.Reader
	// writtenClaims and writtenData are those that were deleted or let go a moment ago. A pass that still sees them
	// as they were would write to each of them again.
	writtenClaims, writtenData *retry.Written
	// now tells the time.
	now func() time.Time
}

// claims lets deleted claims and their data go. A claim that its machine
// still holds stays: the server still uses its addresses.
func (r releaseSteps) claims(ctx context.Context, s *scope) progress.Outcome {
	var failed error
	for i := range s.claims {
		claim := &s.claims[i]
		if claim.DeletionTimestamp.IsZero() || s.suspended(claim) || behind(r.writtenClaims, claim, r.now()) {
			continue
		}
		held, err := r.held(ctx, claim)
		if err == nil && !held {
			err = r.releaseClaim(ctx, s, claim)
		}
		failed = errors.Join(failed, err)
	}
	return progress.Failed(failed)
}

// held reports whether the machine of a claim, which has its name, holds it. A machine that
// vanished can take its finalizer off no more; only a live read tells that it has.
func (r releaseSteps) held(ctx context.Context, claim *infrav1.Metal3DataClaim) (bool, error) {
	if !slices.Contains(claim.Finalizers, infrav1.MachineFinalizer) {
		return false, nil
	}
	name, at := claim.Name, slices.IndexFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == machineKind })
	if at >= 0 {
		name = claim.OwnerReferences[at].Name
	}
	var machine infrav1.Metal3Machine
	err := r.live.Get(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: name}, &machine)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return true, fmt.Errorf("read Metal3Machine %s: %w", name, err)
	case err == nil && at < 0:
		return MadeBy(claim, &machine), nil
	default:
		return err == nil && machine.UID == claim.OwnerReferences[at].UID, nil
	}
}

// releaseClaim lets the data of a claim go, and then the claim:
//
//	data deleted ─▶ data not held any more ─▶ claim not held any more
//
// The deletion has its event, and what comes next is done in the pass after it.
func (r releaseSteps) releaseClaim(ctx context.Context, s *scope, claim *infrav1.Metal3DataClaim) error {
	for i := range s.data {
		if !MadeFor(&s.data[i], claim) {
			continue
		}
		if done, err := r.releaseData(ctx, &s.data[i]); err != nil || !done {
			return err
		}
	}
	err := r.removeFinalizers(ctx, claim.DeepCopy(), infrav1.DataClaimFinalizer, infrav1.MachineFinalizer)
	if err == nil {
		r.writtenClaims.Left(client.ObjectKeyFromObject(claim), claim.ResourceVersion, r.now())
	}
	return err
}

// releaseData deletes a Metal3Data, or stops holding one that is deleted; its own
// controller then gives its addresses back. It says whether nothing is left to be
// done about it.
func (r releaseSteps) releaseData(ctx context.Context, data *infrav1.Metal3Data) (bool, error) {
	switch known := behind(r.writtenData, data, r.now()); {
	case known:
		return !data.DeletionTimestamp.IsZero(), nil
	case !data.DeletionTimestamp.IsZero():
		err := r.removeFinalizers(ctx, data.DeepCopy(), infrav1.DataClaimFinalizer)
		if err == nil {
			r.writtenData.Left(client.ObjectKeyFromObject(data), data.ResourceVersion, r.now())
		}
		return err == nil, err
	}
	ctrl.LoggerFrom(ctx).Info("Deleting Metal3Data", "Metal3Data", klog.KObj(data))
	err := r.client.Delete(ctx, data.DeepCopy(), client.Preconditions{UID: &data.UID})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("delete Metal3Data %s: %w", data.Name, err)
	}
	r.writtenData.Left(client.ObjectKeyFromObject(data), data.ResourceVersion, r.now())
	return false, nil
}

// behind says that the cache shows an object as it was before it was written. Its event comes.
func behind(written *retry.Written, object client.Object, now time.Time) bool {
	_, behind := written.Behind(client.ObjectKeyFromObject(object), object.GetResourceVersion(), now)
	return behind
}

// orphans lets data go whose claim vanished without being released, for
// example because its finalizers were removed by hand. Data that has lost its controller may have
// been restored before its claim is: it is not deleted here.
func (r releaseSteps) orphans(ctx context.Context, s *scope) progress.Outcome {
	claims := map[types.UID]bool{}
	for i := range s.claims {
		claims[s.claims[i].UID] = true
	}
	var failed error
	for i := range s.data {
		data := &s.data[i]
		lost := controllingClaim(data) == nil
		if claims[s.claimOf[data.UID]] || s.suspended(data) || lost && data.DeletionTimestamp.IsZero() ||
			!slices.Contains(data.Finalizers, infrav1.DataClaimFinalizer) {
			continue
		}
		gone, err := ClaimGone(ctx, r.live, data)
		if err == nil && gone {
			_, err = r.releaseData(ctx, data)
		}
		failed = errors.Join(failed, err)
	}
	return progress.Failed(failed)
}

// ClaimGone reports whether the claim which a Metal3Data was made for does not exist any more. The
// reader should be the API server: a cache cannot tell a claim that is gone from one that it has
// not seen yet.
func ClaimGone(ctx context.Context, reader client.Reader, data *infrav1.Metal3Data) (bool, error) {
	name := ClaimName(data)
	if name == "" {
		return true, nil
	}
	var claim infrav1.Metal3DataClaim
	if err := client.IgnoreNotFound(reader.Get(ctx, types.NamespacedName{Namespace: data.Namespace, Name: name}, &claim)); err != nil {
		return false, fmt.Errorf("read Metal3DataClaim %s: %w", name, err)
	}
	return claim.UID == "" || !MadeFor(data, &claim), nil
}

// template lets a deleted template go once no claim or data uses it any more.
func (r releaseSteps) template(ctx context.Context, s *scope) progress.Outcome {
	if s.template.DeletionTimestamp.IsZero() {
		return progress.Outcome{}
	}
	if len(s.claims) > 0 || len(s.data) > 0 {
		return progress.Waiting(infrav1.DeletingReason, "claims or data of the template are left")
	}
	return progress.Failed(r.removeFinalizers(ctx, s.template.DeepCopy(), infrav1.DataTemplateFinalizer))
}

// removeFinalizers takes finalizers off an object. Others write the same list:
// hence the lock. What they held must not go before they are off, so a conflict
// is an error.
func (r releaseSteps) removeFinalizers(ctx context.Context, object client.Object, finalizers ...string) error {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	removed := false
	for _, finalizer := range finalizers {
		removed = controllerutil.RemoveFinalizer(object, finalizer) || removed
	}
	if !removed {
		return nil
	}
	err := r.client.Patch(ctx, object, apply.Locked(before))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove finalizers of %s: %w", object.GetName(), err)
	}
	return nil
}
