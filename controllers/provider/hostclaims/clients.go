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

// Package hostclaims reads and writes the HostClaims of Metal3Machines, in the namespace of the
// machine or in the cluster that its identityRef leads to. No other package knows how a claim is
// found in either. What a claim should be is decided by the caller.
//
// The record of the identity is two annotations of the machine. They are written, in a locked write
// of their own, before the first write to another cluster, and locate the claim from then on.
package hostclaims

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// Kinds are HostClaim and HardwareData in the manager's own cluster, which needs them only for
// machines whose hosts are there too.
type Kinds interface {
	// Available reports whether both can be read from the cache.
	Available(ctx context.Context) (bool, error)
	// Started reports the same without a look at the API server.
	Started() bool
}

// Connections are the connections to other clusters.
type Connections interface {
	// Site is the connection of a user, or why there is none. It never waits.
	Site(user remote.User, ref identity.Ref) (remote.Site, *identity.Problem)
	// Bind has the user woken by claims of this origin.
	Bind(user remote.User, origin string)
	// Release gives the connection of a user up.
	Release(user remote.User)
	// Source wakes a controller for users of a kind.
	Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source
}

// Clients makes the Client of each machine.
type Clients struct {
	// Client reads from the cache of the manager's own cluster, with the indexes of SetupIndexes, and writes.
	Client client.Client
	// Live reads past that cache.
	Live client.Reader
	// Local checks whether that cluster serves claims.
	Local Kinds
	// Remote are the connections to other clusters.
	Remote Connections
}

// Machine is a Metal3Machine in a pass of its own controller.
type Machine struct {
	// Now is the machine as the pass leaves it, and Before as it was read. Both get the record of the
	// identity when that is written.
	Now, Before *infrav1.Metal3Machine
	// Infra is the Metal3Cluster; nil if there is none.
	Infra *infrav1.Metal3Cluster
}

// Failure is an error with the condition that reports it.
type Failure struct { //nolint:errname // as identity.Problem
	conditions.Wait

	// Err is what went wrong.
	Err error
}

// Error is that of the cause.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// For returns the Client of a machine, for the controller of machines: the record decides where the claim
// is, else the identityRefs of machine and Metal3Cluster do. The client is nil if that cluster cannot be
// used now. The wait is for the condition IdentityReady: why there is no client, or a note on the one that
// there is. Without a reason, no identityRef is in effect; a client that is nil then means that the cluster
// of the machine serves no claims.
func (c Clients) For(ctx context.Context, m Machine) (*Client, conditions.Wait, error) {
	record, found, problem := identity.Read(claims.OwnerOf(m.Now), m.Now.Annotations)
	switch {
	case problem != nil:
		return nil, conditions.Wait(*problem), nil //nolint:nilerr // A condition shows it.
	case found:
		return c.connect(ctx, m, record.Ref(m.Now.Namespace), &record)
	}
	served, err := c.Local.Available(ctx)
	if err != nil {
		return nil, conditions.Wait{}, fmt.Errorf("find out whether this cluster serves HostClaims: %w", err)
	}
	own := c.own(m.Now)
	settled, err := own.settled(ctx, served)
	if err != nil {
		return nil, conditions.Wait{}, err
	}
	asked := m.asked()
	if asked != nil && !settled {
		return c.connect(ctx, m, identity.Of(m.Now.Namespace, asked), nil)
	}
	c.Remote.Release(userOf(m.Now))
	switch {
	case !served:
		return nil, conditions.Wait{}, nil
	case asked != nil && m.Now.DeletionTimestamp.IsZero():
		return own, conditions.Wait{Reason: infrav1.IdentityNotUsedReason, Message: fmt.Sprintf("This machine keeps its HostClaim and its "+
			"server in this cluster; the identityRef to Secret %q counts for new machines only", asked.Name)}, nil
	default:
		return own, conditions.Wait{}, nil
	}
}

// asked is the identityRef as it is now: that of the machine, else that of its Metal3Cluster.
func (m Machine) asked() *infrav1.IdentityReference {
	if m.Now.Spec.IdentityRef == nil && m.Infra != nil {
		return m.Infra.Spec.IdentityRef
	}
	return m.Now.Spec.IdentityRef
}

// settled reports whether a machine without a record has its claim, or its server, in this cluster. One that
// is being deleted gets no claim in another one.
func (c *Client) settled(ctx context.Context, served bool) (bool, error) {
	m := c.machine
	switch {
	case m.Spec.ProviderID != "", ptr.Deref(m.Status.Initialization.Provisioned, false), !m.DeletionTimestamp.IsZero():
		return true, nil
	case !served:
		return false, nil
	}
	claim, _, err := c.find(ctx)
	return claim != nil, err
}

