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
	"errors"
	"fmt"
	"net/netip"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/copies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims/status,verbs=get;patch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=metal3.io,resources=hostdeploypolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hardwaredata,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=baremetalhosts.metal3.io;hardwaredata.metal3.io;hostclaims.metal3.io,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler binds, synchronizes and releases HostClaims.
type Reconciler struct {
	// Client reads from caches and writes as HostClaimManagerFieldOwner.
	Client client.Client
	// Live reads from the API server: what must not be concluded from a cache,
	// and Secrets, which are never cached.
	Live client.Reader
	// Pool proposes free hosts and wakes waiting claims.
	Pool *pool.Pool
	// Secrets wakes claims when Secrets of these namespaces change.
	Secrets SecretWatch
	// Recorder tells tenants and administrators of transitions.
	Recorder events.EventRecorder
	// Metrics counts durations; nil counts nothing.
	Metrics *Metrics
	// Clock is the time of conditions and durations.
	Clock clock.PassiveClock
	// HoldReports is how long a host is on its way to its image, or back to the pool, before a
	// claim says so, and how long one that is freed may take to be switched off; 0 waits for
	// neither.
	HoldReports time.Duration
	// OwnNamespace says whether hosts of the claim's namespace need a policy.
	OwnNamespace policy.Own
	// Kinds tells which objects clusterctl would leave behind.
	Kinds MoveKinds
	// DeniedImages are addresses that no image of a claim from another namespace comes from.
	DeniedImages []netip.Prefix

	// budget bounds what is copied next to hosts.
	budget   copies.Budget
	letGo    letGo
	compiled policies.Cache
	stale    retry.Stale
	// written are the claims written last, and writtenHosts, by claim, its host.
	written, writtenHosts retry.Written
	reports               retry.Reports
	settling              retry.Deadlines
}

// SecretWatch is the part of secretwatch.Watch that the reconciler uses.
type SecretWatch interface {
	Ensure(namespace string)
	Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error)
	Read(secret *corev1.Secret) *corev1.Secret
	Version(key client.ObjectKey) (version string, known bool)
	Release(namespace string, needed func() (bool, error)) error
}

// Reconcile brings one HostClaim a step closer to its spec. Its steps are in
// phases; what they mean is decided in baremetal/hostclaim/binding.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer r.Pool.Begin(req.NamespacedName)()
	if wait := r.stale.TooEarly(req.NamespacedName, r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	claim := &bmov1alpha1.HostClaim{}
	if err := r.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		if apierrors.IsNotFound(err) {
			r.Pool.Leave(req.NamespacedName)
			r.Metrics.forget(req.NamespacedName)
			r.budget.Forget(req.NamespacedName)
			r.letGo.forget(req.NamespacedName)
			r.stale.Forget(req.NamespacedName)
			r.written.Forget(req.NamespacedName)
			r.writtenHosts.Forget(req.NamespacedName)
			r.reports.Forget(req.NamespacedName)
			r.settling.Forget(req.NamespacedName)
			return ctrl.Result{}, r.releaseWatches(ctx, req.Namespace)
		}
		return ctrl.Result{}, err
	}
	read := claim.ResourceVersion
	if until, behind := r.written.Behind(req.NamespacedName, read, r.Clock.Now()); behind {
		return r.stale.Result(ctx, req.NamespacedName, progress.Behind(until, "HostClaim"), r.Clock.Now())
	}
	if binding.OnHold(claim) {
		r.Pool.Leave(req.NamespacedName)
		r.Metrics.forget(req.NamespacedName)
		return r.ended(ctx, req, r.hold(ctx, claim))
	}
	held := controllerutil.ContainsFinalizer(claim, infrav1.HostClaimFinalizer)
	out := r.pass(ctx, claim)
	switch {
	case claim.ResourceVersion != read:
		r.written.Wrote(req.NamespacedName, claim.ResourceVersion, r.Clock.Now())
	case held && out.Err() == nil && r.letGo.has(claim):
		r.written.Left(req.NamespacedName, read, r.Clock.Now())
	}
	return r.ended(ctx, req, out)
}

