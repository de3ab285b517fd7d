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
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
)

// reconcileDelete releases the host of the claim, see Releaser, and then lets the claim go.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) error {
	if err := r.resolve(ctx, s, binding.Unread); err != nil {
		return err
	}
	swept := "" // the namespace of hosts where the copies are deleted
	if s.step == binding.Release {
		swept = s.host.Namespace
		if freed, err := r.release(ctx, s); err != nil || !freed {
			return err
		}
	}
	if s.step != binding.Finish {
		return nil
	}
	if ref := s.claim.Status.BareMetalHost; ref != nil && ref.Namespace != swept {
		var err error
		if s.waits.release, err = r.releaser().deleteCopies(ctx, s.claim, ref.Namespace, nil); err != nil || s.waits.release.Reason != "" {
			return err
		}
	}
	if err := r.withdraw(ctx, s.claim); err != nil {
		return err
	}
	return r.finish(ctx, s)
}

// release gives the host of the claim back, and reports whether it is free. What a move has put on the
// host is taken off as guard does it: while the API server has a claim that is not paused, and that
// clusterctl does not move.
func (r *Reconciler) release(ctx context.Context, s *scope) (freed bool, err error) {
	if binding.Held(s.host) {
		// A claim that takes no more annotations does not keep its host.
		if err := r.guardClaim(ctx, s.claim, true, true); err != nil && refusal(err) == "" {
			return false, err
		}
		if err := r.confirm(ctx, s.claim); err != nil {
			return false, err
		}
	}
	cleared := binding.Cleared(s.host)
	if binding.SaysUnhealthy(s.claim) && s.decision.Grants[s.host.Namespace].Permits(infrav1.AllowUnhealthyMarkAnnotation) {
		cleared = binding.ClearedUnhealthy(s.host)
	}
	released, err := r.releaser().Release(ctx, s.host, cleared, func(ctx context.Context) error {
		return r.withdraw(ctx, s.claim) // a claim whose finalizer was stripped may be gone as soon as its host is free
	})
	s.host, s.waits.release = released.Host, released.Wait
	if !released.Until.IsZero() {
		s.wakeAt(released.Until)
	}
	if err != nil || released.Wait.Reason != "" {
		return false, err
	}
	r.eventReleased(s.claim, s.host)
	r.Metrics.releaseSeconds.Observe(r.Clock.Since(s.claim.DeletionTimestamp.Time).Seconds())
	recorded := binding.Unread
	if binding.StatusNames(s.claim, client.ObjectKeyFromObject(s.host)) {
		recorded = binding.Fenced // by the write that has freed it
	}
	s.host = nil
	return true, r.resolve(ctx, s, recorded)
}

func (r *Reconciler) releaser() Releaser {
	return Releaser{Client: r.Client, Live: r.Live, Secrets: r.Secrets, Clock: r.Clock}
}

// finish takes our finalizer off the claim as it was judged: an intent that was written meanwhile
// would be lost with it, and fails the locked write. If others hold the claim, its status first
// records that we are done with it, see heldByOthers.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	s.finished = true
	others := slices.ContainsFunc(s.claim.Finalizers, func(f string) bool { return f != infrav1.HostClaimFinalizer })
	if others && !releasedBefore(s.claim) {
		told := s.claim.DeepCopy()
		told.Status.BareMetalHost = nil
		meta.SetStatusCondition(&told.Status.Conditions, released(s.claim.Generation, r.Clock.Now()))
		if err := r.writeStatus(ctx, s.claim, told, "tell that the claim has no host any more"); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	desired := s.claim.DeepCopy()
	changed := controllerutil.RemoveFinalizer(desired, infrav1.HostClaimFinalizer)
	if controllerutil.ContainsFinalizer(desired, bmov1alpha1.HostClaimFinalizer) {
		named, err := r.hostsBy(ctx, hostsByConsumer, binding.NameKey(s.claim))
		if err != nil {
			return err
		}
		if len(named) == 0 { // the claim has changed over to us from the controller of baremetal-operator
			changed = controllerutil.RemoveFinalizer(desired, bmov1alpha1.HostClaimFinalizer) || changed
		}
	}
	if !changed {
		return nil
	}
	if err := r.Client.Patch(ctx, desired, patch.Locked(s.claim)); client.IgnoreNotFound(err) != nil {
		if why := refusal(err); why != "" {
			s.finished = false
			s.waits.release = because(bmov1alpha1.HostClaimDeletionFailedReason, "The claim has no host any more and cannot go: "+why)
		}
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	return nil
}

// released is the condition Associated of a claim that we have let go of.
func released(generation int64, now time.Time) metav1.Condition {
	c := isFalse(bmov1alpha1.AssociatedCondition, infrav1.HostReleasedReason, "The claim has no host any more, and goes when its other finalizers do")
	c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now)
	return c
}

func releasedBefore(claim *bmov1alpha1.HostClaim) bool {
	return binding.ConditionOf(claim.Status.Conditions, bmov1alpha1.AssociatedCondition).Reason == infrav1.HostReleasedReason
}

