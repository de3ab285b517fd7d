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

// Package claim reconciles HostClaims: it binds a claim to a BareMetalHost, keeps
// the two in step, and releases the host when the claim goes.
//
// It observes (caches, and live reads where a cache would not do), asks baremetal/policy,
// baremetal/selection and baremetal/binding, and carries out the result. It decides nothing
// itself, trusts no status that it could not rebuild, and never writes a Secret that it did not
// make.
//
// A claim is woken by itself, its host, a host that becomes free, a policy, its class, the
// labels of its namespace, a Secret, and its HardwareData; see watches.go.
// Nothing is polled.
package claim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
)

// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims/status,verbs=get;patch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=metal3.io,resources=hostdeploypolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=hardwaredata,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles HostClaims. It keeps nothing between two passes.
type Reconciler struct {
	// Client reads from caches and writes as HostClaimManagerFieldOwner.
	Client client.Client
	// Live reads from the API server: what must not be concluded from a cache,
	// and Secrets, which are never cached.
	Live client.Reader
	// Pool proposes free hosts and wakes waiting claims.
	Pool *pool.Pool
	// Policies evaluates HostDeployPolicies.
	Policies *policies.Evaluator
	// Secrets wakes claims when Secrets of these namespaces change.
	Secrets SecretWatch
	// Budget bounds what is copied next to hosts.
	Budget *CopyBudget
	// Recorder emits events of transitions for tenants and administrators.
	Recorder events.EventRecorder
	// Metrics counts durations.
	Metrics *Metrics
	// Clock is the time of conditions and durations.
	Clock clock.PassiveClock
	// Kinds finds the kinds whose objects clusterctl would leave behind.
	Kinds MoveKinds
	// DeniedImages are addresses that no image of a claim from another namespace comes from.
	DeniedImages []netip.Prefix
}

// CopyBudget bounds what is copied next to hosts for the claims of one namespace.
type CopyBudget = secretcopy.Budget

// SecretUser is a kind whose objects need the Secrets of a namespace.
type SecretUser = secretwatch.User

// SecretWatch is the part of secretwatch.Watch that the reconciler uses.
type SecretWatch interface {
	Ensure(namespace string)
	Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error)
	Metadata(ctx context.Context, live client.Reader, key client.ObjectKey) (metav1.ObjectMeta, error)
	Read(secret *corev1.Secret) *corev1.Secret
	Release(ctx context.Context, cached client.Reader, namespace string, users ...SecretUser) error
}

// scope is what one pass has read and written, and what each of its phases waits for.
type scope struct {
	claim           *bmov1alpha1.HostClaim // as last read or written
	otherController string                 // another controller that answers the claim; empty if none does
	class           hostclass.Verdict      // why its class gives the claim no host, if it does not
	decision        policy.Decision        // what HostDeployPolicies permit, from the cache

	// host names the claim, as last read or written; nil while none does.
	host *bmov1alpha1.BareMetalHost
	// moved are the hosts that seem to have been moved with a claim without a host.
	moved []bmov1alpha1.BareMetalHost
	// step is what binding.Next has decided on known; empty if a request failed before.
	step  binding.Step
	known binding.Binding

	hardware *bmov1alpha1.ObjectReference // the published HardwareData; nil while there is none
	notes    []string                     // what the owner should know of a host that is in step
	waits    struct{ bind, sync, publish, release binding.Wait }
	wake     time.Time // when to look again; zero for not before an event
	finished bool      // nothing is left to report: the claim goes, or is another controller's
}

// Reconcile brings one HostClaim a step closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &bmov1alpha1.HostClaim{}
	if err := r.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		r.Pool.Leave(req.NamespacedName)
		r.Budget.Forget(req.NamespacedName)
		return ctrl.Result{}, r.releaseWatches(ctx, req.Namespace)
	}
	s := &scope{claim: claim}
	if answers, err := r.classify(ctx, s); err != nil || !answers {
		r.Pool.Leave(req.NamespacedName)
		return ctrl.Result{}, err
	}
	if binding.OnHold(claim) {
		r.Pool.Leave(req.NamespacedName)
		return ctrl.Result{}, r.reconcilePaused(ctx, claim)
	}
	if err := r.observe(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if held, err := r.heldByOthers(ctx, s); err != nil || held {
		r.Pool.Leave(req.NamespacedName)
		return ctrl.Result{}, err
	}
	err := r.reconcile(ctx, s)
	if !s.finished && !patch.IsConflict(err) { // what was decided on an old version may not hold
		err = errors.Join(err, r.patchStatus(ctx, s, err == nil))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return s.again(r.Clock.Now()), nil
}

// again is when the claim is to be looked at again.
func (s *scope) again(now time.Time) ctrl.Result {
	if s.wake.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(s.wake.Sub(now), time.Millisecond)}
}

