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
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

const (
	// consumerUIDIndex is the name of the field index on HostClaims by the UID of the Metal3Machine that
	// they name as their consumer, and of the one that controls them, which is another one until a claim
	// that was moved names its consumer anew.
	consumerUIDIndex = "spec.consumerRef.uid"
	// keeperIndex is the name of the field index on reserved HostClaims by the UID of the control plane or
	// MachineDeployment that they are kept for.
	keeperIndex = "hostclaim.keeper"
	// HostUIDIndex is the name of the field index on published HardwareData by the UID of the host that
	// they describe.
	HostUIDIndex = "hostclaim.host-uid"
)

// SetupIndexes adds the field indexes that Clients and the watches of its users need.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return watch.AddIndexes(ctx, indexer,
		watch.Field{Object: &bmov1alpha1.HostClaim{}, Name: consumerUIDIndex, Values: watch.Index(consumerUIDs)},
		watch.Field{Object: &bmov1alpha1.HostClaim{}, Name: keeperIndex, Values: watch.Index(claims.KeepersOf)},
		watch.Field{Object: &bmov1alpha1.HardwareData{}, Name: HostUIDIndex, Values: watch.Index(hostUID)})
}

func consumerUIDs(claim *bmov1alpha1.HostClaim) []string {
	uids := []string{string(claims.ConsumerUID(claim))}
	if controller := metav1.GetControllerOfNoCopy(claim); controller != nil && !slices.Contains(uids, string(controller.UID)) {
		uids = append(uids, string(controller.UID))
	}
	return uids
}

func hostUID(data *bmov1alpha1.HardwareData) []string {
	return []string{data.Annotations[infrav1.HostUIDAnnotation]}
}

// ownNamespace is the place of claims in the namespace of their machine, which names them by UID.
type ownNamespace struct{ *Client }

// own is the client for the machine's own namespace, whether its claim is there or not.
func (c Clients) own(machine *infrav1.Metal3Machine) *Client {
	own := &Client{machine: machine, namespace: machine.Namespace, client: c.Client, live: c.Live, source: c.Live, listen: func(string) {}}
	own.place = ownNamespace{own}
	return own
}

// Remote is nil: the claim is in the namespace of its machine.
func (ownNamespace) Remote() *claims.Remote { return nil }

func (p ownNamespace) find(ctx context.Context) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	var list bmov1alpha1.HostClaimList
	err = p.client.List(ctx, &list, client.InNamespace(p.namespace), client.MatchingFields{consumerUIDIndex: string(p.machine.UID)})
	if err != nil {
		return nil, false, fmt.Errorf("list HostClaims of consumer %s: %w", p.machine.UID, err)
	}
	return oldest(slices.DeleteFunc(list.Items, func(claim bmov1alpha1.HostClaim) bool { return p.foreign(&claim) })), false, nil
}

// findLive reads the claim by its name, and by the one that the status reports, which an adopted claim has.
// A move loses that status.
func (p ownNamespace) findLive(ctx context.Context) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	names, reported := []string{claims.Name(p.machine.Name)}, p.machine.Status.HostClaim
	if reported != nil && reported.Name != names[0] {
		names = append(names, reported.Name)
	}
	for _, name := range names {
		claim, err := p.get(ctx, p.live, name)
		if err != nil || (claim != nil && !p.foreign(claim)) {
			return claim, false, err
		}
	}
	if reported != nil {
		return nil, false, nil
	}
	held, err = ownOf(ctx, p.live, p.machine)
	return held, false, err
}

// ownOf looks through the claims of the Cluster of a machine for one that belongs to it.
func ownOf(ctx context.Context, live client.Reader, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, error) {
	var list bmov1alpha1.HostClaimList
	cluster := machine.Labels[clusterv1.ClusterNameLabel]
	err := live.List(ctx, &list, client.InNamespace(machine.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	if err != nil {
		return nil, fmt.Errorf("list the HostClaims of Cluster %s: %w", cluster, err)
	}
	return oldest(slices.DeleteFunc(list.Items, func(claim bmov1alpha1.HostClaim) bool {
		return !claims.BelongsTo(&claim, OwnerOf(machine))
	})), nil
}

func (p ownNamespace) foreign(claim *bmov1alpha1.HostClaim) bool {
	return !claims.BelongsTo(claim, OwnerOf(p.machine))
}

func (ownNamespace) prepare(context.Context, *bmov1alpha1.HostClaim) error { return nil }

// otherCluster is the place of claims in another cluster, where the origin of the machine identifies
// them.
type otherCluster struct {
	*Client

	clients Clients
	// before is the machine as it was read; it gets the record, too. Nil where none is written.
	before *infrav1.Metal3Machine
	// record is on the machine if recorded is set, else what will be.
	record identity.Record
}

// remote is the client for the cluster that a connection leads to.
func (c Clients) remote(m Machine, site remote.Site, record identity.Record, recorded bool) *otherCluster {
	there := &Client{
		machine: m.Now, namespace: site.Target.Namespace,
		client: sanitizingClient{site.Client}, live: sanitizingReader{site.Live}, source: c.Live, recorded: recorded, kept: record.Claim != "",
		listen: func(origin string) { c.Remote.Bind(userOf(m.Now), origin) },
	}
	p := &otherCluster{Client: there, clients: c, before: m.Before, record: record}
	there.place = p
	return p
}

// Remote is the namespace and the origin in the other cluster.
func (p *otherCluster) Remote() *claims.Remote {
	return &claims.Remote{Namespace: p.namespace, Origin: p.record.Origin}
}

func (p *otherCluster) find(ctx context.Context) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	return p.ofOrigin(ctx, p.client, client.MatchingFields{remote.OriginIndex: p.record.Origin})
}

// ofOrigin picks the claim of the machine among those of its origin.
func (p *otherCluster) ofOrigin(
	ctx context.Context, reader client.Reader, origin client.ListOption,
) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	var list bmov1alpha1.HostClaimList
	if err := reader.List(ctx, &list, client.InNamespace(p.namespace), origin); err != nil {
		return nil, false, fmt.Errorf("list HostClaims of origin %s: %w", p.record.Origin, err)
	}
	held, rival = choose(list.Items, p.machine, p.record)
	return held, rival, nil
}