// ended notes what a pass came to.
func (r *Reconciler) ended(ctx context.Context, req ctrl.Request, out progress.Outcome) (ctrl.Result, error) {
	r.Metrics.decided(out)
	for _, wait := range out.Waits() {
		ctrl.LoggerFrom(ctx).V(4).Info("Waiting", "reason", wait.Reason, "message", wait.Message)
	}
	return r.stale.Result(ctx, req.NamespacedName, out, r.Clock.Now())
}

// pass is one pass over a claim that we may touch.
func (r *Reconciler) pass(ctx context.Context, claim *bmov1alpha1.HostClaim) progress.Outcome {
	p := &pass{parts: r.parts(), scope: scope{claim: claim}}
	if err := p.observer.observe(ctx, &p.scope); err != nil {
		return progress.Failed(err)
	}
	if until, behind := r.hostBehind(&p.scope); behind {
		return progress.Behind(until, "BareMetalHost")
	}
	defer r.noteHost(&p.scope, versionOf(p.host))
	if p.otherController != "" {
		r.Pool.Leave(keyOf(claim))
		return p.reporter.report(ctx, p, progress.Outcome{})
	}
	if foreign, err := p.releaser.heldByOthers(ctx, &p.scope); err != nil || foreign {
		r.Pool.Leave(keyOf(claim))
		return progress.Failed(err)
	}
	if err := ensureFinalizer(ctx, r.Client, claim); err != nil {
		return progress.Failed(err)
	}
	out := progress.Run(ctx, p, progress.ToTheEnd, p.steps()...)
	if _, refused := errors.AsType[*refusedError](out.Err()); p.finished || (out.Stale() && !refused) {
		return out // there is nothing to report, or nothing that still holds
	}
	return out.And(p.reporter.report(ctx, p, out))
}

// ensureFinalizer puts our finalizer on a live claim in a write of its own. It comes before
// the consumerRef, so that no host is ever bound to a claim that could vanish, and after the
// status first says something of hosts, so that a claim with finalizer and without such a
// status has lost it, see binding.New. The pass that writes the first status leaves it to
// the next one unless it binds a host: the locked write then proves that the API server has
// that status.
func ensureFinalizer(ctx context.Context, writer client.Client, claim *bmov1alpha1.HostClaim) error {
	if deleting(claim) || binding.New(claim) || controllerutil.ContainsFinalizer(claim, infrav1.HostClaimFinalizer) {
		return nil
	}
	before := claim.DeepCopy()
	controllerutil.AddFinalizer(claim, infrav1.HostClaimFinalizer)
	if err := patchClaim(ctx, writer, before, claim); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// errClaimGone ends a pass over a claim that has gone meanwhile.
var errClaimGone = fmt.Errorf("the claim has gone: %w", progress.ErrStale)

// patchClaim writes the metadata of a claim, locked on what it was before.
func patchClaim(ctx context.Context, writer client.Client, before, claim *bmov1alpha1.HostClaim) error {
	if err := writer.Patch(ctx, claim, apply.Locked(before)); err != nil {
		if apierrors.IsNotFound(err) {
			return errClaimGone
		}
		return err //nolint:wrapcheck // the caller says what for
	}
	return nil
}

// hostBehind says that the cache shows the host as it was before it was written, or read live.
func (r *Reconciler) hostBehind(s *scope) (until time.Time, behind bool) {
	if s.host == nil {
		return time.Time{}, false
	}
	return r.writtenHosts.Behind(keyOf(s.claim), s.host.ResourceVersion, r.Clock.Now())
}

// noteHost remembers the host as a pass leaves it, unless that is what the cache has shown.
func (r *Reconciler) noteHost(s *scope, shown string) {
	if version := versionOf(s.host); version != "" && version != shown {
		r.writtenHosts.Wrote(keyOf(s.claim), version, r.Clock.Now())
	}
}

// versionOf is the version of a host; empty for none.
func versionOf(host *bmov1alpha1.BareMetalHost) string {
	if host == nil {
		return ""
	}
	return host.ResourceVersion
}

func deleting(claim *bmov1alpha1.HostClaim) bool {
	return !claim.DeletionTimestamp.IsZero()
}
