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
	"slices"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// bind finds the host of the claim, or binds one to it. What a claim without a host waits for is in
// waits.bind.
func (r *Reconciler) bind(ctx context.Context, s *scope) error {
	if err := r.resolve(ctx, s, binding.Unread); err != nil {
		return err
	}
	switch s.step {
	case binding.Choose:
	case binding.Rest:
		s.waits.bind = because(infrav1.ReservedReason,
			"The claim is kept for the next machine, and has no host; it looks for one when a machine uses it")
		return nil
	default:
		return nil
	}
	var c candidate
	var err error
	if c, s.waits.bind, err = r.choose(ctx, s); err != nil || c.host == nil {
		return err
	}
	s.known.Candidate = true
	if err := r.walk(ctx, s); err != nil || s.step != binding.Take {
		return err
	}
	err = r.take(ctx, s, c)
	if !errors.Is(err, errRefused) {
		return err
	}
	ctrl.LoggerFrom(ctx).Error(err, "The claim cannot be bound")
	r.Pool.Leave(keyOf(s.claim)) // another claim may have the host
	s.waits.bind = because(infrav1.BindRefusedReason,
		"The API server refuses to bind the claim to a host: "+refusal(err)+". It is tried again")
	s.wakeAt(r.Clock.Now().Add(refusedPause))
	return nil
}

// refusedPause is the time between two binds that the API server refuses. Each drops its intent, which
// wakes the claim at once.
const refusedPause = 15 * time.Second

// refusedUntil returns until when a claim is not bound since its last bind was refused, and the
// wait for that.
func refusedUntil(claim *bmov1alpha1.HostClaim) (until time.Time, wait binding.Wait) {
	c := binding.ConditionOf(claim.Status.Conditions, bmov1alpha1.AssociatedCondition)
	if c.Status != metav1.ConditionFalse || c.Reason != infrav1.BindRefusedReason {
		return time.Time{}, binding.Wait{}
	}
	return c.LastTransitionTime.Add(refusedPause), binding.Wait{Reason: c.Reason, Message: c.Message}
}

// candidate is a host that the claim could have, as it was seen last, and what it must be
// for that where it has changed since.
type candidate struct {
	host *bmov1alpha1.BareMetalHost
	fits func(now *bmov1alpha1.BareMetalHost) bool
}

// choose returns the host to bind to the claim, or why there is none.
func (r *Reconciler) choose(ctx context.Context, s *scope) (candidate, binding.Wait, error) {
	if until, wait := refusedUntil(s.claim); r.Clock.Now().Before(until) {
		r.Pool.Leave(keyOf(s.claim))
		s.wakeAt(until)
		return candidate{}, wait, nil
	}
	if moved := s.adoptable(); len(moved) > 0 {
		r.Pool.Leave(keyOf(s.claim))
		c, wait := adopt(s.claim, moved)
		return c, wait, nil
	}
	criteria, wait := wanted(s.claim)
	if wait.Reason == "" {
		wait = s.classWait()
	}
	if wait.Reason != "" {
		r.Pool.Leave(keyOf(s.claim))
		return candidate{}, wait, nil
	}
	if s.claim.Annotations[infrav1.TakeOverAnnotation] != "" {
		r.Pool.Leave(keyOf(s.claim))
		return r.takeOver(ctx, s)
	}
	c, wait := r.pick(s, criteria)
	return c, wait, nil
}

// pick returns a host of the pool for the claim, or why there is none.
func (r *Reconciler) pick(s *scope, criteria selection.Criteria) (candidate, binding.Wait) {
	admitting := criteria.Namespaces(s.decision.Namespaces())
	namespaces, refused := r.permitting(s, admitting)
	r.Pool.Enter(pool.Waiter{
		Claim: keyOf(s.claim), Created: s.claim.CreationTimestamp.Time, UID: s.claim.UID, Criteria: criteria, Namespaces: namespaces,
	})
	if len(admitting) == 0 {
		return candidate{}, because(infrav1.NoNamespaceAdmitsReason, noNamespace(s.claim.Namespace, criteria, s.decision))
	}
	host, found := r.Pool.Pick(keyOf(s.claim))
	if !found {
		return candidate{}, r.explain(s, criteria, namespaces, refused)
	}
	return candidate{host, func(now *bmov1alpha1.BareMetalHost) bool { return selection.Fits(criteria, now) == "" }}, binding.Wait{}
}

