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
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// poolStep is the next step for one address.
type poolStep struct {
	ask  ippool.Ask
	step ippool.Step
}

// readClaims reads the claims of the Metal3Data, and gives back what an earlier one of the same
// name left.
func (r *Reconciler) readClaims(ctx context.Context, s *scope) (err error) {
	key := client.ObjectKeyFromObject(s.data)
	if s.claims, err = r.heldClaims(ctx, key); err != nil {
		return err
	}
	return r.releaseForeign(ctx, key, s.data.UID, s.claims)
}

// restoreClaims puts back what claims have lost of their owner, and the finalizer that holds them. One
// that is adopted so is seen with its owner by the next pass.
func (r *Reconciler) restoreClaims(ctx context.Context, s *scope) error {
	var failed error
	for _, claim := range s.claims {
		if !claim.of(s.data.UID) {
			continue
		}
		err := patch.Restore(ctx, r.Client, claim.Object, []metav1.OwnerReference{ownedBy(s.data)}, infrav1.DataFinalizer)
		if err == nil && claim.owner() == "" && claim.GetDeletionTimestamp().IsZero() {
			err = patch.Conflict("claim %s has been adopted", claim.GetName())
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// planAddresses finds out which addresses the template asks for, and decides what
// is next for each.
func (r *Reconciler) planAddresses(ctx context.Context, s *scope) (conditions.Wait, error) {
	asks, err := ippool.Asks(s.template.Spec, s.facts())
	if err != nil {
		return cannotRender(err), nil
	}
	for _, ask := range asks {
		state, err := r.observeAddress(ctx, r.request(s), ask, s.claims)
		if err != nil {
			return conditions.Wait{}, err
		}
		s.steps = append(s.steps, poolStep{ask: ask, step: ippool.Next(state)})
	}
	return conditions.Wait{}, nil
}

// request returns the Metal3Data, and the name after which its claims on pools are called.
func (r *Reconciler) request(s *scope) ippool.Request {
	holder := s.data.Name
	if r.ClaimsByHostName {
		holder = s.host.Name
	}
	return ippool.Request{Data: s.data, Holder: holder}
}

// ration holds back claims for which there is no room among the unanswered ones of the namespace. The
// Metal3Data is woken by an answer, or when one of these claims is too old to count.
func (r *Reconciler) ration(ctx context.Context, s *scope) error {
	room, now := map[bool]int{}, r.Clock.Now() // by the kind of claim
	until := now.Add(ippool.AnswerTime)
	for i, p := range s.steps {
		if !p.step.Apply {
			continue
		}
		kind := p.ask.Metal3()
		if _, counted := room[kind]; !counted {
			claims, err := unanswered(ctx, r.Client, s.data.Namespace, p.ask.Pool, now)
			if err != nil {
				return err
			}
			room[kind] = ippool.Room(len(claims))
			for _, claim := range claims {
				if ends := claim.GetCreationTimestamp().Add(ippool.AnswerTime); ends.Before(until) {
					until = ends
				}
			}
		}
		if room[kind]--; room[kind] < 0 {
			s.steps[i].step, s.again = ippool.Later(p.ask), until
		}
	}
	return nil
}

// askPools carries out the steps, and waits unless every pool has answered. What
// a user has to mend is named before what comes by itself.
func (r *Reconciler) askPools(ctx context.Context, s *scope) (conditions.Wait, error) {
	if err := r.ration(ctx, s); err != nil {
		return conditions.Wait{}, err
	}
	var failed error
	var waits []conditions.Wait
	for _, p := range s.steps {
		if p.step.Apply {
			ctrl.LoggerFrom(ctx).Info("Asking pool for an address", "pool", klog.KRef(s.data.Namespace, p.ask.Name))
			failed = errors.Join(failed, r.createClaim(ctx, r.request(s), p.ask))
		}
		if claim, held := find(s.claims, s.data.UID, p.ask); held && p.step.Release {
			failed = errors.Join(failed, r.retractClaim(ctx, claim))
		}
		if p.step.Reason != "" {
			waits = append(waits, conditions.Wait{Reason: p.step.Reason, Message: p.step.Message})
		}
	}
	order := []string{
		infrav1.PoolAPIMissingReason, infrav1.PoolNotFoundReason, infrav1.AddressUnavailableReason, infrav1.WaitingForAddressesReason,
	}
	slices.SortStableFunc(waits, func(a, b conditions.Wait) int {
		return cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason))
	})
	return join(waits), failed
}

// readAddresses reads what the pools gave.
func (r *Reconciler) readAddresses(ctx context.Context, s *scope) (conditions.Wait, error) {
	s.addresses = map[metadata.AddressRef]metadata.Address{}
	for _, p := range s.steps {
		address, err := r.readAddress(ctx, p.ask.Pool, s.data.Namespace, p.step.Read)
		if err != nil {
			return waiting(infrav1.WaitingForAddressesReason, "The address that %s gave cannot be read", p.ask), err
		}
		s.addresses[p.ask.Ref()] = address
	}
	return conditions.Wait{}, nil
}

// renew gives an address back that the template cannot use, and that no secret shows a server
// yet, once its pool may give a better one.
func (r *Reconciler) renew(ctx context.Context, s *scope, unfit metadata.AddressRef, problem error) (conditions.Wait, error) {
	at := slices.IndexFunc(s.steps, func(p poolStep) bool { return p.ask.Ref() == unfit })
	if at < 0 {
		return cannotRender(problem), nil
	}
	ask := s.steps[at].ask
	claim, held := find(s.claims, s.data.UID, ask)
	state, err := r.observeAddress(ctx, r.request(s), ask, s.claims)
	if err == nil && ask.Metal3() {
		var pool *ipamv1alpha1.IPPool
		pool, err = r.readPool(ctx, s.data.Namespace, ask.Pool)
		state.PoolState = ippool.State(pool)
	}
	if err != nil {
		return conditions.Wait{}, err
	}
	step := ippool.Unfit(state, problem.Error())
	if held && step.Release {
		ctrl.LoggerFrom(ctx).Info("Giving back an address that cannot be used", "claim", klog.KObj(claim))
		err = r.releaseClaim(ctx, claim)
	}
	return conditions.Wait{Reason: step.Reason, Message: step.Message}, err
}

// releaseVanished gives back what a Metal3Data that is gone left.
func (r *Reconciler) releaseVanished(ctx context.Context, key types.NamespacedName) error {
	held, err := r.heldClaims(ctx, key)
	return errors.Join(err, r.releaseForeign(ctx, key, "", held))
}

// releaseForeign gives back those claims that belong to a Metal3Data of that name,
// but not of that UID. Should the API server know a newer one than the cache,
// its claims are left alone, and so are those that have lost their owner: in a restore from a
// backup they may come before it.
func (r *Reconciler) releaseForeign(ctx context.Context, key types.NamespacedName, uid types.UID, held []addressClaim) error {
	var failed error
	for _, claim := range held {
		if claim.of(uid) || claim.released() {
			continue
		}
		var live infrav1.Metal3Data
		if err := r.Live.Get(ctx, key, &live); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Metal3Data %s: %w", key.Name, err)
		}
		if claim.owner() == live.UID {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Giving back an address that was left behind", "claim", klog.KObj(claim))
		failed = errors.Join(failed, r.releaseClaim(ctx, claim))
	}
	return failed
}

// releaseClaims gives back all addresses.
func (r *Reconciler) releaseClaims(ctx context.Context, s *scope) error {
	var failed error
	for _, claim := range s.claims {
		if claim.of(s.data.UID) {
			failed = errors.Join(failed, r.releaseClaim(ctx, claim))
		}
	}
	return failed
}

// availability checks whether the kinds of an address management may be read from the cache.
type availability interface {
	Available(ctx context.Context) (bool, error)
}

func (r *Reconciler) served(ctx context.Context, metal3 bool) (bool, error) {
	if metal3 {
		return r.metal3IPAM.Available(ctx)
	}
	return r.otherIPAM.Available(ctx)
}

// addressClaim is a claim that a Metal3Data holds in one of the two address management APIs: an IPClaim of
// ip-address-manager or an IPAddressClaim of Cluster API. It is found by its owner, never by its name
// alone, which an earlier Metal3Data may have had too.
type addressClaim struct{ client.Object }

// owner is the UID of the Metal3Data; empty for a claim that has lost that reference.
func (c addressClaim) owner() types.UID {
	if owner := metav1.GetControllerOfNoCopy(c); owner != nil {
		return owner.UID
	}
	return ""
}

// of reports whether the claim belongs to the Metal3Data of that UID, of those of its name.
func (c addressClaim) of(data types.UID) bool {
	return c.owner() == data || c.owner() == ""
}

// released reports whether nothing is left to be done about a claim: it goes when its pool lets it.
func (c addressClaim) released() bool {
	return !c.GetDeletionTimestamp().IsZero() && !controllerutil.ContainsFinalizer(c, infrav1.DataFinalizer)
}

// find returns the claim by which a Metal3Data asks for an address.
func find(claims []addressClaim, data types.UID, ask ippool.Ask) (addressClaim, bool) {
	at := slices.IndexFunc(claims, func(c addressClaim) bool {
		return c.owner() == data && ippool.PoolOf(c.Object) == ask.Pool && c.GetAnnotations()[infrav1.ClaimNetworkAnnotation] == ask.Network
	})
	if at < 0 {
		return addressClaim{}, false
	}
	return claims[at], true
}

// heldClaims returns all claims that belong to a Metal3Data of that name, of whatever
// UID.
func (r *Reconciler) heldClaims(ctx context.Context, data types.NamespacedName) ([]addressClaim, error) {
	var claims []addressClaim
	for _, metal3 := range []bool{true, false} {
		_, list := claimKind(metal3)
		available, err := r.served(ctx, metal3)
		if err != nil {
			return nil, err
		}
		if !available {
			continue
		}
		all, err := items(ctx, r.Client, list, by(data.Namespace, byOwner, data.Name)...)
		if err != nil {
			return nil, err
		}
		for _, claim := range all {
			claims = append(claims, addressClaim{claim})
		}
	}
	return claims, nil
}

// items lists objects.
func items(ctx context.Context, reader client.Reader, list client.ObjectList, options ...client.ListOption) ([]client.Object, error) {
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list %T: %w", list, err)
	}
	all := make([]client.Object, 0, meta.LenList(list))
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if object, ok := o.(client.Object); ok {
			all = append(all, object)
		}
		return nil
	})
	return all, err
}