// reconcile handles a claim by its state: of another controller, deleted, or normal.
func (r *Reconciler) reconcile(ctx context.Context, s *scope) error {
	switch {
	case s.otherController != "": // the condition StoodDown reports it
		r.Pool.Leave(keyOf(s.claim))
		return nil
	case deleting(s.claim):
		return r.reconcileDelete(ctx, s)
	default:
		return r.reconcileNormal(ctx, s)
	}
}

// reconcileNormal binds a host to the claim, then keeps the host in step with it.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) error {
	if s.host == nil && withheld(s.claim, s.class) {
		return r.giveUp(ctx, s)
	}
	if err := r.ensureFinalizer(ctx, s.claim); err != nil {
		if why := refusal(err); why != "" && s.host == nil && binding.RecordOf(s.claim) == binding.Unrecorded {
			s.waits.bind = because(infrav1.BindRefusedReason, "The API server refuses the finalizer of the claim: "+why+". It is tried again")
		}
		return err
	}
	if err := r.bind(ctx, s); err != nil {
		return err
	}
	ready, err := r.guard(ctx, s)
	if s.class.Reason != "" {
		s.notes = append(s.notes, s.class.Message)
	}
	if ready && err == nil {
		err = errors.Join(r.synchronize(ctx, s), r.reboot(ctx, s))
		r.refuse(s)
	}
	return errors.Join(err, r.publish(ctx, s), r.expireReservation(ctx, s))
}

// ensureFinalizer puts our finalizer on a live claim in a write of its own:
//
//   - before the consumerRef, so that no host is bound to a claim that could vanish,
//   - after the status has first said something of hosts, so that a claim with the finalizer and
//     without such a status has lost it, see binding.New. The pass that writes the first status
//     leaves it to the next one, unless it binds a host: the locked write then proves that the
//     API server has that status.
func (r *Reconciler) ensureFinalizer(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	if binding.New(claim) || controllerutil.ContainsFinalizer(claim, infrav1.HostClaimFinalizer) {
		return nil
	}
	desired := claim.DeepCopy()
	controllerutil.AddFinalizer(desired, infrav1.HostClaimFinalizer)
	return r.patchClaim(ctx, claim, desired, "add the finalizer")
}

// patchClaim writes the metadata of a claim, locked on the version that was read, and makes the
// claim what was written. One that has gone is a conflict.
func (r *Reconciler) patchClaim(ctx context.Context, claim, desired *bmov1alpha1.HostClaim, what string) error {
	if err := r.Client.Patch(ctx, desired, patch.Locked(claim)); err != nil {
		return goneIsConflict(what, err)
	}
	*claim = *desired
	return nil
}

