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
	"context"
	"fmt"
	"slices"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// availability says whether a kind may be read from the cache.
type availability interface {
	Available(ctx context.Context, object client.Object) (bool, error)
}

// addressClaims reads and writes the claims of a Metal3Data in both address
// management APIs, ip-address-manager's and Cluster API's. It finds claims by their owner,
// never by their name alone, so that those of an earlier Metal3Data of the same name
// are told apart.
type addressClaims struct {
	// client reads from the cache and writes.
	client client.Client
	// live reads addresses: they are read once, so a cache would be a waste, and
	// it could be behind the claim that names them.
	live client.Reader
	// kinds tells which of the two APIs is installed.
	kinds availability
}

// addressClaim is a claim that a Metal3Data holds.
type addressClaim struct {
	// object is the claim itself.
	object client.Object
	// owner is the UID of the Metal3Data; empty for a claim that has lost that reference.
	owner types.UID
	// pool is the pool that it asks.
	pool ippool.Pool
	// network is the network that the address is for; empty for the first address
	// of a pool.
	network string
	// answer is what the pool said.
	answer ippool.Answer
	// askedState is the state that the pool had when the claim was made; empty if
	// it was not recorded.
	askedState string
}

// of reports whether the claim belongs to the Metal3Data of that UID, of those of its name.
func (c addressClaim) of(data types.UID) bool {
	return c.owner == data || c.owner == ""
}

// asksFor says whether the claim asks for an address on behalf of a Metal3Data.
func (c addressClaim) asksFor(data types.UID, ask ippool.Ask) bool {
	return c.owner == data && c.pool == ask.Pool && c.network == ask.Network
}

// released says that nothing is left to be done about a claim: it goes when its pool lets it.
func (c addressClaim) released() bool {
	return !c.object.GetDeletionTimestamp().IsZero() && !controllerutil.ContainsFinalizer(c.object, infrav1.DataFinalizer)
}

// held returns all claims that belong to a Metal3Data of that name, of whatever
// UID.
func (a addressClaims) held(ctx context.Context, data types.NamespacedName) ([]addressClaim, error) {
	var claims []addressClaim
	for _, list := range []func(context.Context, types.NamespacedName) ([]addressClaim, error){a.ipClaims, a.ipAddressClaims} {
		some, err := list(ctx, data)
		if err != nil {
			return nil, err
		}
		claims = append(claims, some...)
	}
	return claims, nil
}

func (a addressClaims) ipClaims(ctx context.Context, data types.NamespacedName) ([]addressClaim, error) {
	if ok, err := a.kinds.Available(ctx, &ipamv1alpha1.IPClaim{}); err != nil || !ok {
		return nil, err
	}
	var list ipamv1alpha1.IPClaimList
	if err := a.list(ctx, data, &list); err != nil {
		return nil, err
	}
	claims := make([]addressClaim, 0, len(list.Items))
	for i := range list.Items {
		item := &list.Items[i]
		claims = append(claims, addressClaim{
			object: item, owner: ownerUID(item), pool: ippool.PoolOf(item), answer: ippool.FromIPClaim(item),
			network: item.Annotations[infrav1.ClaimNetworkAnnotation], askedState: item.Annotations[infrav1.PoolStateAnnotation],
		})
	}
	return claims, nil
}

func (a addressClaims) ipAddressClaims(ctx context.Context, data types.NamespacedName) ([]addressClaim, error) {
	if ok, err := a.kinds.Available(ctx, &capipamv1.IPAddressClaim{}); err != nil || !ok {
		return nil, err
	}
	var list capipamv1.IPAddressClaimList
	if err := a.list(ctx, data, &list); err != nil {
		return nil, err
	}
	claims := make([]addressClaim, 0, len(list.Items))
	for i := range list.Items {
		item := &list.Items[i]
		claims = append(claims, addressClaim{
			object: item, owner: ownerUID(item), pool: ippool.PoolOf(item), answer: ippool.FromIPAddressClaim(item),
			network: item.Annotations[infrav1.ClaimNetworkAnnotation],
		})
	}
	return claims, nil
}

func (a addressClaims) list(ctx context.Context, data types.NamespacedName, into client.ObjectList) error {
	if err := a.client.List(ctx, into, client.InNamespace(data.Namespace), client.MatchingFields{byOwner: data.Name}); err != nil {
		return fmt.Errorf("list %T: %w", into, err)
	}
	return nil
}

// observe gathers what is known of one address, given the claims that are held.
func (a addressClaims) observe(ctx context.Context, request ippool.Request, ask ippool.Ask, held []addressClaim) (ippool.Observed, error) {
	observed := ippool.Observed{Ask: ask, Namespace: request.Data.Namespace, ClaimName: request.ClaimName(ask)}
	kind := claimObject(ask.Pool)
	available, err := a.kinds.Available(ctx, kind)
	if err != nil || !available {
		observed.APIMissing = err == nil
		return observed, err
	}
	at := slices.IndexFunc(held, func(c addressClaim) bool { return c.asksFor(request.Data.UID, ask) })
	if at >= 0 {
		held[at].describe(&observed)
	} else if exists, err := a.exists(ctx, kind, request.Data.Namespace, observed.ClaimName); err != nil {
		return observed, err
	} else if exists {
		observed.Claim = ippool.ClaimForeign
	}
	if ask.Metal3() && observed.Answer.AddressName == "" {
		pool, found, err := a.pool(ctx, request.Data.Namespace, ask.Pool)
		observed.PoolMissing = err == nil && !found
		if found && observed.Answer.Problem != "" {
			observed.PoolState = ippool.State(pool)
		}
		return observed, err
	}
	return observed, err
}

