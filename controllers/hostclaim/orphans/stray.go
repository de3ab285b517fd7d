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

package orphans

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/copies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/index"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// stray tidies a host that names no claim and still carries traces of a bind. A claim
// whose status names the host may still be on its way there, or will notice the
// loss; then the host is left to it. So is a fence, until its claim intends the host no
// more: within one pass it is put on and taken off while the intent is there.
func (r *Reconciler) stray(ctx context.Context, host *bmov1alpha1.BareMetalHost) progress.Outcome {
	if fencer := orphan.Fencer(host); fencer != "" {
		if _, named, err := r.named(ctx, host, fencer, intends); err != nil || named {
			return progress.Failed(err)
		}
		return r.write(ctx, "Removed the fence of a bind that was given up", host, binding.Unfenced(host))
	}
	uid := orphan.StrayClaim(host)
	exists, left, err := r.named(ctx, host, uid, names)
	if err != nil || left {
		return progress.Failed(err)
	}
	if uid != "" && !exists {
		sweeper := copies.Sweeper{Live: r.Live, Writer: r.Client}
		if err := sweeper.OfClaim(ctx, uid, host.Namespace); err != nil && !apierrors.IsForbidden(err) {
			return progress.Failed(err)
		}
	}
	tidied := orphan.Tidied(host)
	if equality.Semantic.DeepEqual(tidied, host) {
		return progress.Outcome{}
	}
	return r.write(ctx, "Removed the traces of a bind from a host that names no HostClaim", host, tidied)
}

// named says whether a claim with a UID exists, and whether it names a
// host. The cache is enough to see that it does, since a status that ceases to
// wakes the host. A claim that the cache does not show yet loses nothing: a pass that is about to
// bind the host loses to the write, and tries again.
func (r *Reconciler) named(ctx context.Context, host *bmov1alpha1.BareMetalHost, uid types.UID, by naming) (exists, named bool, err error) {
	known, found, err := r.claimByUID(ctx, uid)
	if err != nil || !found {
		return false, false, err
	}
	if by(known, host) {
		return true, true, nil
	}
	claim := &bmov1alpha1.HostClaim{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(known), claim); err != nil {
		return false, false, client.IgnoreNotFound(err)
	}
	exists = claim.UID == uid
	return exists, exists && by(claim, host), nil
}

// naming is a way in which a claim can name a host.
type naming func(*bmov1alpha1.HostClaim, *bmov1alpha1.BareMetalHost) bool

// intends says that a claim names a host by its status, or by its intent annotation.
func intends(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	last, _ := binding.LastIntent(claim)
	return names(claim, host) || last.IsFor(host)
}

// names says that the status of a claim names a host.
func names(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return binding.StatusNames(claim, client.ObjectKeyFromObject(host))
}

// claimByUID reads a claim from the cache.
func (r *Reconciler) claimByUID(ctx context.Context, uid types.UID) (claim *bmov1alpha1.HostClaim, found bool, err error) {
	known := &bmov1alpha1.HostClaimList{}
	err = r.Client.List(ctx, known, client.MatchingFields{index.ClaimsByUID: string(uid)}, client.UnsafeDisableDeepCopy)
	if err != nil || len(known.Items) == 0 {
		return nil, false, err
	}
	return &known.Items[0], true, nil
}
