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

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// Remote are the connections to the clusters that hold the hosts of machines with
// an identityRef.
type Remote interface {
	// Site is the connection of a user, or an *identity.Problem. It never waits.
	Site(ctx context.Context, user remote.User, ref identity.Ref) (remote.Site, error)
	// Bind tells which origin the claim of a user carries.
	Bind(user remote.User, origin string)
	// Release gives the connection of a user up.
	Release(user remote.User)
	// Source wakes a controller for users of a kind.
	Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source
}

// LocalKinds are HostClaim and HardwareData in the manager's own cluster, which
// needs them only for machines whose hosts are there too.
type LocalKinds interface {
	// Available says whether both can be read.
	Available(ctx context.Context) (bool, error)
	// Started says the same from memory.
	Started() bool
}

// connector finds the cluster and namespace of the claim of a machine.
type connector struct {
	client client.Client
	// live reads past the cache.
	live client.Reader
	// claims finds claims of this cluster.
	claims claimreader.Reader
	local  LocalKinds
	remote Remote
	// groups finds the machines that hand their servers on to each other.
	groups groupReader
	// keepFor is how long a claim is reserved.
	keepFor time.Duration
	// now tells the time.
	now func() time.Time
	// written are the claims that were written last, by machine.
	written *retry.Written
}

// connection is what connect has found out about the cluster of a claim.
type connection struct {
	// claim is nil if the claim cannot be reached now, or there can be none.
	claim *claimClient
	// unserved says that this cluster serves no claims, and that the machine has none
	// in another one.
	unserved bool
	// problem keeps the machine from the cluster of its claim; nil if there is none.
	problem *identity.Problem
	// identity is for the condition IdentityReady; nil means that no identityRef is in
	// effect, or that it was not looked at.
	identity *metav1.Condition
}

// connect finds the cluster and namespace of the claim. The record on the machine
// decides; before there is one, the identityRefs do.
func (c connector) connect(ctx context.Context, s *scope) (connection, progress.Outcome) {
	record, found, problem := identity.Read(s.identified(), s.machine.Annotations)
	switch {
	case problem != nil:
		return disconnected(s, *problem)
	case s.paused() && found:
		return connection{}, progress.Outcome{} // nothing is written to the other cluster meanwhile
	case found && !s.deleted() && s.ownerless():
		// The record alone opens no connection: its author need not be this controller.
		c.remote.Release(claimreader.UserOf(s.machine))
		return connection{}, progress.Outcome{}
	case found:
		return c.connectRemote(ctx, s, &record, record.Ref(s.machine.Namespace))
	case s.paused(), s.deleted(), s.ownerless():
		return c.connectLocal(ctx, s)
	default:
		return c.connectUnrecorded(ctx, s)
	}
}

// connectUnrecorded is for a machine without a record, whose identityRefs decide.
func (c connector) connectUnrecorded(ctx context.Context, s *scope) (connection, progress.Outcome) {
	hasLocalClaim, err := c.hasLocalClaim(ctx, s)
	if err != nil {
		return connection{}, failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"The HostClaim of the machine cannot be read", err)
	}
	answer := identity.Resolve(s.machine.Namespace, nil, s.identityRefs(hasLocalClaim))
	if !answer.Remote {
		if requested, _ := s.keepsClaim(); requested && answer.Note != "" {
			return c.keepHere(ctx, s, answer.Ref)
		}
		local, out := c.connectLocal(ctx, s)
		if answer.Note != "" {
			local.identity = &metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.IdentityNotUsedReason, Message: answer.Note}
		}
		return local, out
	}
	return c.connectRemote(ctx, s, nil, answer.Ref)
}

// connectLocal is for claims of the machine's own namespace, and for machines that
// have none.
func (c connector) connectLocal(ctx context.Context, s *scope) (connection, progress.Outcome) {
	c.remote.Release(claimreader.UserOf(s.machine))
	return c.own(ctx, s)
}

// own is the claim of the machine's own namespace.
func (c connector) own(ctx context.Context, s *scope) (connection, progress.Outcome) {
	served, err := c.local.Available(ctx)
	if err != nil {
		return connection{}, failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"It cannot be found out whether this cluster serves HostClaims", err)
	}
	if !served {
		return connection{unserved: true}, unserved(s)
	}
	return connection{claim: &claimClient{connector: c, site: c.claims.Own(s.machine), writer: c.client, reader: c.live}}, progress.Outcome{}
}