// wanted returns what a claim asks of a host, or why none can be looked for.
func wanted(claim *bmov1alpha1.HostClaim) (selection.Criteria, binding.Wait) {
	if binding.BoundBefore(claim) {
		return selection.Criteria{}, binding.Wait{Reason: infrav1.HostNotMovedReason, Message: notMoved}
	}
	criteria, err := selection.Parse(claim)
	if err != nil {
		return criteria, binding.Wait{Reason: infrav1.InvalidHostSelectorReason, Message: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	if err := binding.CheckPayload(claim); err != nil {
		return criteria, imageRefused(err)
	}
	return criteria, binding.Wait{}
}

// permitting narrows namespaces to those whose policies permit what the claim asks to be put on a host, and
// returns what one of the others refuses; nil if there are none.
func (r *Reconciler) permitting(s *scope, namespaces []string) (permitting []string, refused error) {
	for _, namespace := range namespaces {
		if err := s.decision.Grants[namespace].Permit(s.claim.Spec.Image, s.claim.Spec.CustomDeploy, r.DeniedImages); err != nil {
			refused = err
			continue
		}
		permitting = append(permitting, namespace)
	}
	return permitting, refused
}

// imageRefused returns the wait of a claim whose image may be put on no host.
func imageRefused(err error) binding.Wait {
	return binding.Wait{Reason: infrav1.ImageRefusedReason, Message: err.Error() + ". No server is taken before that is mended"}
}

// notMoved is what to do about a claim whose host did not come with it.
const notMoved = "The claim was moved or restored, and the host that it had was not, or not yet; it gets no other one. " +
	"The infrastructure team must restore that host. To have another server, delete the Machine or the claim, or remove annotation " +
	infrav1.BoundClaimUIDAnnotation + " from a claim that may have any"

// adoptable are the moved hosts that the claim may have, by what its status is now.
func (s *scope) adoptable() []bmov1alpha1.BareMetalHost {
	return slices.DeleteFunc(slices.Clone(s.moved), func(host bmov1alpha1.BareMetalHost) bool {
		return !binding.Adoptable(&host, s.claim)
	})
}

// adopt gives a claim back the host that was moved with it, before any other is
// looked for. Which of several it is cannot be known.
func adopt(claim *bmov1alpha1.HostClaim, moved []bmov1alpha1.BareMetalHost) (candidate, binding.Wait) {
	if len(moved) == 1 {
		return candidate{&moved[0], func(now *bmov1alpha1.BareMetalHost) bool { return binding.Moved(now, claim) }}, binding.Wait{}
	}
	names := make([]string, len(moved))
	for i := range moved {
		names[i] = moved[i].Name
	}
	slices.Sort(names)
	return candidate{}, because(infrav1.AmbiguousHostReason,
		"Several hosts were moved or restored with this claim: "+strings.Join(names, ", ")+
			"; remove spec.consumerRef from all but the one that is its own")
}

// explain counts the hosts that the claim could have had, by reason. It copies no host, since a
// claim for which a host has become free waits behind those that are explained. Hosts whose
// policies refuse its image are not counted.
func (r *Reconciler) explain(s *scope, criteria selection.Criteria, namespaces []string, refused error) binding.Wait {
	seen := r.Pool.Hosts(namespaces)
	if refused != nil && len(seen) == 0 {
		return imageRefused(refused)
	}
	reason, message := bmov1alpha1.NoBareMetalHostReason, selection.Explain(criteria, seen)
	others := slices.ContainsFunc(namespaces, func(namespace string) bool { return namespace != s.claim.Namespace })
	switch {
	case refused != nil:
		message += "; other hosts are passed over, since " + refused.Error()
	case !others && criteria.InNamespace == "":
		message += "; " + noNamespace(s.claim.Namespace, criteria, s.decision)
		if len(seen) == 0 {
			reason = infrav1.NoNamespaceAdmitsReason
		}
	}
	return binding.Wait{Reason: reason, Message: message}
}

// noNamespace is what is missing before any host can be looked at.
func noNamespace(own string, criteria selection.Criteria, decision policy.Decision) string {
	where := "no other namespace admits namespace " + own
	if criteria.InNamespace != "" {
		where = "namespace " + criteria.InNamespace + " does not admit namespace " + own
	}
	message := where + "; the infrastructure team must name it in a HostDeployPolicy next to the hosts"
	if len(decision.Invalid) > 0 {
		message += " (some policies are invalid and were skipped, see their events)"
	}
	return message
}

// take binds to the claim a host that fits it.
//
//	intent in the status ─▶ finalizer, annotation ─▶ policies ─▶ consumerRef ─▶ the claim, live
//	   │  claim c0 ─▶ c1 ──────────▲ still c1                          ▲
//	   └─ host h0 ─────────────────────────────────────────────────────┘ still h0
//
// The host is read from the cache; the lock on the consumerRef proves that it has not changed.
// Both records of the intent are written before. So a pass that gives the intent up writes to
// the host first, even if the status was lost, and this pass then fails. A pass that has lost
// to another write may try again: it records the version that it has read since, so a write
// that relies on the former record fails. The status at the end of the pass confirms the bind.
//
// A DELETE that kube-apiserver has begun before the finalizer was written removes the claim
// nevertheless. So the claim is read live at the end, and a bind to one that is gone is taken
// back.
func (r *Reconciler) take(ctx context.Context, s *scope, c candidate) error {
	// With the claim's resourceVersion: a pass that decided on an older claim fails.
	if err := r.writeStatus(ctx, s.claim, binding.WithIntentStatus(s.claim, c.host, r.Clock.Now()), "record the intent"); err != nil {
		return err
	}
	host, seen, err := r.nameClaim(ctx, s.claim, c)
	if err != nil {
		return r.dropped(ctx, s.claim, err)
	}
	switch gone, err := r.gone(ctx, s.claim); {
	case err != nil:
		return err
	case gone && seen != nil:
		return r.takeBack(ctx, s.claim, seen, host)
	case gone:
		return patch.Conflict("the claim has gone")
	}
	s.host, s.step = host, binding.Keep
	r.Pool.Bound(client.ObjectKeyFromObject(host))
	r.Pool.Leave(keyOf(s.claim))
	ctrl.LoggerFrom(ctx).Info("Bound the host", "BareMetalHost", klog.KObj(host))
	if !binding.Moved(c.host, s.claim) && !binding.TakesOver(s.claim, c.host) {
		r.Metrics.bindSeconds.Observe(r.Clock.Since(s.claim.CreationTimestamp.Time).Seconds())
	}
	return nil
}

// dropped drops the intent of a bind that has failed, if no write to the host can be under way: each was
// answered, and none was done, see BoundAs. If the intent stayed, it would confirm a consumerRef that an
// administrator may have written. After a refusal its record goes too, or the next pass would fence the
// host, which has not changed. It returns the error of the bind.
func (r *Reconciler) dropped(ctx context.Context, claim *bmov1alpha1.HostClaim, err error) error {
	refused := errors.Is(err, errRefused)
	if !refused && !patch.IsConflict(err) {
		return err
	}
	failed := client.IgnoreNotFound(r.dropIntent(ctx, claim))
	if failed == nil && refused && metav1.HasAnnotation(claim.ObjectMeta, infrav1.IntendedHostAnnotation) {
		failed = r.patchClaim(ctx, claim, binding.WithoutRecord(claim), "drop the record of the intent")
	}
	if failed != nil {
		return fmt.Errorf("%s; then %w", err.Error(), failed)
	}
	return err
}

// gone reads the claim live and reports whether it has gone. A claim without its finalizer is
// a conflict: it may go at any moment, and the next pass puts the finalizer back.
func (r *Reconciler) gone(ctx context.Context, claim *bmov1alpha1.HostClaim) (bool, error) {
	now, err := r.readLive(ctx, claim)
	switch {
	case err != nil:
		return false, err
	case now.UID != claim.UID:
		return true, nil
	case !controllerutil.ContainsFinalizer(now, infrav1.HostClaimFinalizer):
		return false, patch.Conflict("the finalizer was taken off the claim")
	}
	return false, nil
}

// takeBack writes a bound host as it was seen before, unless it has changed since. One that this
// does not reach is released as an orphan.
func (r *Reconciler) takeBack(ctx context.Context, claim *bmov1alpha1.HostClaim, seen, bound *bmov1alpha1.BareMetalHost) error {
	before, former := binding.BindAtOnce(seen, claim, r.Clock.Now()), seen.DeepCopy()
	before.ResourceVersion, former.ResourceVersion = bound.ResourceVersion, bound.ResourceVersion
	if err := r.Client.Patch(ctx, former, patch.Locked(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the host back from a claim that has gone: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Took the host back, since the claim was deleted while it was bound", "BareMetalHost", klog.KObj(bound))
	return patch.Conflict("the claim has gone")
}

// nameClaim brings the claim's name on the candidate, and returns the host with it, and as it was
// before: nil if another pass may have done it. A candidate that has changed is read live, and
// gets the name if it still fits. The pool learns of one that does not fit: it may suit another
// claim.
func (r *Reconciler) nameClaim(ctx context.Context, claim *bmov1alpha1.HostClaim, c candidate) (bound, seen *bmov1alpha1.BareMetalHost, err error) {
	seen = c.host
	key := client.ObjectKeyFromObject(seen)
	for again := true; ; again = false {
		tried, err := r.writeConsumer(ctx, claim, seen)
		if !errors.Is(err, errHostChanged) {
			return tried, seen, err
		}
		now, err := r.readAgain(ctx, c)
		switch {
		case err != nil:
			return nil, nil, err
		case binding.BoundAs(now, seen, tried):
			return now, nil, nil
		case !again || !c.fits(now):
			r.Pool.Correct(key, now)
			return nil, nil, patch.Conflict("host %s is not as the cache shows it", key)
		}
		seen = now
	}
}

// errHostChanged is the error of a host that has changed since the version at which it was to be
// bound.
var errHostChanged = errors.New("the host has changed")

// writeConsumer writes the claim's name on a host that is still as it was seen, once the claim is
// still as the intent left it, and policy admits it. It returns what it has tried to write.
func (r *Reconciler) writeConsumer(ctx context.Context, claim *bmov1alpha1.HostClaim, seen *bmov1alpha1.BareMetalHost) (*bmov1alpha1.BareMetalHost, error) {
	intending := binding.Intending(claim, seen)
	if err := r.patchClaim(ctx, claim, intending, "record the intent"); err != nil {
		return nil, asRefused(err)
	}
	if err := r.permitted(ctx, claim, seen); err != nil {
		return nil, err
	}
	host := binding.BindAtOnce(seen, claim, r.Clock.Now())
	switch err := r.Client.Patch(ctx, host, patch.Locked(seen)); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return host, fmt.Errorf("bind host: %w", errHostChanged)
	case err != nil:
		return nil, asRefused(fmt.Errorf("bind host: %w", err))
	}
	return host, nil
}

// readAgain reads a candidate live.
func (r *Reconciler) readAgain(ctx context.Context, c candidate) (*bmov1alpha1.BareMetalHost, error) {
	now, key := &bmov1alpha1.BareMetalHost{}, client.ObjectKeyFromObject(c.host)
	switch err := r.Live.Get(ctx, key, now); {
	case apierrors.IsNotFound(err):
		r.Pool.Correct(key, nil)
		return nil, patch.Conflict("host %s has gone", key)
	case err != nil:
		return nil, fmt.Errorf("read host %s: %w", key, err)
	}
	return now, nil
}

// errRefused marks the refusal of what a claim must carry before a host is bound to it, or of its name on
// the host.
var errRefused = errors.New("the API server refuses to bind")

// asRefused marks an error if the API server refuses a write.
func asRefused(err error) error {
	if refusal(err) != "" {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

// permitted asks the API server whether policy admits the claim right now. A claim needs no
// policy in its own namespace unless the manager requires one, nor for a host that it had
// before both were moved.
func (r *Reconciler) permitted(ctx context.Context, claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) error {
	if binding.Moved(host, claim) ||
		(host.Namespace == claim.Namespace && r.Policies.Own == policy.OwnWithoutPolicy) {
		return nil
	}
	grant, err := r.Policies.GrantLive(ctx, claim.Namespace, host.Namespace)
	if err != nil {
		return err
	}
	if !grant.Admitted || grant.Permit(claim.Spec.Image, claim.Spec.CustomDeploy, r.DeniedImages) != nil {
		// The cache, by which the host was chosen, does not know yet.
		return patch.Conflict("policy no longer admits the claim or its image")
	}
	return nil
}

// refusal returns in words of ours why the API server refuses a write, if it does so until a
// person changes something; empty for conflicts and failures that pass. The text of the API
// server may quote policies and webhooks of other teams, so it goes to the log only.
func refusal(err error) string {
	silent := patch.SilentWebhook(err)
	switch {
	case apierrors.IsForbidden(err):
		return "an admission policy or webhook forbids it, or the hostclaim manager lacks the right; the administrator of the cluster must permit it"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return "an admission policy denies it, or the annotations of the object would be longer than 256 KiB; " +
			"the administrator of the cluster must permit it, or shorten them"
	case silent != "":
		return silent + " does not answer; while baremetal-operator is stopped, the failurePolicy of its webhooks must be Ignore"
	// Nor does it give a reason for what etcd refuses.
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && strings.Contains(err.Error(), "etcdserver: request is too large"):
		return "the object would be too large for etcd; shorten its labels, annotations, finalizers, managedFields or spec"
	default:
		return ""
	}
}