// heldByOthers reports whether a claim that is being deleted is held only by the finalizers of other
// controllers, and needs nothing from us: by its status, we have let go of it or never bound it. A
// claim with our mark in its status, or with facts of ours, is reconciled like any other. So nothing
// is left behind by a tenant that stripped our finalizer, or a manager that died between freeing the
// host and tidying up.
func (r *Reconciler) heldByOthers(ctx context.Context, s *scope) (bool, error) {
	switch {
	case s.host != nil, !deleting(s.claim), controllerutil.ContainsFinalizer(s.claim, infrav1.HostClaimFinalizer):
		return false, nil
	case releasedBefore(s.claim):
		return true, nil
	case marked(s.claim):
		return false, nil
	}
	_, published, err := r.published(ctx, s.claim)
	return !published, err
}

// releaseWatches stops watching the Secrets of a namespace without claims, hosts of claims, and hosts
// that copies may be left next to.
func (r *Reconciler) releaseWatches(ctx context.Context, namespace string) error {
	return r.Secrets.Release(ctx, r.Client, namespace,
		SecretUser{List: &bmov1alpha1.HostClaimList{}, Which: client.InNamespace(namespace)},
		SecretUser{List: &bmov1alpha1.HostClaimList{}, Which: client.MatchingFields{claimsByHostNamespace: namespace}},
		SecretUser{List: &bmov1alpha1.HostDeployPolicyList{}, Which: client.InNamespace(namespace)})
}

// defaultReservation is how long a claim is reserved without a time of its own.
const defaultReservation = time.Hour

// expireReservation ends a reservation in time: the claim is deleted as it is known, so that
// one that was adopted meanwhile stays, and its host goes back like any other.
func (r *Reconciler) expireReservation(ctx context.Context, s *scope) error {
	if !reservation.Holds(s.claim) {
		return nil
	}
	until, known := binding.ReservedUntil(s.claim)
	if !known {
		until = r.Clock.Now().Add(defaultReservation)
		if err := r.patchClaim(ctx, s.claim, binding.LimitReservation(s.claim, until), "limit the reservation"); err != nil {
			return err
		}
		r.Recorder.Eventf(s.claim, nil, corev1.EventTypeWarning, "ReservationLimited", "Reserve",
			"Annotation %s was missing or no time, so it was set; write a time such as 2026-01-31T12:00:00Z to change it", infrav1.ReservedUntilAnnotation)
	}
	if r.Clock.Now().Before(until) {
		s.notes = append(s.notes, "The host is kept for the next machine until the time in annotation "+infrav1.ReservedUntilAnnotation)
		s.wakeAt(until)
		return nil
	}
	err := r.Client.Delete(ctx, s.claim, client.Preconditions{UID: &s.claim.UID, ResourceVersion: &s.claim.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("end the reservation: %w", err)
	}
	s.finished = true
	r.Recorder.Eventf(s.claim, nil, corev1.EventTypeNormal, "ReservationExpired", "Reserve",
		"Nobody has adopted this claim in time; it is deleted and its host goes back")
	return nil
}

// Releaser gives hosts back to the pool, those of deleted claims and those whose claim is gone.
type Releaser struct {
	// Client reads from caches and writes as HostClaimManagerFieldOwner.
	Client client.Client
	// Live reads from the API server: claims that the cache does not show, hosts before they are written,
	// and Secrets.
	Live client.Reader
	// Secrets wakes those concerned when there are rights on Secrets of these namespaces.
	Secrets interface{ Ensure(namespace string) }
	// Clock is the time that waits are counted by.
	Clock clock.PassiveClock
}

// Released is how far a host has come on its way back.
type Released struct {
	Host  *bmov1alpha1.BareMetalHost // as last written
	Wait  binding.Wait               // what it waits for; the zero value for a host that is free
	Until time.Time                  // when to look again; zero for not before an event
}

// Release brings a host that names a claim one step closer to the pool:
//
//	cleared ─▶ wait until it is at rest ─▶ delete copies ─▶ withdraw ─▶ consumerRef off
//
// The consumerRef goes at the version of the live read that showed the host at rest, so nothing can
// have happened to the host since.
func (r Releaser) Release(ctx context.Context, host, cleared *bmov1alpha1.BareMetalHost, withdraw func(context.Context) error) (Released, error) {
	if !equality.Semantic.DeepEqual(cleared, host) {
		if err := r.Patch(ctx, host, cleared, "Took back what the host was given, waiting for it to be wiped"); err != nil {
			return Released{Host: host}, err
		}
		host = cleared
	}
	out := Released{Host: host}
	if out.Wait = binding.Releasable(host); out.Wait.Reason != "" {
		return out, nil
	}
	if until := switchedOffBy(host); r.Clock.Now().Before(until) {
		out.Wait = binding.Wait{Reason: infrav1.HostPoweringOffReason, Message: "Waiting for the host to be switched off"}
		out.Until = until
		return out, nil
	}
	return r.free(ctx, out, withdraw)
}

// free releases a host that was cleared, if the API server shows it at rest.
func (r Releaser) free(ctx context.Context, out Released, withdraw func(context.Context) error) (Released, error) {
	host, live := out.Host, &bmov1alpha1.BareMetalHost{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(host), live); err != nil {
		return out, goneIsConflict("read the host before it is freed", err)
	}
	if binding.ConsumerKey(live) != binding.ConsumerKey(host) || live.ResourceVersion != host.ResourceVersion ||
		!equality.Semantic.DeepEqual(binding.Cleared(live), live) {
		return out, patch.Conflict("the host is being written, and its event is on the way")
	}
	if out.Wait = binding.Releasable(live); out.Wait.Reason != "" {
		return out, nil
	}
	var err error
	ref := live.Spec.ConsumerRef
	named := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}}
	if out.Wait, err = r.deleteCopies(ctx, named, live.Namespace, live); err != nil || out.Wait.Reason != "" {
		return out, err
	}
	if err := withdraw(ctx); err != nil {
		return out, err
	}
	freed := binding.Freed(live)
	if err := r.Patch(ctx, live, freed, "Released the host"); err != nil {
		return out, err
	}
	out.Host = freed
	return out, nil
}

