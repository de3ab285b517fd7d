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

package claim

import (
	"context"
	"fmt"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/index"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// release brings the host of a claim that goes back to the pool:
//
//	clear (one patch) ─▶ wait for the host ─▶ delete copies, facts ─▶ remove consumerRef
//
// The last write carries the version of the live read that showed the host at
// rest, so nothing can have happened to the host since.
func (r *releaser) release(ctx context.Context, s *scope, at standing) (standing, progress.Outcome) {
	if at.step != binding.Release {
		return at, progress.Outcome{}
	}
	clearing := binding.Cleared
	if binding.SaysUnhealthy(s.claim) && s.decision.Grants[at.host.Namespace].PermitsUnhealthyMark() {
		clearing = binding.ClearedUnhealthy
	}
	if cleared := clearing(at.host); !equality.Semantic.DeepEqual(cleared, at.host) {
		if err := r.client.Patch(ctx, cleared, apply.Locked(at.host)); err != nil {
			return at, progress.Failed(fmt.Errorf("clear the host: %w", err))
		}
		ctrl.LoggerFrom(ctx).Info("Took back what the host was given, waiting for it to be wiped", "BareMetalHost", klog.KObj(cleared))
		at.host = cleared
	}
	if wait, ok := binding.Releasable(at.host); !ok {
		return at, progress.Waiting(wait.Reason, wait.Message)
	}
	if until, held := r.switchedOff(s.claim, at.host); held {
		return at, progress.Until(until, binding.HostPoweringOffReason, "Waiting for the host to be switched off")
	}
	if out := r.free(ctx, s, at.host); !out.Done() {
		return at, out
	}
	recorded := binding.Unread
	if binding.StatusNames(s.claim, client.ObjectKeyFromObject(at.host)) {
		recorded = binding.Fenced // by the write that has freed it
	}
	at.host = nil
	freed := *s
	freed.host = nil
	after, err := r.binder.settle(ctx, &freed, recorded)
	after.swept = s.host.Namespace
	if err != nil {
		return at, progress.Failed(err)
	}
	return after, progress.Outcome{}
}

// switchedOff says until when a host that is still being switched off is not freed. As a rule
// baremetal-operator does that at once, and the write that frees the host would conflict with
// what it reports; nothing depends on it.
func (r *releaser) switchedOff(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) (until time.Time, held bool) {
	if !binding.SwitchingOff(host) {
		return time.Time{}, false
	}
	return r.settling.Of(keyOf(claim), r.clock.Now(), r.holdFor)
}

// free lets go of a host that seems to be at rest.
func (r *releaser) free(ctx context.Context, s *scope, known *bmov1alpha1.BareMetalHost) progress.Outcome {
	claim, host := s.claim, &bmov1alpha1.BareMetalHost{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(known), host); err != nil {
		return progress.Failed(fmt.Errorf("read the host before it is freed: %w", err))
	}
	wait, releasable := binding.Releasable(host)
	switch {
	case !binding.Owned(host, claim), !equality.Semantic.DeepEqual(binding.Cleared(host), host),
		host.ResourceVersion != known.ResourceVersion: // it is being written, and its event is on the way
		return progress.Failed(fmt.Errorf("free the host: %w", progress.ErrStale))
	case !releasable:
		return progress.Waiting(wait.Reason, wait.Message)
	}
	if out := r.deleteCopies(ctx, claim, host.Namespace, host); !out.Done() {
		return out
	}
	// A claim whose finalizer was stripped may be gone as soon as its host is free.
	if err := r.publisher.withdraw(ctx, claim); err != nil {
		return progress.Failed(fmt.Errorf("withdraw HardwareData: %w", err))
	}
	freed := binding.Freed(host)
	if err := r.client.Patch(ctx, freed, apply.Locked(host)); err != nil {
		return progress.Failed(fmt.Errorf("free the host: %w", err))
	}
	ctrl.LoggerFrom(ctx).Info("Released the host", "BareMetalHost", klog.KObj(freed))
	r.announcer.eventReleased(claim, freed)
	r.metrics.released(r.clock.Since(claim.DeletionTimestamp.Time))
	return progress.Outcome{}
}

// heldByOthers says that a claim that goes is held by the finalizer of another controller
// only, and that we have nothing to do with it. Where the status shows our hand,
// or our facts are there, the claim is reconciled like any other, so that a
// tenant that stripped our finalizer, or a manager that died between freeing the
// host and tidying up, leaves nothing behind.
func (r *releaser) heldByOthers(ctx context.Context, s *scope) (bool, error) {
	switch {
	case s.host != nil, !deleting(s.claim), controllerutil.ContainsFinalizer(s.claim, infrav1.HostClaimFinalizer):
		return false, nil
	case r.letGo.has(s.claim):
		return true, nil
	case marked(s.claim):
		return false, nil
	}
	_, published, err := r.publisher.published(ctx, s.claim)
	return !published, err
}

// finish lets the claim go once no host names it, and says that it did. Copies of
// its secrets and its HardwareData go first; swept is the namespace of hosts where this pass has
// deleted the copies already.
func (r *releaser) finish(ctx context.Context, claim *bmov1alpha1.HostClaim, swept string) (gone bool, out progress.Outcome) {
	if ref := claim.Status.BareMetalHost; ref != nil && ref.Namespace != swept {
		if out := r.deleteCopies(ctx, claim, ref.Namespace, nil); !out.Done() {
			return false, out
		}
	}
	if err := r.publisher.withdraw(ctx, claim); err != nil {
		return false, progress.Failed(fmt.Errorf("withdraw HardwareData: %w", err))
	}
	gone, err := r.dropFinalizer(ctx, claim)
	if gone {
		r.letGo.add(claim)
	}
	return gone, progress.Failed(err)
}

// letGo remembers the claims that this manager has let go of. If the finalizer of
// another client holds one, nothing is left to do about it, whatever its tenant writes
// into it. A manager that restarts makes sure of that once.
type letGo struct {
	mu   sync.Mutex
	uids map[types.NamespacedName]types.UID
}

func (l *letGo) has(claim *bmov1alpha1.HostClaim) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return claim.UID != "" && l.uids[keyOf(claim)] == claim.UID
}

