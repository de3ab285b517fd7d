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

package hostclaims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

var errNameTaken = errors.New("the name of the HostClaim is taken")

// Client reads and writes the claim of one machine, where that is, and what lies next to it.
type Client struct {
	clients Clients
	machine *infrav1.Metal3Machine
	// before is the machine as it was read; it gets the record, too. Nil where none is written.
	before *infrav1.Metal3Machine
	// namespace is that of the claim.
	namespace string
	// client reads from the cache of the claim's cluster, and writes to it. live reads past that cache.
	client client.Client
	live   client.Reader
	// record identifies a claim in another cluster; nil in the machine's own namespace. It is on the machine
	// if recorded is set, else it will be.
	record   *identity.Record
	recorded bool
}

// Kept reports whether the claim was made in the namespace of the machine and handed over to its identityRef.
func (c *Client) Kept() bool { return c.record != nil && c.record.Claim != "" }

// Find returns the claim of the machine, nil if there is none, and whether a copy of the machine in another
// management cluster has taken it over. If the cache shows no claim, it reads past the cache before the
// machine is let go, or reported as having lost its claim in another cluster: machine and claim are in
// separate caches, and a claim that has lost its label is in none.
func (c *Client) Find(ctx context.Context) (held *bmov1alpha1.HostClaim, takenOver bool, err error) {
	held, _, err = c.find(ctx)
	if err != nil || held != nil || (c.machine.DeletionTimestamp.IsZero() && !c.recorded) {
		return held, false, err
	}
	held, rival, err := c.findLive(ctx)
	return held, rival && held == nil, err
}

// Seen returns the claim that the cache shows; nil if it shows none.
func (c *Client) Seen(ctx context.Context) (*bmov1alpha1.HostClaim, error) {
	held, _, err := c.find(ctx)
	return held, err
}

// ConfirmUnclaimed fails with a conflict if the machine has adopted a claim that the cache does not show as
// its own yet: it would take a second one. In another cluster Find has looked.
func (c *Client) ConfirmUnclaimed(ctx context.Context) error {
	if c.record != nil {
		return nil
	}
	held, err := c.ofCluster(ctx)
	if err == nil && held != nil {
		err = patch.Conflict("the machine has HostClaim %s by now", held.Name)
	}
	return err
}

// InTheWay returns the claim of something else that has the name which a new one would get; nil if there is none.
func (c *Client) InTheWay(ctx context.Context) (*bmov1alpha1.HostClaim, error) {
	claim, err := c.get(ctx, c.client, claims.NameFor(c.machine.Name, c.Remote()))
	if claim != nil && c.standing(claim) != identity.Foreign {
		claim = nil
	}
	return claim, err
}

// Host returns what is published of the host behind the claim, and whether anything is. A HardwareData that
// the claim points at but does not own, or of another namespace, is none: another tenant may have written it.
func (c *Client) Host(ctx context.Context, claim *bmov1alpha1.HostClaim) (hardware.Host, bool, error) {
	key, published := factsOf(claim)
	if !published {
		return hardware.Host{}, false, nil
	}
	var data bmov1alpha1.HardwareData
	err := c.client.Get(ctx, key, &data)
	if client.IgnoreNotFound(err) != nil {
		return hardware.Host{}, false, fmt.Errorf("read HardwareData %s: %w", key, err)
	}
	if found := err == nil && claims.OwnedBy(&data, claim.UID); !found {
		return hardware.Host{}, false, nil
	}
	return hardware.FromHardwareData(&data), true, nil
}

