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
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selector"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// choose selects a host for a claim without one and binds it.
func (r *binder) choose(ctx context.Context, s *scope, at standing) (standing, progress.Outcome) {
	switch at.step {
	case binding.Choose:
	case binding.Rest:
		return at, progress.Waiting(infrav1.ReservedReason,
			"The claim is kept for the next machine, and has no host; it looks for one when a machine uses it")
	default:
		return at, progress.Outcome{}
	}
	switch moved := s.adoptable(); {
	case len(moved) > 0:
		return r.adopt(ctx, s.claim, at, moved)
	case binding.BoundBefore(s.claim):
		r.pool.Leave(keyOf(s.claim))
		return at, progress.Waiting(infrav1.HostNotMovedReason, notMoved)
	}
	criteria, err := selector.Parse(s.claim)
	if err != nil {
		r.pool.Leave(keyOf(s.claim))
		return at, progress.Waiting(infrav1.InvalidHostSelectorReason, joined(err))
	}
	if err := binding.CheckPayload(s.claim); err != nil {
		r.pool.Leave(keyOf(s.claim))
		return at, imageRefused(err)
	}
	admitting := criteria.Namespaces(s.decision.Namespaces())
	namespaces, refused := s.permitting(admitting, r.deniedImages)
	r.enter(s.claim, criteria, namespaces)
	if len(admitting) == 0 {
		return at, progress.Waiting(infrav1.NoNamespaceAdmitsReason, noNamespace(s.claim.Namespace, criteria, s.decision))
	}
	host, found := r.pool.Pick(keyOf(s.claim))
	if !found {
		return at, r.explain(s, criteria, namespaces, refused)
	}
	return r.take(ctx, s.claim, at, candidate{host, func(now *bmov1alpha1.BareMetalHost) bool {
		return selection.Fits(criteria, now) == ""
	}})
}

// permitting narrows namespaces to those whose policies permit what the claim asks to be put on a host, and
// returns what one of the others refuses; nil if there are none.
func (s *scope) permitting(namespaces []string, deniedImages []netip.Prefix) (permitting []string, refused error) {
	for _, namespace := range namespaces {
		if err := s.decision.Grants[namespace].Permit(s.claim.Spec.Image, s.claim.Spec.CustomDeploy, deniedImages); err != nil {
			refused = err
			continue
		}
		permitting = append(permitting, namespace)
	}
	return permitting, refused
}

// imageRefused is the outcome of a claim whose image no host may be given.
func imageRefused(err error) progress.Outcome {
	return progress.Waiting(infrav1.ImageRefusedReason, err.Error()+". No server is taken before that is mended")
}

// notMoved says what to do about a claim whose host did not come with it.
const notMoved = "The claim was moved or restored, and the host that it had was not, or not yet; it gets no other one. " +
	"The infrastructure team must restore that host. To have another server, delete the Machine or the claim, or remove annotation " +
	infrav1.BoundClaimUIDAnnotation + " from a claim that may have any"

// adopt gives a claim back the host that was moved with it, before any other is
// looked for. Which of several it is cannot be known.
func (r *binder) adopt(
	ctx context.Context, claim *bmov1alpha1.HostClaim, at standing, moved []bmov1alpha1.BareMetalHost,
) (standing, progress.Outcome) {
	r.pool.Leave(keyOf(claim))
	if len(moved) > 1 {
		return at, progress.Waiting(infrav1.AmbiguousHostReason, ambiguous(moved))
	}
	return r.take(ctx, claim, at, candidate{&moved[0], func(now *bmov1alpha1.BareMetalHost) bool {
		return binding.Moved(now, claim)
	}})
}

// ambiguous names the hosts of the claim's own namespace that may be its own.
func ambiguous(hosts []bmov1alpha1.BareMetalHost) string {
	names := make([]string, len(hosts))
	for i := range hosts {
		names[i] = hosts[i].Name
	}
	slices.Sort(names)
	return "Several hosts were moved or restored with this claim: " + strings.Join(names, ", ") +
		"; remove spec.consumerRef from all but the one that is its own"
}

// candidate is a host that the claim could have, as it was seen last, and what it must be
// for that where it has changed since.
type candidate struct {
	host *bmov1alpha1.BareMetalHost
	fits func(now *bmov1alpha1.BareMetalHost) bool
}

// take binds the host unless the claim turns out to have one.
func (r *binder) take(ctx context.Context, claim *bmov1alpha1.HostClaim, at standing, c candidate) (standing, progress.Outcome) {
	at.known.Candidate = true
	at, err := r.walk(ctx, claim, at)
	if err == nil && at.step == binding.Take {
		at, err = r.bind(ctx, claim, at, c)
	}
	if refused, found := errors.AsType[*refusedError](err); found {
		r.pool.Leave(keyOf(claim)) // another claim may have the host
		return at, progress.FailedBecause(infrav1.BindRefusedReason,
			"The API server refuses the annotations and the finalizer that a claim with a host carries: "+refused.why+". It is tried again", err)
	}
	return at, progress.Failed(err)
}

