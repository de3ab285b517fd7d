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
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// answerClaims gives each claim its index and its Metal3Data, and writes into its status what the Metal3Data
// reports, or why there is none. It works on some claims at a time, since no two of them share an index.
func (r *Reconciler) answerClaims(ctx context.Context, s *scope) error {
	var served []*infrav1.Metal3DataClaim
	for i := range s.claims {
		if s.serves(&s.claims[i]) {
			served = append(served, &s.claims[i])
		}
	}
	dataOf, assigned := map[types.UID]*infrav1.Metal3Data{}, assignIndexes(s.key.Name, s.used, served)
	for i := range s.data {
		dataOf[s.claimOf[s.data[i].UID]] = &s.data[i]
	}
	errs := make([]error, len(s.claims))
	workqueue.ParallelizeUntil(ctx, max(r.AtOnce, 1), len(s.claims), func(i int) {
		claim := &s.claims[i]
		ctx := ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Metal3DataClaim", klog.KObj(claim)))
		err := r.answer(ctx, s, claim, assigned[claim.UID], dataOf[claim.UID])
		if client.IgnoreNotFound(err) != nil { // a claim that is gone needs no answer
			errs[i] = fmt.Errorf("claim %s: %w", claim.Name, err)
		}
	})
	return errors.Join(errs...)
}

// serves reports whether a claim has an index, or may get one now.
func (s *scope) serves(claim *infrav1.Metal3DataClaim) bool {
	return s.template != nil && !s.paused() && claim.DeletionTimestamp.IsZero() && !s.suspended(claim) && !forbidden(claim)
}

// answer writes into the status of a claim what its Metal3Data reports, or why it gets none; a claim
// that is to get its Metal3Data is served. Nothing is written for most claims in most passes.
func (r *Reconciler) answer(ctx context.Context, s *scope, claim *infrav1.Metal3DataClaim, to assignment, data *infrav1.Metal3Data) error {
	status := s.describeClaim(claim, to, data)
	if s.serves(claim) && !to.Exists {
		return r.serve(ctx, s, claim, to.Index, status)
	}
	current := claim
	if s.serves(claim) && !controllerutil.ContainsFinalizer(claim, infrav1.DataClaimFinalizer) {
		var err error
		if current, err = r.hold(ctx, claim); err != nil {
			return err
		}
	}
	if reflect.DeepEqual(claim.Status, status) {
		return nil
	}
	_, err := r.patchStatus(ctx, current, status)
	return err
}

// serve writes the index into a claim and makes the Metal3Data:
//
//	finalizer  ->  status: index  ->  Metal3Data
//
// The status is written with the resourceVersion of the claim, even if that changes nothing: a controller with an
// old copy of it fails at that write, before a second Metal3Data is made.
func (r *Reconciler) serve(
	ctx context.Context, s *scope, claim *infrav1.Metal3DataClaim, index int32, status infrav1.Metal3DataClaimStatus,
) error {
	if err := r.confirm(ctx, s.key, claim, index); err != nil {
		return err
	}
	current, err := r.hold(ctx, claim)
	if err != nil {
		return err
	}
	if current, err = r.patchStatus(ctx, current, status); err != nil {
		return err
	}
	return r.makeData(ctx, s, current, index)
}

// hold makes sure that the claim does not go before its data does. It returns a copy of the claim, and
// leaves the cached one alone.
func (r *Reconciler) hold(ctx context.Context, claim *infrav1.Metal3DataClaim) (*infrav1.Metal3DataClaim, error) {
	current := claim.DeepCopy()
	if !controllerutil.AddFinalizer(current, infrav1.DataClaimFinalizer) {
		return current, nil
	}
	if err := r.Client.Patch(ctx, current, patch.Locked(claim)); err != nil {
		return nil, fmt.Errorf("add finalizer: %w", err)
	}
	return current, nil
}

// patchStatus writes the status of a claim, and returns the claim as it is then. The resourceVersion makes a
// writer with an old copy fail.
func (r *Reconciler) patchStatus(
	ctx context.Context, claim *infrav1.Metal3DataClaim, status infrav1.Metal3DataClaimStatus,
) (*infrav1.Metal3DataClaim, error) {
	current := claim.DeepCopy()
	current.Status = status
	if err := r.Client.Status().Patch(ctx, current, patch.Locked(claim)); err != nil {
		return nil, fmt.Errorf("write status: %w", err)
	}
	return current, nil
}

// confirm looks live at the index that a claim has reserved, before the claim gets
// another one. The cache of Metal3Data may be older than that of claims: it may
// still show a former holder, or not yet that the claim itself has the index.
func (r *Reconciler) confirm(ctx context.Context, template types.NamespacedName, claim *infrav1.Metal3DataClaim, index int32) error {
	reserved, parsed := reservedIndex(template.Name, claim)
	if !parsed || reserved == index {
		return nil
	}
	name := dataName(template.Name, reserved)
	var data infrav1.Metal3Data
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: template.Namespace, Name: name}, &data)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read Metal3Data %s: %w", name, err)
	case err != nil || MadeFor(&data, claim):
		return patch.Conflict("Metal3Data %s is not what the cache shows", name)
	}
	return nil
}

// makeData makes the Metal3Data of a claim. One that exists already is that of the claim, or has its index: the
// next pass finds it in the cache.
func (r *Reconciler) makeData(ctx context.Context, s *scope, claim *infrav1.Metal3DataClaim, index int32) error {
	desired := desiredData(s.key, s.template.Spec, claim, index)
	ctrl.LoggerFrom(ctx).Info("Creating Metal3Data", "Metal3Data", klog.KObj(desired), "index", index)
	err := r.Client.Create(ctx, desired, client.FieldOwner(infrav1.DataTemplateFieldOwner))
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return patch.Conflict("Metal3Data %s exists already", desired.Name)
	}
	complaint := claim.DeepCopy()
	setReady(complaint, metav1.ConditionFalse, infrav1.NotReadyReason, fmt.Sprintf("Metal3Data %q cannot be created", desired.Name))
	err = fmt.Errorf("create Metal3Data %s: %w", desired.Name, err)
	if reflect.DeepEqual(complaint.Status, claim.Status) {
		return err
	}
	_, failed := r.patchStatus(ctx, claim, complaint.Status)
	return errors.Join(err, failed)
}

// restore puts back what the Metal3Datas of living claims have lost of their owners, and the finalizer
// that holds them.
func (r *Reconciler) restore(ctx context.Context, s *scope) error {
	claims := map[types.UID]*infrav1.Metal3DataClaim{}
	for i := range s.claims {
		claims[s.claims[i].UID] = &s.claims[i]
	}
	var failed error
	for i := range s.data {
		if claim, found := claims[s.claimOf[s.data[i].UID]]; found && s.serves(claim) {
			failed = errors.Join(failed, patch.Restore(ctx, r.Client, &s.data[i], restored(claim), infrav1.DataClaimFinalizer))
		}
	}
	return failed
}
