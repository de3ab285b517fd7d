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
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"strings"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

const (
	// maxName is the limit of object names, maxLabel that of label values.
	maxName  = 253
	maxLabel = 63
	// hashLength is the number of hex digits that keep two cut names apart.
	hashLength = 8
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

// ByHostName says that the claim is named after the host, so that the pool can
// give it the address that is preallocated for that name.
func (r Request) ByHostName() bool {
	return r.Holder != r.Data.Name
}

// ClaimName returns the name of the claim for an address.
func (r Request) ClaimName(ask Ask) string {
	return cut(r.Holder+ask.claimSuffix(), maxName)
}

// IPClaim returns the claim on a pool of ip-address-manager, which is in the
// given State.
func (r Request) IPClaim(ask Ask, state string) *ipamv1alpha1.IPClaim {
	meta := r.meta(ask)
	annotate(&meta, infrav1.PoolStateAnnotation, state)
	return &ipamv1alpha1.IPClaim{
		TypeMeta: metav1.TypeMeta{
			APIVersion: ipamv1alpha1.GroupVersion.String(),
			Kind:       "IPClaim",
		},
		ObjectMeta: meta,
		Spec: ipamv1alpha1.IPClaimSpec{
			Pool: corev1.ObjectReference{Name: ask.Name, Namespace: r.Data.Namespace},
		},
	}
}

// IPAddressClaim returns the claim on any other pool.
func (r Request) IPAddressClaim(ask Ask) *capipamv1.IPAddressClaim {
	return &capipamv1.IPAddressClaim{
		TypeMeta: metav1.TypeMeta{
			APIVersion: capipamv1.GroupVersion.String(),
			Kind:       "IPAddressClaim",
		},
		ObjectMeta: r.meta(ask),
		Spec: capipamv1.IPAddressClaimSpec{
			PoolRef: capipamv1.IPPoolReference{Name: ask.Name, Kind: ask.Kind, APIGroup: ask.APIGroup},
		},
	}
}

// DataOf returns the name of the Metal3Data that a claim was made for, from what the claim itself
// tells. It is not known for names that were cut.
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
		return NewPool(claim.Spec.Pool.Name, "", "")
	case *capipamv1.IPAddressClaim:
		return NewPool(claim.Spec.PoolRef.Name, claim.Spec.PoolRef.APIGroup, claim.Spec.PoolRef.Kind)
	default:
		return Pool{}
	}
}

// meta makes the claim the property of the Metal3Data. The finalizer keeps the
// address until the Metal3Data gives it back.
func (r Request) meta(ask Ask) metav1.ObjectMeta {
	labels := maps.Clone(r.Data.Labels)
	if r.ByHostName() {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[infrav1.DataNameLabel] = cut(r.Data.Name, maxLabel)
		labels[infrav1.PoolNameLabel] = cut(ask.Name, maxLabel)
	}
	meta := metav1.ObjectMeta{
		Namespace:  r.Data.Namespace,
		Name:       r.ClaimName(ask),
		Labels:     labels,
		Finalizers: []string{infrav1.DataFinalizer},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(),
			Kind:       "Metal3Data",
			Name:       r.Data.Name,
			UID:        r.Data.UID,
			Controller: ptr.To(true),
		}},
	}
	if ask.Network != "" {
		annotate(&meta, infrav1.ClaimNetworkAnnotation, ask.Network)
	}
	return meta
}

func annotate(meta *metav1.ObjectMeta, key, value string) {
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[key] = value
}

// cut shortens a name that is too long; a hash of the whole keeps it unique.
func cut(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return name[:limit-hashLength-1] + "-" + hash(name)
}

// hash is short, and good for names.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
}
