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

package claimreader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// ConsumerUIDIndex is the name of the field index on HostClaims by the UID of
// the Metal3Machine that they name as their consumer, and of the one that controls them, which
// is another one until a claim that was moved names its consumer anew.
const ConsumerUIDIndex = "spec.consumerRef.uid"

// KeeperIndex is the name of the field index on reserved HostClaims by the UID of the
// control plane or MachineDeployment that they are kept for.
const KeeperIndex = "hostclaim.keeper"

// HostUIDIndex is the name of the field index on published HardwareData by the
// UID of the host that they describe.
const HostUIDIndex = "hostclaim.host-uid"

// SetupIndexes adds the field indexes that Reader and the watches need.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, ConsumerUIDIndex, indexConsumerUID); err != nil {
		return fmt.Errorf("index HostClaims by consumer: %w", err)
	}
	if err := indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, KeeperIndex, indexKeeper); err != nil {
		return fmt.Errorf("index reserved HostClaims: %w", err)
	}
	if err := indexer.IndexField(ctx, &bmov1alpha1.HardwareData{}, HostUIDIndex, indexHostUID); err != nil {
		return fmt.Errorf("index HardwareData by host: %w", err)
	}
	return nil
}

func indexConsumerUID(o client.Object) []string {
	claim, ok := o.(*bmov1alpha1.HostClaim)
	if !ok {
		return nil
	}
	var uids []string
	if uid := claims.ConsumerUID(claim); uid != "" {
		uids = append(uids, string(uid))
	}
	if controller := metav1.GetControllerOfNoCopy(claim); controller != nil && !slices.Contains(uids, string(controller.UID)) {
		uids = append(uids, string(controller.UID))
	}
	return uids
}

func indexKeeper(o client.Object) []string {
	if claim, ok := o.(*bmov1alpha1.HostClaim); ok {
		return claims.KeepersOf(claim)
	}
	return nil
}

func indexHostUID(o client.Object) []string {
	if uid := o.GetAnnotations()[infrav1.HostUIDAnnotation]; uid != "" {
		return []string{uid}
	}
	return nil
}

// Reader finds claims and host facts of machines, in this cluster and in others.
type Reader struct {
	// Client reads from the cache of the manager's own cluster, with the indexes
	// of SetupIndexes.
	Client client.Reader
	// Local says whether that cluster serves claims; nil means that it does.
	Local Kinds
	// Remote finds the connections to other clusters; nil where all machines have
	// their claims in this one.
	Remote Sites
}

// Kinds says whether a cluster serves claims and facts.
type Kinds interface {
	// Available says so, and that they may be read from the cache.
	Available(ctx context.Context) (bool, error)
}

// Sites are the connections to other clusters.
type Sites interface {
	// Site is the connection of a user, or an *identity.Problem.
	Site(ctx context.Context, user remote.User, ref identity.Ref) (remote.Site, error)
	// Release gives the connection of a user up.
	Release(user remote.User)
}

// Own is the machine's own namespace, whether its claim is there or not.
func (r Reader) Own(machine *infrav1.Metal3Machine) Site {
	return Site{Client: r.Client, Namespace: machine.Namespace}
}

// Host returns what is published of the host behind the machine's claim, and
// whether anything is. While another cluster cannot be reached, nothing is: the
// machine says so, and its connection wakes the controllers that watch it.
func (r Reader) Host(ctx context.Context, machine *infrav1.Metal3Machine) (hardware.Host, bool, error) {
	site, found, err := r.SiteOf(ctx, machine)
	if err != nil || !found {
		return hardware.Host{}, false, err
	}
	host, found, err := site.host(ctx, machine)
	if site.Record != nil {
		err = remote.Sanitize(err)
	}
	return host, found, err
}

// host is what the site publishes of the host of a machine.
func (s Site) host(ctx context.Context, machine *infrav1.Metal3Machine) (hardware.Host, bool, error) {
	claim, found, err := s.ClaimOf(ctx, machine)
	if err != nil || !found {
		return hardware.Host{}, false, err
	}
	return s.HostOf(ctx, claim)
}