// observeAddress gathers what is known of one address, given the claims that are held.
func (r *Reconciler) observeAddress(ctx context.Context, request ippool.Request, ask ippool.Ask, held []addressClaim) (ippool.Observed, error) {
	observed := ippool.Observed{Ask: ask, Namespace: request.Data.Namespace, ClaimName: request.ClaimName(ask)}
	kind, _ := claimKind(ask.Metal3())
	available, err := r.served(ctx, ask.Metal3())
	if err != nil || !available {
		observed.APIMissing = err == nil
		return observed, err
	}
	if claim, found := find(held, request.Data.UID, ask); found {
		observed.Hold(claim.Object)
	} else if foreign, err := read(ctx, r.Client, kind, client.ObjectKey{Namespace: request.Data.Namespace, Name: observed.ClaimName}); err != nil {
		return observed, err
	} else if foreign {
		observed.Claim = ippool.ClaimForeign
	}
	if ask.Metal3() && observed.Answer.AddressName == "" {
		pool, err := r.readPool(ctx, request.Data.Namespace, ask.Pool)
		observed.PoolMissing = pool.UID == ""
		if observed.Answer.Problem != "" {
			observed.PoolState = ippool.State(pool)
		}
		return observed, err
	}
	return observed, nil
}

// readPool reads a pool of ip-address-manager, which is not to be changed: it is as large as the
// number of its addresses. Without a UID there is none.
func (r *Reconciler) readPool(ctx context.Context, namespace string, of ippool.Pool) (*ipamv1alpha1.IPPool, error) {
	pool := &ipamv1alpha1.IPPool{}
	available, err := r.ipPools.Available(ctx)
	if err == nil && available {
		_, err = read(ctx, r.Client, pool, client.ObjectKey{Namespace: namespace, Name: of.Name}, client.UnsafeDisableDeepCopy)
	}
	return pool, err
}