func (l *letGo) add(claim *bmov1alpha1.HostClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uids == nil {
		l.uids = map[types.NamespacedName]types.UID{}
	}
	l.uids[keyOf(claim)] = claim.UID
}

// forget drops a claim that is gone.
func (l *letGo) forget(claim types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.uids, claim)
}

// dropFinalizer removes our finalizer from the claim as it was judged: an intent that was
// written meanwhile would be lost with it, and fails the locked write.
func (r *releaser) dropFinalizer(ctx context.Context, claim *bmov1alpha1.HostClaim) (gone bool, err error) {
	before := claim.DeepCopy()
	if !controllerutil.RemoveFinalizer(claim, infrav1.HostClaimFinalizer) {
		return true, nil
	}
	err = client.IgnoreNotFound(r.client.Patch(ctx, claim, apply.Locked(before)))
	return err == nil, err
}

// releaseWatches stops watching the Secrets of a namespace without claims, hosts
// of claims, and policies that let claims have hosts there.
func (r *Reconciler) releaseWatches(ctx context.Context, namespace string) error {
	return r.Secrets.Release(namespace, func() (bool, error) {
		for _, users := range []struct {
			list  client.ObjectList
			which client.ListOption
		}{
			{&bmov1alpha1.HostClaimList{}, client.InNamespace(namespace)},
			{&bmov1alpha1.HostClaimList{}, client.MatchingFields{index.ClaimsByHostNamespace: namespace}},
			{&bmov1alpha1.HostDeployPolicyList{}, client.InNamespace(namespace)},
		} {
			if err := r.Client.List(ctx, users.list, users.which, client.Limit(1)); err != nil {
				return false, fmt.Errorf("list who needs Secrets of namespace %s: %w", namespace, err)
			}
			if meta.LenList(users.list) > 0 {
				return true, nil
			}
		}
		return false, nil
	})
}
