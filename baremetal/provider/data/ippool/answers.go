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
	"slices"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
)

// Answer is what a claim tells about the pool that it asks.
type Answer struct {
	// AddressName is the name of the address object; empty until there is one.
	AddressName string
	// Problem is what the pool complains about; empty while it is just not done.
	Problem string
}

// FromIPClaim reads a claim of ip-address-manager. An address counts for more
// than an error, which then is about something else.
func FromIPClaim(claim *ipamv1alpha1.IPClaim) Answer {
	if claim.Status.Address != nil {
		return Answer{AddressName: claim.Status.Address.Name}
	}
	return Answer{Problem: ptr.Deref(claim.Status.ErrorMessage, "")}
}

// FromIPAddressClaim reads a claim of Cluster API's IPAM contract.
func FromIPAddressClaim(claim *capipamv1.IPAddressClaim) Answer {
	if name := claim.Status.AddressRef.Name; name != "" {
		return Answer{AddressName: name}
	}
	ready := meta.FindStatusCondition(claim.Status.Conditions, capipamv1.IPAddressClaimReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return Answer{}
	}
	if ready.Message == "" {
		return Answer{Problem: ready.Reason}
	}
	return Answer{Problem: ready.Message}
}

// Unanswered reports whether a claim with our finalizer waits for the first answer of its pool.
func Unanswered(claim metav1.Object) bool {
	var answer Answer
	switch claim := claim.(type) {
	case *ipamv1alpha1.IPClaim:
		answer = FromIPClaim(claim)
	case *capipamv1.IPAddressClaim:
		answer = FromIPAddressClaim(claim)
	}
	return answer == Answer{} && claim.GetDeletionTimestamp().IsZero() && slices.Contains(claim.GetFinalizers(), infrav1.DataFinalizer)
}

// FromMetal3Address reads an address of ip-address-manager.
func FromMetal3Address(address *ipamv1alpha1.IPAddress) facts.Address {
	read := facts.Address{
		Address: string(address.Spec.Address),
		Prefix:  int32(min(max(address.Spec.Prefix, 0), 128)),
		Gateway: string(ptr.Deref(address.Spec.Gateway, "")),
	}
	for _, server := range address.Spec.DNSServers {
		read.DNSServers = append(read.DNSServers, string(server))
	}
	return read
}

// FromCAPIAddress reads an address of Cluster API's IPAM contract, which knows
// no name servers.
func FromCAPIAddress(address *capipamv1.IPAddress) facts.Address {
	return facts.Address{
		Address: address.Spec.Address,
		Prefix:  ptr.Deref(address.Spec.Prefix, 0),
		Gateway: address.Spec.Gateway,
	}
}
