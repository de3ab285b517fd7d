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
	"fmt"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostview"
)

// ConsumerUIDIndex is the name of the field index on HostClaims by the UID of
// the Metal3Machine that they name as their consumer.
const ConsumerUIDIndex = "spec.consumerRef.uid"

// HostUIDIndex is the name of the field index on published HardwareData by the
// UID of the host that they describe.
const HostUIDIndex = "hostclaim.host-uid"

// SetupIndexes adds the field indexes that Reader and the watches need.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, ConsumerUIDIndex, indexConsumerUID); err != nil {
		return fmt.Errorf("index HostClaims by consumer: %w", err)
	}
	if err := indexer.IndexField(ctx, &bmov1alpha1.HardwareData{}, HostUIDIndex, indexHostUID); err != nil {
		return fmt.Errorf("index HardwareData by host: %w", err)
	}
	return nil
}

func indexConsumerUID(o client.Object) []string {
	claim, ok := o.(*bmov1alpha1.HostClaim)
	if !ok || hostclaim.ConsumerUID(claim) == "" {
		return nil
	}
	return []string{string(hostclaim.ConsumerUID(claim))}
}

func indexHostUID(o client.Object) []string {
	if uid := o.GetAnnotations()[infrav1.HostUIDAnnotation]; uid != "" {
		return []string{uid}
	}
	return nil
}

// Reader finds claims and host facts. Its client must be a cache with the
// indexes of SetupIndexes.
type Reader struct {
	// Client reads from the cache.
	Client client.Reader
}

// ClaimOf returns the claim whose consumer the machine is, and whether there is
// one. Its name does not matter.
func (r Reader) ClaimOf(ctx context.Context, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, bool, error) {
	var claims bmov1alpha1.HostClaimList
	err := r.Client.List(ctx, &claims, client.InNamespace(machine.Namespace),
		client.MatchingFields{ConsumerUIDIndex: string(machine.UID)})
	if err != nil {
		return nil, false, fmt.Errorf("list HostClaims of consumer %s: %w", machine.UID, err)
	}
	if len(claims.Items) > 0 {
		return &claims.Items[oldest(claims.Items)], true, nil
	}
	// A claim that was moved together with its machine names the UID that the
	// machine had before.
	claim, found, err := r.named(ctx, machine)
	if err != nil || !found || !hostclaim.BelongsTo(claim, ownerOf(machine)) {
		return nil, false, err
	}
	return claim, true, nil
}

// NameTaken says whether a claim of the name that the machine's new claim would
// get belongs to something else.
func (r Reader) NameTaken(ctx context.Context, machine *infrav1.Metal3Machine) (bool, error) {
	claim, found, err := r.named(ctx, machine)
	if err != nil || !found {
		return false, err
	}
	return !hostclaim.BelongsTo(claim, ownerOf(machine)), nil
}

// Host returns what is published of the host behind the machine's claim, and
// whether anything is.
func (r Reader) Host(ctx context.Context, machine *infrav1.Metal3Machine) (hostview.Host, bool, error) {
	claim, found, err := r.ClaimOf(ctx, machine)
	if err != nil || !found {
		return hostview.Host{}, false, err
	}
	return r.HostOf(ctx, claim)
}

// HostOf returns what is published of the host behind the claim, and whether
// anything is. A HardwareData that the claim points at but does not own, or of
// another namespace, is none: somebody else may have written it.
func (r Reader) HostOf(ctx context.Context, claim *bmov1alpha1.HostClaim) (hostview.Host, bool, error) {
	key, published := factsOf(claim)
	if !published {
		return hostview.Host{}, false, nil
	}
	var data bmov1alpha1.HardwareData
	if err := r.Client.Get(ctx, key, &data); err != nil {
		if apierrors.IsNotFound(err) {
			return hostview.Host{}, false, nil
		}
		return hostview.Host{}, false, fmt.Errorf("read HardwareData %s: %w", key, err)
	}
	if !ownedBy(&data, claim) {
		return hostview.Host{}, false, nil
	}
	return hostview.FromHardwareData(&data), true, nil
}

// factsOf says which HardwareData the claim points at, and whether it does. One
// of another namespace is none.
func factsOf(claim *bmov1alpha1.HostClaim) (types.NamespacedName, bool) {
	ref := claim.Status.HardwareData
	if ref == nil || ref.Name == "" || ref.Namespace != claim.Namespace || !hostclaim.Read(claim).HasHost() {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, true
}

// named reads the claim of the name that a new claim of the machine would get.
func (r Reader) named(ctx context.Context, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, bool, error) {
	var claim bmov1alpha1.HostClaim
	key := types.NamespacedName{Namespace: machine.Namespace, Name: hostclaim.Name(machine.Name)}
	if err := r.Client.Get(ctx, key, &claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	return &claim, true, nil
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

func ownerOf(machine *infrav1.Metal3Machine) hostclaim.Owner {
	return hostclaim.Owner{Namespace: machine.Namespace, Name: machine.Name, UID: machine.UID}
}

func ownedBy(o client.Object, claim *bmov1alpha1.HostClaim) bool {
	for _, owner := range o.GetOwnerReferences() {
		if owner.UID == claim.UID {
			return true
		}
	}
	return false
}
