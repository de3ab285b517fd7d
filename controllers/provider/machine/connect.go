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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
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
	// Started says the same without asking anybody.
	Started() bool
}

// site is where the claim of a machine is read and written: its own namespace, or
// one of another cluster.
type site struct {
	// claims finds the claim; its Record is nil in the machine's own namespace.
	claims claimreader.Site
	// client reads from the cache of that cluster, and writes to it.
	client client.Client
	// live reads past the cache.
	live client.Reader
	// recorded says that the record stands on the machine. One that does not is
	// what will be written before the first write to the other cluster.
	recorded bool
}

// elsewhere says that the site is another cluster.
func (s *site) elsewhere() bool {
	return s.claims.Record != nil
}

// connector finds the cluster and namespace of the claim of a machine, and keeps on
// the machine the record of one in another cluster.
type connector struct {
	client client.Client
	// live reads past the cache.
	live client.Reader
	// claims finds claims of this cluster.
	claims claimreader.Reader
	local  LocalKinds
	remote Remote
}

// connect finds the place of the claim. Without one, the pass says why, and does
// nothing that needs it.
func (c connector) connect(ctx context.Context, s *scope) progress.Outcome {
	record, found, problem := identity.Read(s.identified(), s.machine.Annotations)
	switch {
	case problem != nil:
		return s.disconnected(*problem)
	case s.paused && found:
		return progress.Outcome{} // nothing is written there meanwhile
	case found:
		return c.connectElsewhere(ctx, s, &record, record.Ref(s.machine.Namespace))
	case s.paused, !s.machine.DeletionTimestamp.IsZero(), s.owner == nil, s.cluster == nil:
		return c.connectHere(ctx, s)
	}
	settled, err := c.settled(ctx, s)
	if err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"The HostClaim of the machine cannot be read", err)
	}
	answer := identity.Resolve(s.machine.Namespace, nil, s.wishes(settled))
	if !answer.Remote {
		return c.connectHere(ctx, s)
	}
	return c.connectElsewhere(ctx, s, nil, answer.Ref)
}

// connectHere is for claims of the machine's own namespace, and for machines that
// have none.
func (c connector) connectHere(ctx context.Context, s *scope) progress.Outcome {
	c.remote.Release(claimreader.UserOf(s.machine))
	served, err := c.local.Available(ctx)
	if err != nil {
		return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
			"It cannot be found out whether this cluster serves HostClaims", err)
	}
	if !served {
		return s.unserved()
	}
	s.site = &site{claims: c.claims.Own(s.machine), client: c.client, live: c.live}
	return progress.Outcome{}
}

// unserved says that this cluster has no claims at all. A machine that waits for
// something else, or is let go, need not know.
func (s *scope) unserved() progress.Outcome {
	s.claimless = true
	if s.paused || !s.machine.DeletionTimestamp.IsZero() || s.owner == nil || s.cluster == nil {
		return progress.Outcome{}
	}
	w := machines.Wait{
		Condition: infrav1.AssociateBareMetalHostCondition,
		Reason:    infrav1.HostClaimAPIMissingReason,
		Message: "This cluster does not serve HostClaims and HardwareData: name the cluster that holds the hosts by identityRef, " +
			"or install the hostclaim manager and baremetal-operator here",
	}
	s.problems = append(s.problems, w)
	return progress.Waiting(w.Reason, w.Message)
}

// settled says that the machine has its claim, or its server, in this cluster, and
// keeps it whatever identityRef says.
func (c connector) settled(ctx context.Context, s *scope) (bool, error) {
	if s.machine.Spec.ProviderID != "" || provisioned(s.machine) {
		return true, nil
	}
	if served, err := c.local.Available(ctx); err != nil || !served {
		return false, err
	}
	_, found, err := c.claims.Own(s.machine).ClaimOf(ctx, s.machine)
	return found, err
}

// wishes are the identityRefs as they are now.
func (s *scope) wishes(settled bool) identity.Wishes {
	w := identity.Wishes{Machine: s.machine.Spec.IdentityRef, Settled: settled}
	if s.infra != nil {
		w.Cluster = s.infra.Spec.IdentityRef
	}
	return w
}

// connectElsewhere is for claims of another cluster. The record is nil before the
// first write there.
func (c connector) connectElsewhere(ctx context.Context, s *scope, record *identity.Record, ref identity.Ref) progress.Outcome {
	user := claimreader.UserOf(s.machine)
	there, err := c.remote.Site(ctx, user, ref)
	var problem *identity.Problem
	switch {
	case errors.As(err, &problem):
		return s.disconnected(*problem)
	case err != nil:
		return s.failed(infrav1.IdentityReadyCondition, infrav1.IdentityUnreachableReason,
			fmt.Sprintf("The cluster that Secret %q leads to cannot be used", ref.Secret), err)
	}
	if record == nil {
		fresh := identity.NewRecord(s.identified(), ref, there.Target, string(uuid.NewUUID()))
		s.reach(there, &fresh, false)
		return progress.Outcome{}
	}
	followed, problem := record.Follow(there.Target, s.machine.Annotations[infrav1.ConfirmIdentityMoveAnnotation])
	if problem != nil {
		return s.disconnected(*problem)
	}
	if followed != *record {
		if err := c.writeRecord(ctx, s, followed); err != nil {
			return s.failed(infrav1.IdentityReadyCondition, infrav1.IdentityConnectingReason, "The machine cannot be written", err)
		}
	}
	c.remote.Bind(user, record.Origin)
	s.reach(there, &followed, true)
	s.identity.Message = identity.Resolve(s.machine.Namespace, record, s.wishes(false)).Note
	return progress.Outcome{}
}

// reach notes that the cluster of the claim can be used.
func (s *scope) reach(there remote.Site, record *identity.Record, recorded bool) {
	reader := wary{there.Client}
	s.site = &site{
		claims:   claimreader.Site{Client: reader, Namespace: there.Target.Namespace, Record: record},
		client:   reader,
		live:     waryReader{there.Live},
		recorded: recorded,
	}
	s.observed.Elsewhere = &claims.Elsewhere{Namespace: there.Target.Namespace, Origin: record.Origin}
	s.identity = &metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.IdentityConnectedReason}
}

// disconnected says why the cluster of the claim cannot be used now. Its
// connection, or a change of the machine, wakes us. While it is being connected
// after a start of the manager, what was known before stands.
func (s *scope) disconnected(p identity.Problem) progress.Outcome {
	s.unreachable = &p
	s.identity = &metav1.Condition{Status: metav1.ConditionFalse, Reason: p.Reason, Message: p.Message}
	if known := conditions.Get(s.machine, infrav1.IdentityReadyCondition); known != nil && p.Reason == infrav1.IdentityConnectingReason {
		s.identity = known.DeepCopy()
	}
	return progress.Waiting(p.Reason, p.Message)
}
