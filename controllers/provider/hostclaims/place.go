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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

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

// ToConsumer maps a HostClaim, or the HardwareData that one owns, to what follows for the Metal3Machine that the
// claim names as its consumer. It may name one of another cluster, of which nothing is known here.
func ToConsumer(cached client.Reader, of func(context.Context, types.NamespacedName) []ctrl.Request) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []ctrl.Request {
		claim, found := ClaimOf(ctx, cached, o)
		if !found || claim.Spec.ConsumerRef == nil || claim.Spec.ConsumerRef.Kind != claims.MachineKind {
			return nil
		}
		return of(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: claim.Spec.ConsumerRef.Name})
	}
}

// ClaimOf returns an object that is a claim, or the claim that owns it. One that the cache does not show yet has
// an event of its own.
func ClaimOf(ctx context.Context, cached client.Reader, o client.Object) (*bmov1alpha1.HostClaim, bool) {
	if claim, ok := o.(*bmov1alpha1.HostClaim); ok {
		return claim, true
	}
	for _, owner := range o.GetOwnerReferences() {
		claim := &bmov1alpha1.HostClaim{}
		if owner.Kind == claims.Kind && cached.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: owner.Name}, claim) == nil {
			return claim, true
		}
	}
	return nil, false
}

// own is the client for the machine's own namespace, whether its claim is there or not.
func (c Clients) own(machine *infrav1.Metal3Machine) *Client {
	return &Client{clients: c, machine: machine, namespace: machine.Namespace, client: c.Client, live: c.Live}
}

// remote is the client for the cluster that a connection leads to.
func (c Clients) remote(m Machine, site remote.Site, record identity.Record, recorded bool) *Client {
	return &Client{
		clients: c, machine: m.Now, before: m.Before, namespace: site.Target.Namespace,
		client: site.Client, live: site.Live, record: &record, recorded: recorded,
	}
}

// Remote is the namespace and the origin of the claim in another cluster; nil in the machine's own namespace.
func (c *Client) Remote() *claims.Remote {
	if c.record == nil {
		return nil
	}
	return &claims.Remote{Namespace: c.namespace, Origin: c.record.Origin}
}

// listen has the machine woken by claims of an origin in another cluster. Those of its own one wake it anyway.
func (c *Client) listen(origin string) {
	if c.record != nil {
		c.clients.Remote.Bind(userOf(c.machine), origin)
	}
}

// find returns the claim that the cache shows, nil if it shows none. Rival reports whether a copy of the
// machine has it.
func (c *Client) find(ctx context.Context) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	if c.record == nil {
		return c.pick(ctx, c.client, client.MatchingFields{consumerUIDIndex: string(c.machine.UID)})
	}
	return c.pick(ctx, c.client, client.MatchingFields{remote.OriginIndex: c.record.Origin})
}

// pick lists claims and chooses that of the machine: the oldest that it holds, nil if there is none. Rival
// reports whether a copy of the machine holds one.
func (c *Client) pick(ctx context.Context, reader client.Reader, which client.ListOption) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	var list bmov1alpha1.HostClaimList
	if err := reader.List(ctx, &list, client.InNamespace(c.namespace), which); err != nil {
		return nil, false, fmt.Errorf("list the HostClaims of Metal3Machine %s: %w", c.machine.Name, err)
	}
	rival = slices.ContainsFunc(list.Items, func(claim bmov1alpha1.HostClaim) bool { return c.standing(&claim) == identity.TakenOver })
	return oldest(slices.DeleteFunc(list.Items, func(claim bmov1alpha1.HostClaim) bool { return c.standing(&claim) != identity.Held })), rival, nil
}

// standing is what a claim is to the machine. In its own namespace a claim names the machine by UID; in another
// cluster the origin of the machine identifies its claim.
func (c *Client) standing(claim *bmov1alpha1.HostClaim) identity.Standing {
	switch {
	case c.record != nil:
		return identity.StandingOf(claim, claims.OwnerOf(c.machine), *c.record)
	case claims.BelongsTo(claim, claims.OwnerOf(c.machine)):
		return identity.Held
	default:
		return identity.Foreign
	}
}

