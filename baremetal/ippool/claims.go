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

package ippool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

const (
	// maxName is the limit of object names, maxLabel that of label values.
	maxName  = 253
	maxLabel = 63
)

// networkInName are the ids of networks that can be part of the name of an object.
var networkInName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// Request is on whose behalf a pool is asked.
type Request struct {
	// Data is the Metal3Data that owns the claim.
	Data *infrav1.Metal3Data
	// Holder starts the name of the claim: the name of the Metal3Data or, where
	// pools give preallocated addresses to hosts, that of the host.
	Holder string
}

// ClaimName returns the name of the claim for an address.
func (r Request) ClaimName(ask Ask) string {
	return text.Name(r.Holder+ask.claimSuffix(), maxName)
}

// IPClaim returns the claim on a pool of ip-address-manager, which is in the
// given State.
func (r Request) IPClaim(ask Ask, state string) *ipamv1alpha1.IPClaim {
	meta := r.meta(ask)
	metav1.SetMetaDataAnnotation(&meta, infrav1.PoolStateAnnotation, state)
	return &ipamv1alpha1.IPClaim{
		ObjectMeta: meta,
		Spec: ipamv1alpha1.IPClaimSpec{
			Pool: corev1.ObjectReference{Name: ask.Name, Namespace: r.Data.Namespace},
		},
	}
}

// IPAddressClaim returns the claim on any other pool.
func (r Request) IPAddressClaim(ask Ask) *capipamv1.IPAddressClaim {
	return &capipamv1.IPAddressClaim{
		ObjectMeta: r.meta(ask),
		Spec: capipamv1.IPAddressClaimSpec{
			PoolRef: capipamv1.IPPoolReference{Name: ask.Name, Kind: ask.Kind, APIGroup: ask.APIGroup},
		},
	}
}

// DataOf returns the name of the Metal3Data that a claim was made for, from the claim alone. It is
// not known for names that were cut.
func DataOf(claim metav1.Object) (name string, known bool) {
	if label, byHost := claim.GetLabels()[infrav1.DataNameLabel]; byHost {
		return label, len(label) < maxLabel
	}
	ask := Ask{Pool: PoolOf(claim), Network: claim.GetAnnotations()[infrav1.ClaimNetworkAnnotation]}
	name, found := strings.CutSuffix(claim.GetName(), ask.claimSuffix())
	return name, found && name != "" && ask.Name != ""
}

// PoolOf is the pool that a claim asks.
func PoolOf(claim metav1.Object) Pool {
	switch claim := claim.(type) {
	case *ipamv1alpha1.IPClaim:
		return newPool(claim.Spec.Pool.Name, "", "")
	case *capipamv1.IPAddressClaim:
		return newPool(claim.Spec.PoolRef.Name, claim.Spec.PoolRef.APIGroup, claim.Spec.PoolRef.Kind)
	default:
		return Pool{}
	}
}

// meta makes the claim the property of the Metal3Data. The finalizer keeps the
// address until the Metal3Data gives it back.
func (r Request) meta(ask Ask) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{
		Namespace:  r.Data.Namespace,
		Name:       r.ClaimName(ask),
		Labels:     maps.Clone(r.Data.Labels),
		Finalizers: []string{infrav1.DataFinalizer},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(),
			Kind:       "Metal3Data",
			Name:       r.Data.Name,
			UID:        r.Data.UID,
			Controller: ptr.To(true),
		}},
	}
	if r.Holder != r.Data.Name { // the pool can give it the address that is preallocated for the host
		metav1.SetMetaDataLabel(&meta, infrav1.DataNameLabel, text.Name(r.Data.Name, maxLabel))
		metav1.SetMetaDataLabel(&meta, infrav1.PoolNameLabel, text.Name(ask.Name, maxLabel))
	}
	if ask.Network != "" {
		metav1.SetMetaDataAnnotation(&meta, infrav1.ClaimNetworkAnnotation, ask.Network)
	}
	return meta
}

// Answer is what a claim reports about the pool that it asks.
type Answer struct {
	// AddressName is the name of the address object; empty until there is one.
	AddressName string
	// Problem is what the pool complains about; empty while it is just not done.
	Problem string
}

// AnswerOf reads a claim of either address management API. An address counts for more
// than an error, which then is about something else.
func AnswerOf(claim metav1.Object) Answer {
	switch claim := claim.(type) {
	case *ipamv1alpha1.IPClaim:
		if claim.Status.Address != nil {
			return Answer{AddressName: claim.Status.Address.Name}
		}
		return Answer{Problem: ptr.Deref(claim.Status.ErrorMessage, "")}
	case *capipamv1.IPAddressClaim:
		if name := claim.Status.AddressRef.Name; name != "" {
			return Answer{AddressName: name}
		}
		ready := meta.FindStatusCondition(claim.Status.Conditions, capipamv1.IPAddressClaimReadyCondition)
		if ready != nil && ready.Status == metav1.ConditionFalse {
			return Answer{Problem: cmp.Or(ready.Message, ready.Reason)}
		}
	}
	return Answer{}
}

// Unanswered reports whether a claim with our finalizer waits for the first answer of its pool.
func Unanswered(claim metav1.Object) bool {
	return AnswerOf(claim) == Answer{} && claim.GetDeletionTimestamp().IsZero() && slices.Contains(claim.GetFinalizers(), infrav1.DataFinalizer)
}

// FromMetal3Address reads an address of ip-address-manager.
func FromMetal3Address(address *ipamv1alpha1.IPAddress) metadata.Address {
	read := metadata.Address{
		Address: string(address.Spec.Address),
		Prefix:  int32(min(max(address.Spec.Prefix, 0), 128)),
		Gateway: string(ptr.Deref(address.Spec.Gateway, "")),
	}
	for _, server := range address.Spec.DNSServers {
		read.DNSServers = append(read.DNSServers, string(server))
	}
	return read
}

// FromCAPIAddress reads an address of Cluster API's IPAM contract, which has no name servers.
func FromCAPIAddress(address *capipamv1.IPAddress) metadata.Address {
	return metadata.Address{
		Address: address.Spec.Address,
		Prefix:  ptr.Deref(address.Spec.Prefix, 0),
		Gateway: address.Spec.Gateway,
	}
}

// State sums up all of a pool that decides whether it has an address to give: which pool it
// is and its spec, then, behind a dash, which claims have its addresses. Claims that it refuses
// do not change it, so a pool that is asked once for each state comes to rest. It is empty where there is no pool.
func State(pool *ipamv1alpha1.IPPool) string {
	if pool.UID == "" {
		return ""
	}
	holders := sha256.New()
	for _, holder := range slices.Sorted(maps.Keys(pool.Status.Allocations)) {
		fmt.Fprintf(holders, " %s=%s", holder, pool.Status.Allocations[holder])
	}
	spec := sha256.Sum256(fmt.Appendf(nil, "%s %d", pool.UID, pool.Generation))
	return hex.EncodeToString(spec[:])[:2*text.HashLength] + "-" + hex.EncodeToString(holders.Sum(nil))[:2*text.HashLength]
}

// otherSpec reports whether two states are of pools that may answer differently: another pool of the
// name, or another spec. Who has the addresses does not count.
func otherSpec(asked, now string) bool {
	before, _, known := strings.Cut(asked, "-")
	after, _, exists := strings.Cut(now, "-")
	return known && exists && before != after
}