// read reads an object, and reports whether it exists.
func read(ctx context.Context, reader client.Reader, into client.Object, key client.ObjectKey, options ...client.GetOption) (found bool, err error) {
	err = reader.Get(ctx, key, into, options...)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %T %s: %w", into, key.Name, err)
	}
	return err == nil, nil
}

// createClaim makes the claim for an address. A claim is never written again, so that it
// keeps the state of the pool at that time; one that exists already is on
// its way to the cache.
func (r *Reconciler) createClaim(ctx context.Context, request ippool.Request, ask ippool.Ask) error {
	var desired client.Object = request.IPAddressClaim(ask)
	if ask.Metal3() {
		pool, err := r.readPool(ctx, request.Data.Namespace, ask.Pool)
		if err != nil {
			return err
		}
		desired = request.IPClaim(ask, ippool.State(pool))
	}
	err := r.Client.Create(ctx, desired, client.FieldOwner(infrav1.DataFieldOwner))
	if apierrors.IsAlreadyExists(err) {
		return patch.Conflict("claim %s exists already", desired.GetName())
	}
	if err != nil {
		return fmt.Errorf("create claim %s: %w", desired.GetName(), err)
	}
	return nil
}

// readAddress reads the address that a claim on the pool was answered with.
func (r *Reconciler) readAddress(ctx context.Context, pool ippool.Pool, namespace, name string) (metadata.Address, error) {
	var metal3 ipamv1alpha1.IPAddress
	var other capipamv1.IPAddress
	var err error
	if key := (types.NamespacedName{Namespace: namespace, Name: name}); pool.Metal3() {
		err = r.Live.Get(ctx, key, &metal3)
	} else {
		err = r.Live.Get(ctx, key, &other)
	}
	switch {
	case err != nil:
		return metadata.Address{}, fmt.Errorf("read IPAddress %s: %w", name, err)
	case pool.Metal3():
		return ippool.FromMetal3Address(&metal3), nil
	}
	return ippool.FromCAPIAddress(&other), nil
}