// patchHost writes the host of the claim, locked on the version that was read.
func (r *Reconciler) patchHost(ctx context.Context, s *scope, desired *bmov1alpha1.BareMetalHost, what string) error {
	if err := r.Client.Patch(ctx, desired, patch.Locked(s.host)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.host = desired
	return nil
}

// wakeAt has the claim looked at again at a time, unless that is to happen earlier.
func (s *scope) wakeAt(at time.Time) {
	if s.wake.IsZero() || at.Before(s.wake) {
		s.wake = at
	}
}

// grant is what policies permit the claim on the hosts of its host's namespace.
func (s *scope) grant() policy.Grant {
	if s.host == nil {
		return policy.Grant{}
	}
	return s.decision.Grants[s.host.Namespace]
}

// crossing reports whether claim and host are in different namespaces.
func (s *scope) crossing() bool {
	return s.host != nil && s.host.Namespace != s.claim.Namespace
}

func deleting(claim *bmov1alpha1.HostClaim) bool {
	return !claim.DeletionTimestamp.IsZero()
}

func keyOf(claim *bmov1alpha1.HostClaim) client.ObjectKey {
	return client.ObjectKeyFromObject(claim)
}

// observe reads from the caches what policies permit the claim and which host names it.
func (r *Reconciler) observe(ctx context.Context, s *scope) (err error) {
	if s.decision, err = r.Policies.Decide(ctx, s.claim.Namespace); err != nil {
		return err
	}
	if err := r.observeHosts(ctx, s); err != nil {
		return err
	}
	s.otherController = otherController(s.claim, s.host != nil)
	return nil
}

// observeHosts finds the hosts that have to do with the claim.
func (r *Reconciler) observeHosts(ctx context.Context, s *scope) error {
	own, err := r.hostsBy(ctx, hostsByConsumer, binding.ClaimKey(s.claim))
	if err != nil {
		return err
	}
	s.host = ownHost(s.claim, own)
	if s.host != nil {
		return nil
	}
	s.moved, err = r.hostsBy(ctx, hostsByMovedClaim, keyOf(s.claim).String())
	return err
}

func (r *Reconciler) hostsBy(ctx context.Context, index, value string) ([]bmov1alpha1.BareMetalHost, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := r.Client.List(ctx, hosts, client.MatchingFields{index: value}); err != nil {
		return nil, fmt.Errorf("list hosts of the claim by %s: %w", index, err)
	}
	return hosts.Items, nil
}

// ownHost returns the host of a claim among those that name it, nil if it is none of
// them. If the status was lost and several carry the traces of a bind, it is the first
// by name.
func ownHost(claim *bmov1alpha1.HostClaim, hosts []bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	var own *bmov1alpha1.BareMetalHost
	for i := range hosts {
		host := &hosts[i]
		if !binding.Has(claim, host) {
			continue
		}
		if own == nil || client.ObjectKeyFromObject(host).String() < client.ObjectKeyFromObject(own).String() {
			own = host
		}
	}
	return own
}

// nameless stands for a controller whose name cannot be seen.
const nameless = "unknown"

// otherController returns the name of another controller that works on a claim
// which we have not bound; empty when there is none.
//
// The status decides, since no tenant can write it: a host or a condition Associated without
// our mark was written by another controller. Field managers only add to that, for a controller
// that has written neither yet; a tenant that may write the claim may also forge or erase them,
// which at most makes us stand down from that claim, or miss a controller that has only begun.
//
// A claim whose host names it by UID was bound by us, and one that goes away is
// only let go of, so neither makes us stand down. Once we stood down we stay so,
// since our own condition takes the list of conditions over from the other one.
func otherController(claim *bmov1alpha1.HostClaim, ownHost bool) string {
	if ownHost || deleting(claim) {
		return ""
	}
	name := foreignManager(claim)
	stood := meta.IsStatusConditionTrue(claim.Status.Conditions, infrav1.StoodDownCondition)
	switch ours := marked(claim); {
	case stood, !ours && worked(claim):
		if name == "" {
			return nameless
		}
		return name
	case ours && claim.Status.BareMetalHost != nil:
		return ""
	default:
		return name
	}
}

// worked reports whether some controller has looked for a host for the claim.
func worked(claim *bmov1alpha1.HostClaim) bool {
	return claim.Status.BareMetalHost != nil ||
		meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.AssociatedCondition) != nil
}

// marked reports whether the status has a condition or reason that no other controller writes.
// The intent of a first bind comes before the condition.
func marked(claim *bmov1alpha1.HostClaim) bool {
	return meta.FindStatusCondition(claim.Status.Conditions, infrav1.HardwareDataPublishedCondition) != nil ||
		binding.ConditionOf(claim.Status.Conditions, bmov1alpha1.AssociatedCondition).Reason == infrav1.BindingReason
}

// foreignManager returns one field manager of the status that is not ours.
// A status that was edited with kubectl shows no controller.
func foreignManager(claim *bmov1alpha1.HostClaim) string {
	for _, entry := range claim.ManagedFields {
		if entry.Subresource == "status" && entry.Manager != infrav1.HostClaimManagerFieldOwner &&
			!strings.HasPrefix(entry.Manager, "kubectl") {
			return entry.Manager
		}
	}
	return ""
}