// unserved says that this cluster has no claims at all. A machine that waits for
// something else, or is being deleted, does not say so.
func unserved(s *scope) progress.Outcome {
	if s.paused() || s.deleted() || s.ownerless() {
		return progress.Outcome{}
	}
	return waiting(infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimAPIMissingReason,
		"This cluster does not serve HostClaims and HardwareData: name the cluster that holds the hosts by identityRef, "+
			"or install the hostclaim manager and baremetal-operator here")
}

// hasLocalClaim says that the machine has its claim, or its server, in this cluster, and
// keeps it whatever identityRef says.
func (c connector) hasLocalClaim(ctx context.Context, s *scope) (bool, error) {
	if s.machine.Spec.ProviderID != "" || provisioned(s.machine) {
		return true, nil
	}
	if served, err := c.local.Available(ctx); err != nil || !served {
		return false, err
	}
	_, found, err := c.claims.Own(s.machine).ClaimOf(ctx, s.machine)
	return found, err
}

// identityRefs are those of the machine and its Metal3Cluster as they are now.
func (s *scope) identityRefs(hasLocalClaim bool) identity.Requested {
	w := identity.Requested{Machine: s.machine.Spec.IdentityRef, HasLocalClaim: hasLocalClaim}
	if s.infra != nil {
		w.Cluster = s.infra.Spec.IdentityRef
	}
	return w
}

// connectRemote is for claims of another cluster. The record is nil before the
// first write to that cluster.
func (c connector) connectRemote(ctx context.Context, s *scope, record *identity.Record, ref identity.Ref) (connection, progress.Outcome) {
	user := claimreader.UserOf(s.machine)
	site, err := c.remote.Site(ctx, user, ref)
	var problem *identity.Problem
	switch {
	case errors.As(err, &problem):
		return disconnected(s, *problem)
	case err != nil:
		return connection{}, unusable(ref, err)
	}
	if record == nil {
		fresh := identity.NewRecord(s.identified(), ref, site.Target, string(uuid.NewUUID()))
		return connected(c.remoteClaim(site, &fresh), ""), progress.Outcome{}
	}
	followed, problem := record.Follow(site.Target, s.machine.Annotations[infrav1.ConfirmIdentityMoveAnnotation])
	if problem != nil {
		return disconnected(s, *problem)
	}
	claim := c.remoteClaim(site, &followed)
	claim.recorded = true
	if followed != *record {
		if err := claim.writeRecord(ctx, s, followed); err != nil {
			return connection{}, failed(infrav1.IdentityReadyCondition, infrav1.IdentityConnectingReason, "The machine cannot be written", err)
		}
	}
	c.remote.Bind(user, record.Origin)
	return connected(claim, identity.Resolve(s.machine.Namespace, record, s.identityRefs(false)).Note), progress.Outcome{}
}

// unusable is the outcome for a cluster that cannot be asked now.
func unusable(ref identity.Ref, err error) progress.Outcome {
	return failed(infrav1.IdentityReadyCondition, infrav1.IdentityUnreachableReason,
		fmt.Sprintf("The cluster that Secret %q leads to cannot be used", ref.Secret), err)
}

// remoteClaim reads and writes the claim of another cluster.
func (c connector) remoteClaim(site remote.Site, record *identity.Record) *claimClient {
	sanitizing := sanitizingClient{site.Client}
	return &claimClient{
		connector: c,
		site:      claimreader.Site{Client: sanitizing, Namespace: site.Target.Namespace, Record: record},
		writer:    sanitizing,
		reader:    sanitizingReader{site.Live},
	}
}

// connected is a connection that can be used, with a note on the identityRefs.
func connected(claim *claimClient, note string) connection {
	return connection{claim: claim, identity: &metav1.Condition{
		Status: metav1.ConditionTrue, Reason: infrav1.IdentityConnectedReason, Message: note,
	}}
}

// disconnected says why the cluster of the claim cannot be used now. Its
// connection, or a change of the machine, wakes us. While it is being connected
// after a start of the manager, what was known before stands.
func disconnected(s *scope, p identity.Problem) (connection, progress.Outcome) {
	c := connection{problem: &p, identity: &metav1.Condition{Status: metav1.ConditionFalse, Reason: p.Reason, Message: p.Message}}
	if known := conditions.Get(s.machine, infrav1.IdentityReadyCondition); known != nil && p.Reason == infrav1.IdentityConnectingReason {
		c.identity = known.DeepCopy()
	}
	return c, progress.Waiting(p.Reason, p.Message)
}