// describe puts what is known of the claim into the observation of its pool.
func (c addressClaim) describe(observed *ippool.Observed) {
	observed.Claim, observed.ClaimName = ippool.ClaimHeld, c.object.GetName()
	observed.Answer, observed.AskedState = c.answer, c.askedState
	if !c.object.GetDeletionTimestamp().IsZero() {
		observed.Claim = ippool.ClaimDying
	}
}

// poolState returns the state of a pool of ip-address-manager; empty if there is
// no such pool.
func (a addressClaims) poolState(ctx context.Context, namespace string, of ippool.Pool) (string, error) {
	pool, found, err := a.pool(ctx, namespace, of)
	if err != nil || !found {
		return "", err
	}
	return ippool.State(pool), nil
}

// pool reads a pool of ip-address-manager, which is not to be changed: it is as large as the
// number of its addresses.
func (a addressClaims) pool(ctx context.Context, namespace string, of ippool.Pool) (pool *ipamv1alpha1.IPPool, found bool, err error) {
	pool = &ipamv1alpha1.IPPool{}
	if found, err = a.kinds.Available(ctx, pool); err != nil || !found {
		return nil, false, err
	}
	found, err = a.exists(ctx, pool, namespace, of.Name, client.UnsafeDisableDeepCopy)
	return pool, found, err
}

func (a addressClaims) exists(
	ctx context.Context, into client.Object, namespace, name string, options ...client.GetOption,
) (bool, error) {
	err := a.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, into, options...)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %T %s: %w", into, name, err)
	}
	return err == nil, nil
}

// create makes the claim for an address. A claim is never written again, so that it
// keeps the state of the pool at that time; one that exists already is on
// its way to the cache.
func (a addressClaims) create(ctx context.Context, request ippool.Request, ask ippool.Ask) error {
	var desired client.Object = request.IPAddressClaim(ask)
	if ask.Metal3() {
		state, err := a.poolState(ctx, request.Data.Namespace, ask.Pool)
		if err != nil {
			return err
		}
		desired = request.IPClaim(ask, state)
	}
	err := a.client.Create(ctx, desired, client.FieldOwner(infrav1.DataFieldOwner))
	if apierrors.IsAlreadyExists(err) {
		err = progress.ErrStale
	}
	if err != nil {
		return fmt.Errorf("create claim %s: %w", desired.GetName(), err)
	}
	return nil
}

// address reads the address that a claim on the pool was answered with.
func (a addressClaims) address(ctx context.Context, pool ippool.Pool, namespace, name string) (facts.Address, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if pool.Metal3() {
		var address ipamv1alpha1.IPAddress
		if err := a.live.Get(ctx, key, &address); err != nil {
			return facts.Address{}, fmt.Errorf("read IPAddress %s: %w", name, err)
		}
		return ippool.FromMetal3Address(&address), nil
	}
	var address capipamv1.IPAddress
	if err := a.live.Get(ctx, key, &address); err != nil {
		return facts.Address{}, fmt.Errorf("read IPAddress %s: %w", name, err)
	}
	return ippool.FromCAPIAddress(&address), nil
}

// release stops holding an address and deletes its claim, in this order: the deletion makes
// the claim at hand an old one.
func (a addressClaims) release(ctx context.Context, claim addressClaim) error {
	if err := a.dropFinalizer(ctx, claim, claim.object); err != nil {
		return err
	}
	return a.delete(ctx, claim, client.Preconditions{UID: ptr.To(claim.object.GetUID())})
}

// retract is release for a claim that got no address. Should it have got one
// after all, the API server refuses to delete it, and the next pass sees that.
func (a addressClaims) retract(ctx context.Context, claim addressClaim) error {
	err := a.delete(ctx, claim, client.Preconditions{
		UID: ptr.To(claim.object.GetUID()), ResourceVersion: ptr.To(claim.object.GetResourceVersion()),
	})
	if err != nil {
		return err
	}
	return a.dropFinalizer(ctx, claim, nil)
}

func (a addressClaims) delete(ctx context.Context, claim addressClaim, as client.Preconditions) error {
	if !claim.object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := a.client.Delete(ctx, claim.object, as); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete claim %s: %w", claim.object.GetName(), err)
	}
	return nil
}

// dropFinalizer gives the address back. The pool's provider writes the same list: hence the
// lock on what is known of the claim, and a live read where nothing is, or it has changed.
func (a addressClaims) dropFinalizer(ctx context.Context, claim addressClaim, known client.Object) error {
	if !controllerutil.ContainsFinalizer(claim.object, infrav1.DataFinalizer) {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		before := known
		if before == nil {
			before = anew(claim.object)
			if err := a.live.Get(ctx, client.ObjectKeyFromObject(claim.object), before); err != nil {
				return err
			}
		}
		known = nil
		after, ok := before.DeepCopyObject().(client.Object)
		if !ok || before.GetUID() != claim.object.GetUID() || !controllerutil.RemoveFinalizer(after, infrav1.DataFinalizer) {
			return nil
		}
		return a.client.Patch(ctx, after, apply.Locked(before))
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("release claim %s: %w", claim.object.GetName(), err)
	}
	return nil
}

func claimObject(pool ippool.Pool) client.Object {
	if pool.Metal3() {
		return &ipamv1alpha1.IPClaim{}
	}
	return &capipamv1.IPAddressClaim{}
}

// anew is an empty claim of the kind of another one, which need not be that of its pool: anybody
// may write a claim.
func anew(claim client.Object) client.Object {
	if _, metal3 := claim.(*ipamv1alpha1.IPClaim); metal3 {
		return &ipamv1alpha1.IPClaim{}
	}
	return &capipamv1.IPAddressClaim{}
}

func ownerUID(object client.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return owner.UID
	}
	return ""
}