// findLive is find past the cache, by all that may identify the claim.
func (c *Client) findLive(ctx context.Context) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	if c.record == nil {
		held, err = c.findOwnLive(ctx)
		return held, false, err
	}
	held, rival, err = c.pick(ctx, c.live, client.MatchingLabels{infrav1.OriginKey: c.record.Origin})
	if err != nil || held != nil || rival {
		return held, rival, err
	}
	// One that has lost its label, or has not got it yet, still names the machine.
	claim, err := c.get(ctx, c.live, cmp.Or(c.record.Claim, claims.RemoteName(c.machine.Name, c.record.Origin)))
	if claim != nil && claims.ConsumerUID(claim) != c.machine.UID {
		claim = nil
	}
	return claim, false, err
}

// findOwnLive reads the claim by its name, and by the one that the status reports, which an adopted claim has.
// A move loses that status.
func (c *Client) findOwnLive(ctx context.Context) (*bmov1alpha1.HostClaim, error) {
	names, reported := []string{claims.Name(c.machine.Name)}, c.machine.Status.HostClaim
	if reported != nil && reported.Name != names[0] {
		names = append(names, reported.Name)
	}
	for _, name := range names {
		claim, err := c.get(ctx, c.live, name)
		if err != nil || (claim != nil && c.standing(claim) == identity.Held) {
			return claim, err
		}
	}
	if reported != nil {
		return nil, nil //nolint:nilnil // there is none
	}
	return c.ofCluster(ctx)
}

// ofCluster looks through the claims of the Cluster of a machine, past the cache, for one that belongs to it.
func (c *Client) ofCluster(ctx context.Context) (*bmov1alpha1.HostClaim, error) {
	claim, _, err := c.pick(ctx, c.live, client.MatchingLabels{clusterv1.ClusterNameLabel: c.machine.Labels[clusterv1.ClusterNameLabel]})
	return claim, err
}

// prepare comes before a write of the claim, which is nil if the machine is to get one: it has the machine name
// another cluster as that of its claim before the claim exists, and the UID under which it took the claim over
// afterwards.
func (c *Client) prepare(ctx context.Context, held *bmov1alpha1.HostClaim) error {
	if c.record == nil {
		return nil
	}
	if held == nil {
		c.listen(c.record.Origin)
	}
	if c.recorded && (c.record.UID == c.machine.UID || (held != nil && claims.ConsumerUID(held) != c.machine.UID)) {
		return nil
	}
	if !c.recorded {
		if err := c.confirmUnsettled(ctx); err != nil {
			return err
		}
	}
	renewed := *c.record
	renewed.UID = c.machine.UID
	return c.writeRecord(ctx, renewed)
}

// confirmUnsettled fails with a conflict if the machine has a claim in its own namespace that the cache does
// not show yet.
func (c *Client) confirmUnsettled(ctx context.Context) error {
	if !c.clients.Local.Started() {
		return nil
	}
	own := c.clients.own(c.machine)
	claim, err := own.get(ctx, own.live, claims.Name(c.machine.Name))
	if err == nil && claim != nil && own.standing(claim) == identity.Held {
		err = patch.Conflict("the machine has a HostClaim in its own namespace by now")
	}
	return err
}

// writeRecord puts the record on the machine. It is written on its own, and only if the machine has not
// changed since it was read: a machine that is being deleted must not be let go by a pass that has not seen
// the record.
func (c *Client) writeRecord(ctx context.Context, record identity.Record) error {
	ctrl.LoggerFrom(ctx).Info("Recording where the HostClaim is", "server", record.Server, "namespace", record.Namespace)
	after := c.before.DeepCopy()
	annotations.AddAnnotations(after, record.Annotations())
	if err := c.clients.Client.Patch(ctx, after, patch.Locked(c.before)); err != nil {
		return fmt.Errorf("record the identity: %w", err)
	}
	// The patch at the end of the pass must not be refused because of this one.
	for _, m := range []*infrav1.Metal3Machine{c.before, c.machine} {
		m.Annotations, m.ResourceVersion = maps.Clone(after.Annotations), after.ResourceVersion
	}
	c.record, c.recorded = &record, true
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
