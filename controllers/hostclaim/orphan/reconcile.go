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

// Package orphan releases hosts whose HostClaim does not exist any more, as that of a deleted
// claim is released.
//
// It looks at the hosts that the hostclaim manager bound, and believes only a live read that a
// claim is gone. It touches neither a host whose claim exists with the UID that the host names, nor
// one that another controller bound. From a host that names no claim it removes the traces of
// binds, and the fences of those that broke off.
//
//	bound ──claim gone──▶ marked ──grace over, or annotation──▶ released
//	  ▲                     │
//	  └──claim turns up─────┘  (same UID; a claim of equal name waits for the annotation)
//
// What wakes a host is in Watches; nothing is polled.
package orphan

import (
	"context"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
)

// Reconciler looks after hosts without claims. It keeps nothing between two passes, and is a
// collector of the metric of orphans.
type Reconciler struct {
	// Releaser gives hosts back as claims do.
	claim.Releaser
	// Recorder emits events for administrators of hosts.
	Recorder events.EventRecorder
	// Grace is how long an orphan is kept.
	Grace time.Duration
}

// Reconcile looks at one host. Nearly all hosts have a claim, and cost no request.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("BareMetalHost", klog.KRef(req.Namespace, req.Name)))
	host := &bmov1alpha1.BareMetalHost{}
	if err := r.Client.Get(ctx, req.NamespacedName, host); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case binding.ConsumerKey(host) != "":
		return r.reconcileBound(ctx, host)
	case Stray(host):
		return ctrl.Result{}, r.tidy(ctx, host)
	}
	return ctrl.Result{}, nil
}

// reconcileBound takes the next step of a host whose claim does not have it any more.
func (r *Reconciler) reconcileBound(ctx context.Context, host *bmov1alpha1.BareMetalHost) (ctrl.Result, error) {
	known, err := r.observeClaim(ctx, host)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := Next(Observed{Host: host, Claim: known, Grace: r.Grace, Now: r.Clock.Now()})
	switch plan.Step {
	case Mark: // the mark wakes the host, and the next pass finds it marked
		return ctrl.Result{}, r.Patch(ctx, host, Marked(host, r.Clock.Now()), "Marked the host as orphaned")
	case Unmark:
		return ctrl.Result{}, r.Patch(ctx, host, Unmarked(host), "Removed the mark of an orphaned host, since its HostClaim exists")
	case Release:
		return r.release(ctx, host, plan)
	}
	r.warn(host, plan.Step, binding.Wait{Reason: plan.Reason, Message: plan.Message})
	return r.wakeAt(plan.Until), nil
}

// warn emits an event about what a host waits for. The recorder counts an event that it has
// emitted for the host before, and does not write it again in each pass.
func (r *Reconciler) warn(host *bmov1alpha1.BareMetalHost, step Step, wait binding.Wait) {
	if wait.Reason != "" {
		r.Recorder.Eventf(host, nil, corev1.EventTypeWarning, wait.Reason, string(step), "%s", wait.Message)
	}
}

// wakeAt has the host looked at again at a time; the zero one is none.
func (r *Reconciler) wakeAt(at time.Time) ctrl.Result {
	if at.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(at.Sub(r.Clock.Now()), time.Millisecond)}
}

// observeClaim reads the claim that a host names. The cache is enough to see that
// it has the host, since its deletion wakes the host; anything else is believed only
// from the API server. A host that we did not bind is left alone if its claim is gone.
func (r *Reconciler) observeClaim(ctx context.Context, host *bmov1alpha1.BareMetalHost) (Claim, error) {
	known, err := read(ctx, r.Client, host)
	if err == nil && (known == Present || (known != Unaware && !Suspect(host))) {
		return known, nil
	}
	return read(ctx, r.Live, host)
}