// SiteOf is where the claim of the machine is, if it can be read now. While another cluster
// cannot be reached, the machine says so, and its connection wakes the controllers that watch
// it. The caller sanitizes errors of a site with a Record.
func (r Reader) SiteOf(ctx context.Context, machine *infrav1.Metal3Machine) (Site, bool, error) {
	record, recorded, problem := identity.Read(OwnerOf(machine), machine.Annotations)
	switch {
	case problem != nil:
		return Site{}, false, nil //nolint:nilerr // the machine says so itself
	case !recorded && r.Local != nil:
		known, err := r.Local.Available(ctx)
		return r.Own(machine), known, err
	case !recorded:
		return r.Own(machine), true, nil
	case r.Remote == nil:
		return Site{}, false, nil
	}
	if owned, err := r.owned(ctx, machine); err != nil || !owned {
		return Site{}, false, err
	}
	site, connected, err := r.connect(ctx, machine, record.Ref(machine.Namespace))
	if err != nil || !connected {
		return Site{}, false, err
	}
	_, moved := record.Follow(site.Target, machine.Annotations[infrav1.ConfirmIdentityMoveAnnotation])
	return Site{
		Client: site.Client, Namespace: site.Target.Namespace, Record: &record, Writer: site.Client, Live: site.Live,
	}, moved == nil, nil
}

// owned says that a machine has a Machine and a Cluster, or is being deleted. The record
// alone opens no connection: its author need not be the machine controller, which gives
// up the connection of a machine without them.
func (r Reader) owned(ctx context.Context, machine *infrav1.Metal3Machine) (bool, error) {
	if !machine.DeletionTimestamp.IsZero() {
		return true, nil
	}
	for _, ref := range machine.OwnerReferences {
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil || group.Group != clusterv1.GroupVersion.Group || ref.Kind != "Machine" {
			continue
		}
		key := client.ObjectKey{Namespace: machine.Namespace, Name: ref.Name}
		owner := &clusterv1.Machine{}
		if err := r.Client.Get(ctx, key, owner); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		key.Name = owner.Spec.ClusterName
		err = r.Client.Get(ctx, key, &clusterv1.Cluster{})
		return err == nil, client.IgnoreNotFound(err)
	}
	return false, nil
}

// connect asks for the connection of the machine, and whether there is one.
func (r Reader) connect(ctx context.Context, machine *infrav1.Metal3Machine, ref identity.Ref) (remote.Site, bool, error) {
	user := UserOf(machine)
	site, err := r.Remote.Site(ctx, user, ref)
	if gone := r.releaseGone(ctx, machine, user); gone != nil {
		return remote.Site{}, false, gone
	}
	var problem *identity.Problem
	switch {
	case err == nil:
		return site, true, nil
	case errors.As(err, &problem):
		return remote.Site{}, false, nil
	default:
		return remote.Site{}, false, fmt.Errorf("connect by Secret %s: %w", ref.Secret, err)
	}
}

// releaseGone gives the connection up again if the machine is gone. The machine
// controller does so when it sees the deletion, which may be before this pass asked for
// the connection.
func (r Reader) releaseGone(ctx context.Context, machine *infrav1.Metal3Machine, user remote.User) error {
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(machine), &infrav1.Metal3Machine{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	r.Remote.Release(user)
	return nil
}

// UserOf is the machine as a user of connections.
func UserOf(machine *infrav1.Metal3Machine) remote.User {
	return remote.User{Kind: claims.MachineKind, NamespacedName: client.ObjectKeyFromObject(machine)}
}

// factsOf says which HardwareData the claim points at, and whether it does. One
// of another namespace is none.
func factsOf(claim *bmov1alpha1.HostClaim) (types.NamespacedName, bool) {
	ref := claim.Status.HardwareData
	if ref == nil || ref.Name == "" || ref.Namespace != claim.Namespace || !claims.Read(claim).HasHost() {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, true
}

// oldest is the index of the oldest claim, by name among equals. A machine has
// one claim; should a user have written a second one with the same consumer, the
// first one stays it.
func oldest(claims []bmov1alpha1.HostClaim) int {
	first := 0
	for i := range claims {
		byAge := claims[i].CreationTimestamp.Compare(claims[first].CreationTimestamp.Time)
		if cmp.Or(byAge, strings.Compare(claims[i].Name, claims[first].Name)) < 0 {
			first = i
		}
	}
	return first
}

func ownedBy(o client.Object, claim *bmov1alpha1.HostClaim) bool {
	for _, owner := range o.GetOwnerReferences() {
		if owner.UID == claim.UID {
			return true
		}
	}
	return false
}
