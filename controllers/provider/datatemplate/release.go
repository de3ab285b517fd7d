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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// releaseClaims lets deleted claims and their data go. A claim that its machine
// still holds stays: the server still uses its addresses.
func (r *Reconciler) releaseClaims(ctx context.Context, s *scope) error {
	var failed error
	for i := range s.claims {
		claim := &s.claims[i]
		if claim.DeletionTimestamp.IsZero() || s.suspended(claim) {
			continue
		}
		held, err := r.held(ctx, claim)
		if err == nil && !held {
			err = r.releaseClaim(ctx, s, claim)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// held reports whether the machine of a claim, which has its name, holds it. A machine that is
// gone cannot take its finalizer off any more; only a live read shows that it is gone.
func (r *Reconciler) held(ctx context.Context, claim *infrav1.Metal3DataClaim) (bool, error) {
	if !slices.Contains(claim.Finalizers, infrav1.MachineFinalizer) {
		return false, nil
	}
	name, at := claim.Name, slices.IndexFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == machineKind })
	if at >= 0 {
		name = claim.OwnerReferences[at].Name
	}
	var machine infrav1.Metal3Machine
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: name}, &machine)
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
func (r *Reconciler) releaseClaim(ctx context.Context, s *scope, claim *infrav1.Metal3DataClaim) error {
	made := slices.DeleteFunc(slices.Clone(s.data), func(data infrav1.Metal3Data) bool { return !MadeFor(&data, claim) })
	if len(made) == 0 {
		late, err := r.renderedFor(ctx, claim)
		if err != nil {
			return err
		}
		made = late
	}
	for i := range made {
		if err := r.releaseData(ctx, &made[i]); err != nil || made[i].DeletionTimestamp.IsZero() {
			return err
		}
	}
	return r.removeFinalizers(ctx, claim, claim.DeepCopy(), infrav1.DataClaimFinalizer, infrav1.MachineFinalizer)
}

// renderedFor reads the data that a claim names, for a claim whose data no cache shows: it would stay for ever
// after the claim.
func (r *Reconciler) renderedFor(ctx context.Context, claim *infrav1.Metal3DataClaim) ([]infrav1.Metal3Data, error) {
	rendered := claim.Status.RenderedData
	if rendered == nil {
		return nil, nil
	}
	data := make([]infrav1.Metal3Data, 1)
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: rendered.Name}, &data[0])
	if err != nil || !MadeFor(&data[0], claim) {
		return nil, client.IgnoreNotFound(err)
	}
	return data, nil
}

// releaseData deletes a Metal3Data, or stops holding one that is deleted; its own
// controller then gives its addresses back.
func (r *Reconciler) releaseData(ctx context.Context, data *infrav1.Metal3Data) error {
	if !data.DeletionTimestamp.IsZero() {
		return r.removeFinalizers(ctx, data, data.DeepCopy(), infrav1.DataClaimFinalizer)
	}
	ctrl.LoggerFrom(ctx).Info("Deleting Metal3Data", "Metal3Data", klog.KObj(data))
	err := r.Client.Delete(ctx, data.DeepCopy(), client.Preconditions{UID: &data.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Metal3Data %s: %w", data.Name, err)
	}
	return nil
}

// removeFinalizers takes finalizers off a copy of an object. Others write the same list:
// hence the lock. What they held must not go before they are off, so a conflict
// is an error.
func (r *Reconciler) removeFinalizers(ctx context.Context, before, object client.Object, finalizers ...string) error {
	removed := false
	for _, finalizer := range finalizers {
		removed = controllerutil.RemoveFinalizer(object, finalizer) || removed
	}
	if !removed {
		return nil
	}
	if err := r.Client.Patch(ctx, object, patch.Locked(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove finalizers of %s: %w", object.GetName(), err)
	}
	return nil
}

// releaseOrphans lets data go whose claim vanished without being released, for
// example because its finalizers were removed by hand. Data that has lost its controller may have
// been restored before its claim is: it is not deleted here.
func (r *Reconciler) releaseOrphans(ctx context.Context, s *scope) error {
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
		_, exists, err := ClaimOf(ctx, r.Live, data)
		if err == nil && !exists {
			err = r.releaseData(ctx, data)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