// factsOf names the HardwareData that the claim points at, if it does.
func factsOf(claim *bmov1alpha1.HostClaim) (types.NamespacedName, bool) {
	ref := claim.Status.HardwareData
	if ref == nil || ref.Name == "" || ref.Namespace != claim.Namespace || !claims.Read(claim).HasHost() {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, true
}

// Apply makes the claim as it is wanted, or brings the current one in line with that, and returns its name.
func (c *Client) Apply(ctx context.Context, wanted claims.Wanted, current *bmov1alpha1.HostClaim) (*infrav1.Metal3ObjectRef, error) {
	if err := c.prepare(ctx, current); err != nil {
		return nil, err
	}
	desired := claims.Desired(wanted)
	name, message := &infrav1.Metal3ObjectRef{Namespace: desired.Namespace, Name: desired.Name}, "Updating HostClaim"
	if current == nil {
		desired.ResourceVersion, message = patch.OnlyNew, "Creating HostClaim"
	} else {
		claims.KeepChoice(desired, current)
		if claims.UpToDate(current, desired) {
			return name, nil
		}
		// With these, a deleted claim is not made anew with the progress of the old one, and image,
		// secrets and power that the cache does not show yet are not taken back.
		desired.UID, desired.ResourceVersion = current.UID, current.ResourceVersion
	}
	ctrl.LoggerFrom(ctx).Info(message, "HostClaim", klog.KObj(desired))
	err := patch.Apply(ctx, c.client, desired, infrav1.MachineFieldOwner)
	if current == nil && c.record != nil && apierrors.IsConflict(err) {
		return nil, c.explainTaken(ctx, desired.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("apply HostClaim %s: %w", desired.Name, err)
	}
	return name, nil
}

// explainTaken returns the error for a claim in another cluster that has the wanted name and another
// origin. No event reports such a claim, so the pass fails and is repeated with a growing delay.
func (c *Client) explainTaken(ctx context.Context, name string, conflict error) error {
	claim, err := c.get(ctx, c.live, name)
	if err != nil || claim == nil || c.standing(claim) != identity.Foreign {
		return errors.Join(err, conflict)
	}
	return &Failure{Err: errNameTaken, Wait: conditions.Wait{Reason: infrav1.HostClaimNameTakenReason, Message: fmt.Sprintf(
		"HostClaim %q in namespace %q of the other cluster belongs to something else: delete it", claim.Name, claim.Namespace)}}
}

// Adopt makes a claim that is reserved for the keeper that of the machine. Only one of two machines that
// adopt the same claim succeeds, since the write is locked.
func (c *Client) Adopt(ctx context.Context, claim *bmov1alpha1.HostClaim, keeper claims.Keeper) error {
	if err := c.prepare(ctx, nil); err != nil {
		return err
	}
	if err := c.ConfirmUnclaimed(ctx); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Adopting a reserved HostClaim", "HostClaim", klog.KObj(claim))
	return c.Patch(ctx, claim, claims.WithCleaning(
		claims.Adopt(claim, claims.OwnerOf(c.machine), keeper, c.Remote()), c.machine.Spec.AutomatedCleaningMode))
}

// Reserve leaves the claim to the next machine of the keeper.
func (c *Client) Reserve(ctx context.Context, claim *bmov1alpha1.HostClaim, keeper claims.Keeper, until time.Time) error {
	ctrl.LoggerFrom(ctx).Info("Reserving HostClaim for the next machine", "HostClaim", klog.KObj(claim),
		keeper.Reference.Kind, klog.KRef(c.machine.Namespace, keeper.Reference.Name))
	reserved := claims.Reserve(claim, claims.OwnerOf(c.machine), keeper, until, c.record != nil)
	err := c.Patch(ctx, claim, claims.WithCleaning(reserved, c.machine.Spec.AutomatedCleaningMode))
	if err != nil || c.record == nil {
		return err
	}
	return c.dropCopies(ctx, claim)
}

// Delete deletes the claim as it was read: it may be another machine's by now, which has adopted it under
// the same UID. The hostclaim manager takes it from there.
func (c *Client) Delete(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	ctrl.LoggerFrom(ctx).Info("Deleting HostClaim", "HostClaim", klog.KObj(claim))
	err := c.client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete HostClaim %s: %w", claim.Name, err)
	}
	return nil
}

// Patch changes the claim, unless it has changed since it was read. One that has gone is a conflict.
func (c *Client) Patch(ctx context.Context, before, after *bmov1alpha1.HostClaim) error {
	switch err := c.client.Patch(ctx, after, patch.Locked(before)); {
	case apierrors.IsNotFound(err):
		return patch.Conflict("HostClaim %s has gone", before.Name)
	case err != nil:
		return fmt.Errorf("patch HostClaim %s: %w", before.Name, err)
	default:
		return nil
	}
}

// Confirm fails with a conflict if the claim is another version by now than the one that was read.
func (c *Client) Confirm(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	live, err := c.get(ctx, c.live, claim.Name)
	if err == nil && (live == nil || live.ResourceVersion != claim.ResourceVersion) {
		err = patch.Conflict("HostClaim %s has changed since the cache showed it", claim.Name)
	}
	return err
}

// Repause pauses a claim in the machine's own namespace for the hostclaim manager, or ends the pause that it has put.
// It writes a locked merge patch and does not apply: after a move the annotation belongs to another field
// manager, and must still go.
func (c *Client) Repause(ctx context.Context, claim *bmov1alpha1.HostClaim, paused bool) error {
	before := claim.DeepCopy()
	if claim == nil || c.record != nil || !claims.Repause(claim, paused) {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Changing the pause annotation of the HostClaim", "HostClaim", klog.KObj(claim), "paused", paused)
	return c.Patch(ctx, before, claim)
}

// ReservedFor returns the claims that are reserved for a control plane or MachineDeployment. In
// another cluster the UID of the keeper is the origin of such claims, and a machine without a claim listens
// to them.
func (c *Client) ReservedFor(ctx context.Context, keeper types.UID, listen bool) ([]bmov1alpha1.HostClaim, error) {
	if listen {
		c.listen(string(keeper))
	}
	index := keeperIndex
	if c.record != nil {
		index = remote.OriginIndex
	}
	var list bmov1alpha1.HostClaimList
	if err := c.client.List(ctx, &list, client.InNamespace(c.namespace), client.MatchingFields{index: string(keeper)}); err != nil {
		return nil, fmt.Errorf("list HostClaims reserved for %s: %w", keeper, err)
	}
	return slices.DeleteFunc(list.Items, func(claim bmov1alpha1.HostClaim) bool { return !reservation.Holds(&claim) }), nil
}

// LeftBy returns the claim that the machine has reserved and that no other one has adopted; nil if there is
// none. It is the one that the status of the machine names.
func (c *Client) LeftBy(ctx context.Context) (*bmov1alpha1.HostClaim, error) {
	ref := c.machine.Status.HostClaim
	if ref == nil || ref.Namespace != c.namespace {
		return nil, nil //nolint:nilnil // there is none
	}
	claim, err := c.get(ctx, c.client, ref.Name)
	if claim != nil && c.record != nil { // what came before the machine listens is read again
		c.listen(claim.Labels[infrav1.OriginKey])
		claim, err = c.get(ctx, c.client, ref.Name)
	}
	if claim != nil && !leftBy(claim, c.machine) {
		claim = nil
	}
	return claim, err
}

func leftBy(claim *bmov1alpha1.HostClaim, machine *infrav1.Metal3Machine) bool {
	_, by := claims.ReservedBy(claim)
	return by == machine.UID
}

// get reads a claim; nil if there is none of the name.
func (c *Client) get(ctx context.Context, reader client.Reader, name string) (*bmov1alpha1.HostClaim, error) {
	claim, key := &bmov1alpha1.HostClaim{}, client.ObjectKey{Namespace: c.namespace, Name: name}
	if err := reader.Get(ctx, key, claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // there is none
		}
		return nil, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	return claim, nil
}