// Patch writes a host that must not have changed since it was read, and logs what was done, with the claim that the
// host named.
func (r Releaser) Patch(ctx context.Context, before, after *bmov1alpha1.BareMetalHost, done string) error {
	if err := r.Client.Patch(ctx, after, patch.Locked(before)); err != nil {
		return goneIsConflict("patch the BareMetalHost", err)
	}
	log := ctrl.LoggerFrom(ctx).WithValues("BareMetalHost", klog.KObj(after))
	if ref := before.Spec.ConsumerRef; ref != nil {
		log = log.WithValues("HostClaim", klog.KRef(ref.Namespace, ref.Name), "claimUID", ref.UID)
	}
	log.Info(done)
	return nil
}

// goneIsConflict turns the error of an object that is gone into a conflict: the next pass finds it
// gone.
func goneIsConflict(what string, err error) error {
	if apierrors.IsNotFound(err) {
		return patch.Conflict("%s: it has gone", what)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// switchingOff is how long after its last report a host may take to be switched off.
const switchingOff = 5 * time.Second

// switchedOffBy returns until when a host that is being switched off is not freed: the write would mostly
// conflict with what baremetal-operator reports of it. Nothing depends on it.
func switchedOffBy(host *bmov1alpha1.BareMetalHost) time.Time {
	if !host.Status.PoweredOn || host.Spec.Online || host.Status.LastUpdated == nil {
		return time.Time{}
	}
	return host.Status.LastUpdated.Add(switchingOff)
}

// deleteCopies removes every secret that was copied for a claim to a namespace of hosts. With a host,
// which must still name the claim, it also removes the copies that the host owns, for whatever claim.
// The wait names the right that is missing.
func (r Releaser) deleteCopies(
	ctx context.Context, claim *bmov1alpha1.HostClaim, namespace string, host *bmov1alpha1.BareMetalHost,
) (binding.Wait, error) {
	own := namespace == claim.Namespace
	var err error
	if !own {
		r.Secrets.Ensure(namespace) // what comes after the list is seen by the watch
		err = r.DeleteCopies(ctx, namespace, infrav1.SecretClaimUIDLabel, claim.UID)
	}
	if err == nil && host != nil {
		err = r.DeleteCopies(ctx, namespace, infrav1.SecretHostUIDLabel, host.UID)
	}
	switch {
	case apierrors.IsForbidden(err) && own: // nothing was copied, and such an install needs no rights on secrets
		return binding.Wait{}, nil
	case apierrors.IsForbidden(err):
		return binding.Wait{Reason: infrav1.SecretsForbiddenReason, Message: missingRight("delete", namespace, hostSecretsRole)}, nil
	}
	return binding.Wait{}, err
}

// DeleteCopies deletes the copied Secrets of a namespace of hosts by a label: SecretClaimUIDLabel selects those
// made for a claim, SecretHostUIDLabel those that a host owns, for whatever claim: a manager that wrote while it
// was no leader any more leaves such copies. They are looked for at the release and not at the bind, which would
// pay for two lists and still miss what is written late; no host refers to a copy but by a locked patch.
func (r Releaser) DeleteCopies(ctx context.Context, namespace, label string, uid types.UID) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.Live.List(ctx, secrets, client.InNamespace(namespace), client.MatchingLabels{label: string(uid)}); err != nil {
		return fmt.Errorf("list the copied secrets: %w", err)
	}
	for i := range secrets.Items {
		secret := secrets.Items[i].ObjectMeta
		copied := secret.Labels[infrav1.SecretClaimUIDLabel] != "" && secret.Labels[infrav1.SecretKindLabel] != ""
		owned := slices.ContainsFunc(secret.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == uid })
		if !copied || label == infrav1.SecretHostUIDLabel && !owned {
			continue
		}
		if err := secretcopy.Delete(ctx, r.Client, secret); err != nil {
			return fmt.Errorf("delete the copied secret %s: %w", secret.Name, err)
		}
	}
	return nil
}
