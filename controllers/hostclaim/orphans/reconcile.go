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
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// Reconciler looks after hosts without claims.
type Reconciler struct {
	// Client reads from caches and writes as HostClaimManagerFieldOwner.
	Client client.Client
	// Live reads from the API server: claims that the cache does not show, hosts
	// before they are written, and Secrets.
	Live client.Reader
	// Secrets wakes hosts when there are rights on Secrets of these namespaces.
	Secrets SecretWatch
	// Recorder tells administrators what happens to a host.
	Recorder events.EventRecorder
	// Metrics counts orphans; nil counts nothing.
	Metrics *Metrics
	// Clock is the time that the grace is counted by.
	Clock clock.PassiveClock
	// Grace is how long an orphan is kept.
	Grace time.Duration

	told register
}

// SecretWatch is the part of secretwatch.Watch that the reconciler uses.
type SecretWatch interface {
	Ensure(namespace string)
}

// Reconcile looks at one host. Nearly all hosts have a claim, and cost no request.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	host := &bmov1alpha1.BareMetalHost{}
	if err := r.Client.Get(ctx, req.NamespacedName, host); err != nil {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var out progress.Outcome
	switch {
	case binding.ConsumerKey(host) != "":
		out = r.suspect(ctx, host)
	case orphan.Stray(host):
		r.forget(req.NamespacedName)
		out = r.stray(ctx, host)
	default:
		r.forget(req.NamespacedName)
	}
	return out.Result(r.Clock.Now())
}

// suspect looks whether the claim of a host is still there and has the host, and
// takes the next step if not.
func (r *Reconciler) suspect(ctx context.Context, host *bmov1alpha1.BareMetalHost) progress.Outcome {
	claim, err := r.observeClaim(ctx, host)
	if err != nil {
		return progress.Failed(err)
	}
	plan := orphan.Next(orphan.Observed{Host: host, Claim: claim, Grace: r.Grace, Now: r.Clock.Now()})
	if plan.Quiet || (plan.Reason == "" && (plan.Step == orphan.Leave || plan.Step == orphan.Unmark)) {
		r.forget(client.ObjectKeyFromObject(host))
	} else {
		r.note(host, plan)
	}
	switch plan.Step {
	case orphan.Mark:
		// The mark wakes the host, and the next pass finds it marked.
		return r.write(ctx, "Marked the host as orphaned", host, orphan.Marked(host, r.Clock.Now()))
	case orphan.Unmark:
		return r.write(ctx, "Removed the mark of an orphaned host, since its HostClaim exists", host, orphan.Unmarked(host))
	case orphan.Release:
		return r.release(ctx, host)
	case orphan.Wait:
		if plan.Until.IsZero() {
			return progress.Waiting(plan.Reason, plan.Message)
		}
		return progress.Until(plan.Until, plan.Reason, plan.Message)
	default:
		return progress.Outcome{}
	}
}

// observeClaim reads the claim that a host names. The cache is enough to see that
// it has the host, since its deletion wakes the host; anything else is believed only
// from the API server. A host that we did not bind is left alone if its claim is gone.
func (r *Reconciler) observeClaim(ctx context.Context, host *bmov1alpha1.BareMetalHost) (orphan.Claim, error) {
	known, err := read(ctx, r.Client, host)
	if err == nil && (known == orphan.Present || (known != orphan.Unaware && !orphan.Suspect(host))) {
		return known, nil
	}
	return read(ctx, r.Live, host)
}

// read asks one reader for the claim that a host names.
func read(ctx context.Context, reader client.Reader, host *bmov1alpha1.BareMetalHost) (orphan.Claim, error) {
	ref, claim := host.Spec.ConsumerRef, &bmov1alpha1.HostClaim{}
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	err := reader.Get(ctx, key, claim)
	switch {
	case apierrors.IsNotFound(err):
		return orphan.Absent, nil
	case err != nil:
		return orphan.Present, fmt.Errorf("read HostClaim %s: %w", key, err)
	case !binding.Owned(host, claim):
		return orphan.Replaced, nil
	case binding.Foreign(claim, host):
		return orphan.Unaware, nil
	default:
		return orphan.Present, nil
	}
}

// write patches a host that must not have changed since it was read, and logs what
// was done, with the claim that the host named.
func (r *Reconciler) write(ctx context.Context, done string, before, after *bmov1alpha1.BareMetalHost) progress.Outcome {
	if err := r.Client.Patch(ctx, after, patch.Locked(before)); err != nil {
		if apierrors.IsNotFound(err) {
			return progress.Outcome{}
		}
		return progress.Failed(fmt.Errorf("patch the BareMetalHost: %w", err))
	}
	log := ctrl.LoggerFrom(ctx)
	if ref := before.Spec.ConsumerRef; ref != nil {
		log = log.WithValues("HostClaim", klog.KRef(ref.Namespace, ref.Name), "claimUID", ref.UID)
	}
	log.Info(done)
	return progress.Outcome{}
}
