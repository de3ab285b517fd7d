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
	"context"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// Site is a namespace with claims: that of the machine itself, or one of another
// cluster.
type Site struct {
	// Client reads from the cache of that cluster. In the machine's own it needs
	// the indexes of SetupIndexes, in another one remote.OriginIndex.
	Client client.Reader
	// Namespace of the claims.
	Namespace string
	// Record is the machine's, where the claims are in another cluster; nil in the
	// machine's own namespace.
	Record *identity.Record
	// Writer writes to that cluster, and Live reads past its cache; nil in the machine's own.
	Writer client.Writer
	Live   client.Reader
}

// ClaimOf returns the claim of the machine, and whether there is one. Its name
// does not matter.
func (s Site) ClaimOf(ctx context.Context, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, bool, error) {
	if s.Record != nil {
		claims, err := s.byOrigin(ctx)
		claim, _ := Choose(claims, machine, *s.Record)
		return claim, claim != nil, err
	}
	var list bmov1alpha1.HostClaimList
	err := s.Client.List(ctx, &list, client.InNamespace(s.Namespace),
		client.MatchingFields{ConsumerUIDIndex: string(machine.UID)})
	if err != nil {
		return nil, false, fmt.Errorf("list HostClaims of consumer %s: %w", machine.UID, err)
	}
	own := slices.DeleteFunc(list.Items, func(claim bmov1alpha1.HostClaim) bool { return !claims.BelongsTo(&claim, OwnerOf(machine)) })
	if len(own) == 0 {
		return nil, false, nil
	}
	return &own[oldest(own)], true, nil
}

// InTheWay returns the claim that has the name which the machine's new claim would get, and
// whether it belongs to something else.
func (s Site) InTheWay(ctx context.Context, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, bool, error) {
	if s.Record != nil {
		claim, found, err := s.named(ctx, claims.RemoteName(machine.Name, s.Record.Origin))
		return claim, found && identity.StandingOf(claim, OwnerOf(machine), *s.Record) == identity.Foreign, err
	}
	claim, found, err := s.named(ctx, claims.Name(machine.Name))
	return claim, err == nil && found && !claims.BelongsTo(claim, OwnerOf(machine)), err
}

// HostOf returns what is published of the host behind the claim, and whether
// anything is. A HardwareData that the claim points at but does not own, or of
// another namespace, is none: another tenant may have written it.
func (s Site) HostOf(ctx context.Context, claim *bmov1alpha1.HostClaim) (hardware.Host, bool, error) {
	key, published := factsOf(claim)
	if !published {
		return hardware.Host{}, false, nil
	}
	var data bmov1alpha1.HardwareData
	if err := s.Client.Get(ctx, key, &data); err != nil {
		if apierrors.IsNotFound(err) {
			return hardware.Host{}, false, nil
		}
		return hardware.Host{}, false, fmt.Errorf("read HardwareData %s: %w", key, err)
	}
	if !ownedBy(&data, claim) {
		return hardware.Host{}, false, nil
	}
	return hardware.FromHardwareData(&data), true, nil
}

// ReservedFor returns the claims that are reserved for a control plane or MachineDeployment, by name.
func (s Site) ReservedFor(ctx context.Context, keeper types.UID) ([]bmov1alpha1.HostClaim, error) {
	index := KeeperIndex
	if s.Record != nil {
		index = remote.OriginIndex
	}
	var list bmov1alpha1.HostClaimList
	if err := s.Client.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingFields{index: string(keeper)}); err != nil {
		return nil, fmt.Errorf("list HostClaims reserved for %s: %w", keeper, err)
	}
	slices.SortFunc(list.Items, func(a, b bmov1alpha1.HostClaim) int { return strings.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(list.Items, func(claim bmov1alpha1.HostClaim) bool { return !reservation.Holds(&claim) }), nil
}

// LeftBy returns the claim that a machine has reserved and that no other one has adopted,
// and whether there is one. It is the one that the status of the machine names.
func (s Site) LeftBy(ctx context.Context, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, bool, error) {
	ref := machine.Status.HostClaim
	if ref == nil || ref.Namespace != s.Namespace {
		return nil, false, nil
	}
	claim, found, err := s.named(ctx, ref.Name)
	if err != nil || !found {
		return nil, false, err
	}
	_, uid := claims.ReservedBy(claim)
	return claim, uid == machine.UID, nil
}

// named reads the claim of that name.
func (s Site) named(ctx context.Context, name string) (*bmov1alpha1.HostClaim, bool, error) {
	var claim bmov1alpha1.HostClaim
	key := types.NamespacedName{Namespace: s.Namespace, Name: name}
	if err := s.Client.Get(ctx, key, &claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	return &claim, true, nil
}

func (s Site) byOrigin(ctx context.Context) ([]bmov1alpha1.HostClaim, error) {
	var claims bmov1alpha1.HostClaimList
	err := s.Client.List(ctx, &claims, client.InNamespace(s.Namespace), client.MatchingFields{remote.OriginIndex: s.Record.Origin})
	if err != nil {
		return nil, fmt.Errorf("list HostClaims of origin %s: %w", s.Record.Origin, err)
	}
	return claims.Items, nil
}

// Choose picks the machine's claim among those of its origin: the oldest that it
// holds, nil if there is none. Rival says that something else holds one.
func Choose(claims []bmov1alpha1.HostClaim, machine *infrav1.Metal3Machine, record identity.Record) (held *bmov1alpha1.HostClaim, rival bool) {
	var mine []bmov1alpha1.HostClaim
	for _, claim := range claims {
		switch standing := identity.StandingOf(&claim, OwnerOf(machine), record); {
		case standing.Held():
			mine = append(mine, claim)
		case standing == identity.TakenOver:
			rival = true
		}
	}
	if len(mine) == 0 {
		return nil, rival
	}
	return &mine[oldest(mine)], rival
}

// OwnerOf identifies a machine.
func OwnerOf(machine *infrav1.Metal3Machine) claims.Owner {
	return claims.Owner{Namespace: machine.Namespace, Name: machine.Name, UID: machine.UID}
}
