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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/indexes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
)

// Kinds that owner references name.
const (
	claimKind   = "Metal3DataClaim"
	machineKind = "Metal3Machine"
)

// desiredData is the Metal3Data of a claim, whole: with the names of its secrets, and with
// two finalizers, of which one holds it until the claim is released. The other is that of
// its own controller, for its addresses.
func desiredData(
	template types.NamespacedName, spec infrav1.Metal3DataTemplateSpec, claim *infrav1.Metal3DataClaim, index int32,
) *infrav1.Metal3Data {
	desired := &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       template.Namespace,
			Name:            indexes.Name(template.Name, index),
			Labels:          maps.Clone(claim.Labels),
			Finalizers:      []string{infrav1.DataClaimFinalizer, infrav1.DataFinalizer},
			OwnerReferences: owners(claim),
		},
		Spec: infrav1.Metal3DataSpec{
			Index:    ptr.To(index),
			Claim:    &infrav1.Metal3ObjectRef{Name: claim.Name, Namespace: claim.Namespace},
			Template: &infrav1.Metal3ObjectRef{Name: template.Name, Namespace: template.Namespace},
		},
	}
	for _, owner := range desired.OwnerReferences {
		if owner.Kind == machineKind {
			nameSecrets(desired, spec, owner.Name)
		}
	}
	return desired
}

// nameSecrets names the secrets that the template asks for.
func nameSecrets(desired *infrav1.Metal3Data, spec infrav1.Metal3DataTemplateSpec, machine string) {
	for _, wanted := range data.Wanted(spec, machine) {
		ref := &corev1.SecretReference{Namespace: desired.Namespace, Name: wanted.Secret}
		switch wanted.Key {
		case secretkeys.MetaData:
			desired.Spec.MetaData = ref
		case secretkeys.NetworkData:
			desired.Spec.NetworkData = ref
		}
	}
}

// restored are those of the owners that are put back where they were lost: the claim, and one Metal3Machine
// by the version that is served. One that is gone is then taken off the claim, too, by the garbage
// collector, which would take any other off the Metal3Data alone, each time that it is put back.
func restored(claim *infrav1.Metal3DataClaim) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{apply.ControlledBy(claim, infrav1.GroupVersion.WithKind(claimKind))}
	for _, owner := range claim.OwnerReferences {
		if owner.Kind == machineKind && owner.APIVersion == infrav1.GroupVersion.String() {
			return append(refs, machineOwner(owner))
		}
	}
	return refs
}

// owners are the claim, as controller, and the Metal3Machine behind it.
func owners(claim *infrav1.Metal3DataClaim) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{apply.ControlledBy(claim, infrav1.GroupVersion.WithKind(claimKind))}
	for _, owner := range claim.OwnerReferences {
		if owner.Kind == machineKind {
			refs = append(refs, machineOwner(owner))
		}
	}
	return refs
}

// machineOwner is an owner that a claim names, for its Metal3Data.
func machineOwner(owner metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
}
