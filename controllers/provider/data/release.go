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

package data

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// claimKind is the kind of the owner that the data is for.
const claimKind = "Metal3DataClaim"

// waitForClaim keeps everything while the claim exists: its machine holds it as
// long as the server may use the addresses. The claim is read live, since
// nothing that is given back can be taken back.
func (r *Reconciler) waitForClaim(ctx context.Context, s *scope) progress.Outcome {
	owner, found := s.owner(claimKind)
	if !found {
		return progress.Outcome{}
	}
	var claim infrav1.Metal3DataClaim
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: s.data.Namespace, Name: owner.Name}, &claim)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return progress.Failed(fmt.Errorf("read Metal3DataClaim %s: %w", owner.Name, err))
	case err == nil && claim.UID == owner.UID:
		return progress.Waiting(infrav1.DeletingReason, fmt.Sprintf(
			"Waiting for Metal3DataClaim %q to be deleted; it stays while its machine exists", owner.Name))
	}
	return progress.Outcome{}
}

// releaseStrays gives back what an earlier Metal3Data of the same name left.
func (r *Reconciler) releaseStrays(ctx context.Context, s *scope) progress.Outcome {
	return progress.Failed(r.releaseForeign(ctx, client.ObjectKeyFromObject(s.data), s.data.UID))
}

// releaseForeign gives back the claims that belong to a Metal3Data of that name,
// but not of that UID. Should the API server know a newer one than the cache,
// its claims are left alone.
func (r *Reconciler) releaseForeign(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	held, err := r.addresses.Held(ctx, key)
	if err != nil {
		return err
	}
	var failed error
	for _, claim := range held {
		if claim.Owner == uid {
			continue
		}
		var live infrav1.Metal3Data
		if err := r.Live.Get(ctx, key, &live); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Metal3Data %s: %w", key.Name, err)
		}
		if claim.Owner == live.UID {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Giving back an address that was left behind", "claim", klog.KObj(claim.Object))
		failed = errors.Join(failed, r.addresses.Release(ctx, claim))
	}
	return failed
}

// releaseAddresses gives back all addresses.
func (r *Reconciler) releaseAddresses(ctx context.Context, s *scope) progress.Outcome {
	held, err := r.addresses.Held(ctx, client.ObjectKeyFromObject(s.data))
	if err != nil {
		return progress.Failed(err)
	}
	var failed error
	for _, claim := range held {
		if claim.Owner == s.data.UID {
			failed = errors.Join(failed, r.addresses.Release(ctx, claim))
		}
	}
	if failed != nil {
		return progress.FailedBecause(infrav1.DeletionFailedReason, "The addresses cannot be given back", failed)
	}
	return progress.Outcome{}
}

// dropFinalizer lets the Metal3Data go. The controller of templates writes the
// same list: hence the lock.
func (r *Reconciler) dropFinalizer(ctx context.Context, s *scope) progress.Outcome {
	before := s.data.DeepCopy()
	if !controllerutil.RemoveFinalizer(s.data, infrav1.DataFinalizer) {
		s.gone = true
		return progress.Outcome{}
	}
	s.gone = true
	err := r.Client.Patch(ctx, s.data, apply.Locked(before))
	return progress.Failed(client.IgnoreNotFound(err))
}