// releaseClaim stops holding an address and deletes its claim, in this order: the deletion makes
// the claim at hand an old one. The pool's provider writes the same list of finalizers: hence the lock.
func (r *Reconciler) releaseClaim(ctx context.Context, claim addressClaim) error {
	after, ok := claim.DeepCopyObject().(client.Object)
	if ok && controllerutil.RemoveFinalizer(after, infrav1.DataFinalizer) {
		if err := r.Client.Patch(ctx, after, patch.Locked(claim.Object)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release claim %s: %w", claim.GetName(), err)
		}
	}
	return r.deleteClaim(ctx, claim, client.Preconditions{UID: ptr.To(claim.GetUID())})
}

// retractClaim is release for a claim that got no address, in the other order. Should it have got one
// after all, the API server refuses each of the two writes, and the next pass sees that.
func (r *Reconciler) retractClaim(ctx context.Context, claim addressClaim) error {
	if !claim.GetDeletionTimestamp().IsZero() {
		return r.releaseClaim(ctx, claim)
	}
	return r.deleteClaim(ctx, claim, client.Preconditions{UID: ptr.To(claim.GetUID()), ResourceVersion: ptr.To(claim.GetResourceVersion())})
}

func (r *Reconciler) deleteClaim(ctx context.Context, claim addressClaim, as client.Preconditions) error {
	if !claim.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := r.Client.Delete(ctx, claim.Object, as); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete claim %s: %w", claim.GetName(), err)
	}
	return nil
}

// claimKind returns an empty claim of one of the two APIs, and an empty list of them.
func claimKind(metal3 bool) (client.Object, client.ObjectList) {
	if metal3 {
		return &ipamv1alpha1.IPClaim{}, &ipamv1alpha1.IPClaimList{}
	}
	return &capipamv1.IPAddressClaim{}, &capipamv1.IPAddressClaimList{}
}