// refusedError is the refusal of what a claim must carry before a host is bound to it. The intent is
// dropped then, which wakes the claim, so further tries are spaced out as those on stale facts are.
type refusedError struct {
	why string // in words of ours
	err error
}

func (e *refusedError) Error() string { return "record the intent: " + e.err.Error() }
func (*refusedError) Unwrap() error   { return progress.ErrStale }

// enter notes the claim as waiting before a host is looked for.
func (r *binder) enter(claim *bmov1alpha1.HostClaim, criteria selector.Criteria, namespaces []string) {
	w := waiterFor(claim)
	w.Criteria, w.Namespaces = criteria, namespaces
	r.pool.Enter(w)
}

// waiterFor is a claim of which nothing is known but its age.
func waiterFor(claim *bmov1alpha1.HostClaim) pool.Waiter {
	return pool.Waiter{Claim: keyOf(claim), Created: claim.CreationTimestamp.Time, UID: claim.UID}
}

// bind brings the claim to a host that answers it.
//
//	intent in the status ─▶ finalizer, annotation ─▶ policies ─▶ consumerRef ─▶ the claim, live
//	   │  claim c0 ─▶ c1 ──────────▲ still c1                          ▲
//	   └─ host h0 ─────────────────────────────────────────────────────┘ still h0
//
// The host is seen in the cache; the lock on the consumerRef proves that it is still so. Both
// records of the intent stand before, so a pass that gives it up, in whatever place the status
// gets lost, writes to the host first, and with that defeats this pass. One that has lost
// to another write may try again: it writes the version that it has read since into the record,
// so that the write which concludes anything from the former one loses. Confirming is left to
// report.
//
// A DELETE of the claim that kube-apiserver has begun before the finalizer was written ends it
// nevertheless, so that is looked at last, and a bind to a claim that is gone is taken back.
func (r *binder) bind(ctx context.Context, claim *bmov1alpha1.HostClaim, at standing, c candidate) (standing, error) {
	if err := r.recordIntent(ctx, claim, c.host); err != nil {
		return at, err
	}
	host, seen, err := r.nameClaim(ctx, claim, c)
	switch {
	case errors.Is(err, progress.ErrStale):
		// No write to the host is under way: each was answered, and none was done, see BoundAs. An intent that stays
		// would make the word of its administrator count, who may have named the claim on the host.
		if failed := client.IgnoreNotFound(r.dropIntent(ctx, claim)); failed != nil {
			return at, fmt.Errorf("%w, after: %s", failed, err.Error()) // the intent stays, so there is nothing to report
		}
		return at, err
	case err != nil:
		return at, err
	}
	switch gone, err := r.gone(ctx, claim); {
	case err != nil:
		return at, err
	case gone && seen != nil:
		return at, r.takeBack(ctx, claim, seen, host)
	case gone:
		return at, errClaimGone
	}
	at.host, at.step = host, binding.Keep
	r.pool.Bound(client.ObjectKeyFromObject(host))
	r.pool.Leave(keyOf(claim))
	ctrl.LoggerFrom(ctx).Info("Bound the host", "BareMetalHost", klog.KObj(host))
	if !binding.Moved(c.host, claim) {
		r.metrics.bound(r.clock.Since(claim.CreationTimestamp.Time))
	}
	return at, nil
}

// gone reads the claim live and reports whether it has gone. A claim without its finalizer is
// ErrStale: it may go at any moment, and the next pass puts the finalizer back.
func (r *binder) gone(ctx context.Context, claim *bmov1alpha1.HostClaim) (bool, error) {
	now := &bmov1alpha1.HostClaim{} // its UID is empty when the claim has gone
	err := r.live.Get(ctx, keyOf(claim), now)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("make sure that the claim has not gone: %w", err)
	case now.UID != claim.UID:
		return true, nil
	case !controllerutil.ContainsFinalizer(now, infrav1.HostClaimFinalizer):
		return false, fmt.Errorf("the finalizer was taken off the claim: %w", progress.ErrStale)
	}
	return false, nil
}

// takeBack writes a bound host as it was seen before, unless it has changed since. One that this
// does not reach is released as an orphan.
func (r *binder) takeBack(ctx context.Context, claim *bmov1alpha1.HostClaim, seen, bound *bmov1alpha1.BareMetalHost) error {
	before, former := binding.BindAtOnce(seen, claim, r.clock.Now()), seen.DeepCopy()
	before.ResourceVersion, former.ResourceVersion = bound.ResourceVersion, bound.ResourceVersion
	if err := r.client.Patch(ctx, former, apply.Locked(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the host back from a claim that has gone: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Took the host back, since the claim was deleted while it was bound", "BareMetalHost", klog.KObj(bound))
	return errClaimGone
}

// nameClaim brings the claim's name on the candidate, and returns the host with it, and as it was
// before: nil if another pass may have done it. If the candidate is not as it was seen, it is read
// live, and gets the name if it fits even so. The pool learns of one that does not: it may suit
// another claim.
func (r *binder) nameClaim(ctx context.Context, claim *bmov1alpha1.HostClaim, c candidate) (bound, seen *bmov1alpha1.BareMetalHost, err error) {
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
			r.pool.Correct(key, now)
			return nil, nil, fmt.Errorf("host %s is not as the cache shows it: %w", key, progress.ErrStale)
		}
		seen = now
	}
}