// choose picks the claim of a machine among those of its origin: the oldest that it holds, nil if there is
// none. Rival reports whether something else holds one.
func choose(list []bmov1alpha1.HostClaim, machine *infrav1.Metal3Machine, record identity.Record) (held *bmov1alpha1.HostClaim, rival bool) {
	var mine []bmov1alpha1.HostClaim
	for _, claim := range list {
		switch standing := identity.StandingOf(&claim, OwnerOf(machine), record); {
		case standing.Held():
			mine = append(mine, claim)
		case standing == identity.TakenOver:
			rival = true
		}
	}
	return oldest(mine), rival
}

func (p *otherCluster) findLive(ctx context.Context) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	held, rival, err = p.ofOrigin(ctx, p.live, client.MatchingLabels{infrav1.OriginKey: p.record.Origin})
	if err != nil || held != nil || rival {
		return held, rival, err
	}
	// One that has lost its label, or has not got it yet, still names the machine.
	claim, err := p.get(ctx, p.live, cmp.Or(p.record.Claim, claims.RemoteName(p.machine.Name, p.record.Origin)))
	if claim != nil && claims.ConsumerUID(claim) != p.machine.UID {
		claim = nil
	}
	return claim, false, err
}

func (p *otherCluster) foreign(claim *bmov1alpha1.HostClaim) bool {
	return identity.StandingOf(claim, OwnerOf(p.machine), p.record) == identity.Foreign
}

// prepare has the machine name the cluster of its claim before the claim exists, and the UID under which it
// took the claim over afterwards.
func (p *otherCluster) prepare(ctx context.Context, held *bmov1alpha1.HostClaim) error {
	if held == nil {
		p.listen(p.record.Origin)
	}
	if p.recorded && (p.record.UID == p.machine.UID || (held != nil && claims.ConsumerUID(held) != p.machine.UID)) {
		return nil
	}
	if !p.recorded {
		if err := p.confirmUnsettled(ctx); err != nil {
			return err
		}
	}
	renewed := p.record
	renewed.UID = p.machine.UID
	return p.writeRecord(ctx, renewed)
}

// confirmUnsettled fails with a conflict if the machine has a claim in its own namespace that the cache does
// not show yet.
func (p *otherCluster) confirmUnsettled(ctx context.Context) error {
	if !p.clients.Local.Started() {
		return nil
	}
	key := client.ObjectKey{Namespace: p.machine.Namespace, Name: claims.Name(p.machine.Name)}
	claim, err := get(ctx, p.clients.Live, key)
	if err == nil && claim != nil && claims.BelongsTo(claim, OwnerOf(p.machine)) {
		err = patch.Conflict("the machine has a HostClaim in its own namespace by now")
	}
	return err
}

// writeRecord puts the record on the machine. It is written on its own, and only if the machine has not
// changed since it was read: a machine that is being deleted must not be let go by a pass that has not seen
// the record.
func (p *otherCluster) writeRecord(ctx context.Context, record identity.Record) error {
	ctrl.LoggerFrom(ctx).Info("Recording where the HostClaim is", "server", record.Server, "namespace", record.Namespace)
	after := p.before.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	maps.Copy(after.Annotations, record.Annotations())
	if err := p.clients.Client.Patch(ctx, after, patch.Locked(p.before)); err != nil {
		return fmt.Errorf("record the identity: %w", err)
	}
	// The patch at the end of the pass must not be refused because of this one.
	for _, m := range []*infrav1.Metal3Machine{p.before, p.machine} {
		m.Annotations, m.ResourceVersion = maps.Clone(after.Annotations), after.ResourceVersion
	}
	p.record, p.recorded = record, true
	return nil
}

// oldest is the oldest claim, by name among equals; nil if there is none. A machine has one claim; should a
// user have written a second one with the same consumer, the first one stays it.
func oldest(list []bmov1alpha1.HostClaim) *bmov1alpha1.HostClaim {
	if len(list) == 0 {
		return nil
	}
	return ptr.To(slices.MinFunc(list, func(a, b bmov1alpha1.HostClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	}))
}
