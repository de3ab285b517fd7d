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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// releaseClaims lets deleted claims and their data go. A claim that its machine
// still holds stays: the server still uses its addresses.
func (r *Reconciler) releaseClaims(ctx context.Context, s *scope) progress.Outcome {
	var failed error
	for i := range s.claims {
		claim := &s.claims[i]
		held := slices.Contains(claim.Finalizers, infrav1.MachineFinalizer)
		if claim.DeletionTimestamp.IsZero() || held || s.suspended(claim) {
			continue
		}
		failed = errors.Join(failed, r.releaseClaim(ctx, s, claim))
	}
	return progress.Failed(failed)
}

func (r *Reconciler) releaseClaim(ctx context.Context, s *scope, claim *infrav1.Metal3DataClaim) error {
	for _, data := range s.owned(claim) {
		if err := r.releaseData(ctx, data); err != nil {
			return err
		}
	}
	return r.removeFinalizer(ctx, claim.DeepCopy(), infrav1.DataClaimFinalizer)
}

// releaseData deletes a Metal3Data and stops holding it; its own controller
// then gives its addresses back.
func (r *Reconciler) releaseData(ctx context.Context, data *infrav1.Metal3Data) error {
	if data.DeletionTimestamp.IsZero() {
		ctrl.LoggerFrom(ctx).Info("Deleting Metal3Data", "Metal3Data", data.Name)
		err := r.Client.Delete(ctx, data.DeepCopy(), client.Preconditions{UID: &data.UID})
		if ignoreStale(err) != nil {
			return fmt.Errorf("delete Metal3Data %s: %w", data.Name, err)
		}
	}
	return r.removeFinalizer(ctx, data.DeepCopy(), infrav1.DataClaimFinalizer)
}

// releaseOrphans lets data go whose claim vanished without being released, for
// example because its finalizers were removed by hand.
func (r *Reconciler) releaseOrphans(ctx context.Context, s *scope) progress.Outcome {
	claims := map[types.UID]bool{}
	for i := range s.claims {
		claims[s.claims[i].UID] = true
	}
	var failed error
	for i := range s.data {
		data := &s.data[i]
		owner := metav1.GetControllerOfNoCopy(data)
		if owner == nil || owner.Kind != claimKind || claims[owner.UID] || s.suspended(data) ||
			!slices.Contains(data.Finalizers, infrav1.DataClaimFinalizer) {
			continue
		}
		gone, err := r.claimGone(ctx, types.NamespacedName{Namespace: data.Namespace, Name: owner.Name}, owner.UID)
		if err == nil && gone {
			err = r.releaseData(ctx, data)
		}
		failed = errors.Join(failed, err)
	}
	return progress.Failed(failed)
}

// claimGone asks the API server itself: a cache cannot tell a claim that is
// gone from one that it has not seen yet.
func (r *Reconciler) claimGone(ctx context.Context, key types.NamespacedName, uid types.UID) (bool, error) {
	var claim infrav1.Metal3DataClaim
	if err := client.IgnoreNotFound(r.Live.Get(ctx, key, &claim)); err != nil {
		return false, fmt.Errorf("read Metal3DataClaim %s: %w", key.Name, err)
	}
	return claim.UID != uid, nil // the UID is empty when there is none
}