// read asks one reader for the claim that a host names.
func read(ctx context.Context, reader client.Reader, host *bmov1alpha1.BareMetalHost) (Claim, error) {
	ref, found := host.Spec.ConsumerRef, &bmov1alpha1.HostClaim{}
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	switch err := reader.Get(ctx, key, found); {
	case apierrors.IsNotFound(err):
		return knowledge(host, nil), nil
	case err != nil:
		return Present, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	known := knowledge(host, found)
	if known != Replaced {
		return known, nil
	}
	served, err := claim.Serves(ctx, reader, found)
	if !served && err == nil {
		known = Unserved
	}
	return known, err
}

// release gives an orphan back as a claim would. The claim cannot come back between: its UID is
// gone for ever.
func (r *Reconciler) release(ctx context.Context, host *bmov1alpha1.BareMetalHost, plan Plan) (ctrl.Result, error) {
	begins := !begun(host) // the first pass reports the release
	released, err := r.Release(ctx, host, binding.Cleared(host), func(context.Context) error { return nil })
	if err != nil {
		return ctrl.Result{}, err
	}
	if begins {
		r.Recorder.Eventf(host, nil, corev1.EventTypeNormal, plan.Reason, string(plan.Step), "%s", plan.Message)
	}
	switch released.Wait.Reason {
	case infrav1.HostDeprovisioningReason, infrav1.HostPoweringOffReason: // on its way
	case "":
		r.Recorder.Eventf(host, nil, corev1.EventTypeNormal, "Freed", "Release",
			"The host was wiped and given back; HostClaim %s of namespace %s, which had it, does not exist any more",
			host.Spec.ConsumerRef.Name, host.Spec.ConsumerRef.Namespace)
	default:
		r.warn(host, plan.Step, released.Wait)
	}
	return r.wakeAt(released.Until), nil
}

// tidy cleans a host that names no claim and still carries traces of a bind. A claim
// whose status names the host may still be on its way to it, or will notice the
// loss; then the host is left to it. So is a fence, until its claim intends the host no
// more: within one pass it is put on and taken off while the intent is there.
func (r *Reconciler) tidy(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	if fencer := Fencer(host); fencer != "" {
		if _, named, err := r.named(ctx, host, fencer, intends); err != nil || named {
			return err
		}
		return r.Patch(ctx, host, binding.Unfenced(host), "Removed the fence of a bind that was given up")
	}
	uid := StrayClaim(host)
	exists, left, err := r.named(ctx, host, uid, names)
	if err != nil || left {
		return err
	}
	if uid != "" && !exists {
		err := r.DeleteCopies(ctx, host.Namespace, infrav1.SecretClaimUIDLabel, uid)
		if err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	tidied := Tidied(host)
	if equality.Semantic.DeepEqual(tidied, host) {
		return nil
	}
	return r.Patch(ctx, host, tidied, "Removed the traces of a bind from a host that names no HostClaim")
}

// named reports whether a claim with a UID exists, and whether it names a host. The cache is enough to
// see that it does, since a status that ceases to wakes the host. A claim that the cache does not show
// yet loses nothing: a pass that is about to bind the host fails with a conflict, and tries again.
func (r *Reconciler) named(
	ctx context.Context, host *bmov1alpha1.BareMetalHost, uid types.UID, by func(*bmov1alpha1.HostClaim, *bmov1alpha1.BareMetalHost) bool,
) (exists, named bool, err error) {
	known := &bmov1alpha1.HostClaimList{}
	err = r.Client.List(ctx, known, client.MatchingFields{claim.ClaimsByUID: string(uid)}, client.UnsafeDisableDeepCopy)
	if err != nil || len(known.Items) == 0 {
		return false, false, err
	}
	if by(&known.Items[0], host) {
		return true, true, nil
	}
	now := &bmov1alpha1.HostClaim{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(&known.Items[0]), now); err != nil {
		return false, false, client.IgnoreNotFound(err)
	}
	exists = now.UID == uid
	return exists, exists && by(now, host), nil
}
