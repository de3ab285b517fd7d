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

package datatemplate

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/indexes"
)

// Kinds that owner references name.
const (
	claimKind   = "Metal3DataClaim"
	machineKind = "Metal3Machine"
)

// desiredData is the Metal3Data of a claim, whole. The finalizer holds it until
// the claim is released; its own controller adds another one for its addresses.
func desiredData(template types.NamespacedName, claim *infrav1.Metal3DataClaim, index int32) *infrav1.Metal3Data {
	return &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       template.Namespace,
			Name:            indexes.Name(template.Name, index),
			Labels:          maps.Clone(claim.Labels),
			Finalizers:      []string{infrav1.DataClaimFinalizer},
			OwnerReferences: owners(claim),
		},
		Spec: infrav1.Metal3DataSpec{
			Index:    ptr.To(index),
			Claim:    &infrav1.Metal3ObjectRef{Name: claim.Name, Namespace: claim.Namespace},
			Template: &infrav1.Metal3ObjectRef{Name: template.Name, Namespace: template.Namespace},
		},
	}
}

// owners are the claim, as controller, and the Metal3Machine behind it.
func owners(claim *infrav1.Metal3DataClaim) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(),
		Kind:       claimKind,
		Name:       claim.Name,
		UID:        claim.UID,
		Controller: ptr.To(true),
	}}
	for _, owner := range claim.OwnerReferences {
		if owner.Kind == machineKind {
			refs = append(refs, metav1.OwnerReference{
				APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID,
			})
		}
	}
	return refs
}