// connect returns the client for claims of another cluster. The record is nil before the first write there.
func (c Clients) connect(ctx context.Context, m Machine, ref identity.Ref, record *identity.Record) (*Client, conditions.Wait, error) {
	site, problem := c.Remote.Site(userOf(m.Now), ref)
	if problem != nil {
		return nil, conditions.Wait(*problem), nil //nolint:nilerr // A condition shows it.
	}
	if record == nil {
		fresh := identity.NewRecord(claims.OwnerOf(m.Now), ref, site.Target, string(uuid.NewUUID()))
		return c.remote(m, site, fresh, false), conditions.Wait{Reason: infrav1.IdentityConnectedReason}, nil
	}
	followed, problem := record.Follow(site.Target, m.Now.Annotations[infrav1.ConfirmIdentityMoveAnnotation])
	if problem != nil {
		return nil, conditions.Wait(*problem), nil //nolint:nilerr // A condition shows it.
	}
	there := c.remote(m, site, followed, true)
	if followed != *record {
		if err := there.writeRecord(ctx, followed); err != nil {
			return nil, conditions.Wait{Reason: infrav1.IdentityConnectingReason, Message: "The machine cannot be written"}, err
		}
	}
	there.listen(record.Origin)
	return there, conditions.Wait{Reason: infrav1.IdentityConnectedReason, Message: record.Note(m.asked())}, nil
}

// Release gives up what is kept for a machine that is gone.
func (c Clients) Release(machine client.ObjectKey) {
	c.Remote.Release(remote.User{Kind: claims.MachineKind, NamespacedName: machine})
}

// Pause returns the claim of a machine that is paused, nil if there is none, and keeps the hostclaim manager
// off it if the Cluster is paused, so that a move finds claim and host as they are. A claim in another cluster
// is not moved: for one that has such a claim, no connection is opened.
func (c Clients) Pause(ctx context.Context, machine *infrav1.Metal3Machine, clusterPaused bool) (*bmov1alpha1.HostClaim, error) {
	_, recorded, problem := identity.Read(claims.OwnerOf(machine), machine.Annotations)
	if recorded || problem != nil {
		return nil, nil //nolint:nilnil,nilerr // none of this cluster
	}
	c.Release(client.ObjectKeyFromObject(machine))
	if served, err := c.Local.Available(ctx); err != nil || !served {
		return nil, err
	}
	own := c.own(machine)
	claim, err := own.Seen(ctx)
	if err != nil || !clusterPaused {
		return claim, err
	}
	return claim, own.Repause(ctx, claim, true)
}

// Of returns the Client of a machine, for controllers of other objects, and whether the claim can be read
// now. Where it cannot, the machine reports why, and its connection wakes the controllers that watch it.
// Of writes no record.
func (c Clients) Of(ctx context.Context, machine *infrav1.Metal3Machine) (*Client, bool, error) {
	record, recorded, problem := identity.Read(claims.OwnerOf(machine), machine.Annotations)
	switch {
	case problem != nil:
		return nil, false, nil //nolint:nilerr // the machine reports it
	case !recorded:
		served, err := c.Local.Available(ctx)
		return c.own(machine), served, err
	}
	if owned, err := c.owned(ctx, machine); err != nil || !owned {
		return nil, false, err
	}
	user := userOf(machine)
	site, unusable := c.Remote.Site(user, record.Ref(machine.Namespace))
	if err := c.releaseGone(ctx, machine, user); err != nil || unusable != nil {
		return nil, false, err
	}
	_, moved := record.Follow(site.Target, machine.Annotations[infrav1.ConfirmIdentityMoveAnnotation])
	return c.remote(Machine{Now: machine}, site, record, true), moved == nil, nil
}

// Host returns what is published of the host behind the claim of a machine, and whether anything is.
func (c Clients) Host(ctx context.Context, machine *infrav1.Metal3Machine) (hardware.Host, bool, error) {
	at, readable, err := c.Of(ctx, machine)
	if err != nil || !readable {
		return hardware.Host{}, false, err
	}
	claim, _, err := at.find(ctx)
	if err != nil || claim == nil {
		return hardware.Host{}, false, err
	}
	return at.Host(ctx, claim)
}

// owned reports whether a machine has a Machine and a Cluster, or is being deleted. The record alone opens no
// connection: its author need not be the controller of machines, which gives up the connection of a machine
// without them.
func (c Clients) owned(ctx context.Context, machine *infrav1.Metal3Machine) (bool, error) {
	if !machine.DeletionTimestamp.IsZero() {
		return true, nil
	}
	owner, err := util.GetOwnerMachine(ctx, c.Client, machine.ObjectMeta)
	if err != nil || owner == nil {
		return false, client.IgnoreNotFound(err)
	}
	err = c.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: owner.Spec.ClusterName}, &clusterv1.Cluster{})
	return err == nil, client.IgnoreNotFound(err)
}

// releaseGone gives the connection up again if the machine is gone. The controller of machines does so when
// it sees the deletion, which may be before this pass asked for the connection.
func (c Clients) releaseGone(ctx context.Context, machine *infrav1.Metal3Machine, user remote.User) error {
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(machine), &infrav1.Metal3Machine{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	c.Remote.Release(user)
	return nil
}

// userOf is the machine as a user of connections.
func userOf(machine *infrav1.Metal3Machine) remote.User {
	return remote.User{Kind: claims.MachineKind, NamespacedName: client.ObjectKeyFromObject(machine)}
}