// errHostChanged says that a host is not the version any more at which it was to be bound.
var errHostChanged = fmt.Errorf("the host has changed: %w", progress.ErrStale)

// writeConsumer writes the claim's name on a host that is still as it was seen, once the claim is
// still as the intent left it, and policy admits it. It returns what it has tried to write.
func (r *binder) writeConsumer(ctx context.Context, claim *bmov1alpha1.HostClaim, seen *bmov1alpha1.BareMetalHost) (*bmov1alpha1.BareMetalHost, error) {
	intending := binding.Intending(claim, seen)
	if err := patchClaim(ctx, r.client, claim, intending); err != nil {
		if why := refusal(err); why != "" {
			return nil, &refusedError{why, err}
		}
		return nil, fmt.Errorf("record the intent: %w", err)
	}
	intending.DeepCopyInto(claim)
	if err := r.permitted(ctx, claim, seen); err != nil {
		return nil, err
	}
	host := binding.BindAtOnce(seen, claim, r.clock.Now())
	switch err := r.client.Patch(ctx, host, apply.Locked(seen)); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return host, fmt.Errorf("bind host: %w", errHostChanged)
	case err != nil:
		return nil, fmt.Errorf("bind host: %w", err)
	}
	return host, nil
}

// readAgain reads a candidate live.
func (r *binder) readAgain(ctx context.Context, c candidate) (*bmov1alpha1.BareMetalHost, error) {
	now, key := &bmov1alpha1.BareMetalHost{}, client.ObjectKeyFromObject(c.host)
	switch err := r.live.Get(ctx, key, now); {
	case apierrors.IsNotFound(err):
		r.pool.Correct(key, nil)
		return nil, fmt.Errorf("host %s has gone: %w", key, progress.ErrStale)
	case err != nil:
		return nil, fmt.Errorf("read host %s: %w", key, err)
	}
	return now, nil
}

// permitted asks the API server whether policy admits the claim right now. A
// claim needs no policy in its own namespace unless the manager was told so, nor
// for a host that it had before both were moved.
func (r *binder) permitted(ctx context.Context, claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) error {
	if binding.Moved(host, claim) ||
		(host.Namespace == claim.Namespace && r.policies.own == policy.OwnWithoutPolicy) {
		return nil
	}
	grant, err := r.policies.grantNow(ctx, claim.Namespace, host.Namespace)
	if err != nil {
		return err
	}
	if !grant.Admitted || grant.Permit(claim.Spec.Image, claim.Spec.CustomDeploy, r.deniedImages) != nil {
		// The cache, by which the host was chosen, does not know yet.
		return fmt.Errorf("policy no longer admits the claim or its image: %w", progress.ErrStale)
	}
	return nil
}

// explain counts the hosts that the claim could have had, by reason. It copies no
// host: a claim that a host has become free for waits behind those that are explained. Hosts
// whose policies refuse its image are not counted.
func (r *binder) explain(s *scope, criteria selector.Criteria, namespaces []string, refused error) progress.Outcome {
	seen := r.pool.Hosts(namespaces)
	if refused != nil && len(seen) == 0 {
		return imageRefused(refused)
	}
	reason, message := bmov1alpha1.NoBareMetalHostReason, selection.Explain(criteria, seen)
	if others := slices.DeleteFunc(slices.Clone(namespaces), s.own); refused != nil {
		message += "; other hosts are passed over, since " + refused.Error()
	} else if len(others) == 0 && criteria.InNamespace == "" {
		message += "; " + noNamespace(s.claim.Namespace, criteria, s.decision)
		if len(seen) == 0 {
			reason = infrav1.NoNamespaceAdmitsReason
		}
	}
	if r.pool.Behind(keyOf(s.claim)) {
		message += fmt.Sprintf(behind, pool.MaxLooks)
	}
	return progress.Waiting(reason, message)
}

// behind says that claims of the same namespace come first. The count is that of the
// pool, which never changes, so the message is not written anew for each of them.
const behind = "; %d other claims of this namespace wait before this one and are offered each host that becomes free; " +
	"delete those that are not needed"

// own says that a namespace is the claim's.
func (s *scope) own(namespace string) bool {
	return namespace == s.claim.Namespace
}

// noNamespace says what is missing before any host can be looked at.
func noNamespace(own string, criteria selector.Criteria, decision policy.Decision) string {
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

// joined puts the faults of a joined error on one line.
func joined(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

func keyOf(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	return client.ObjectKeyFromObject(claim)
}
