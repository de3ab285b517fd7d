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
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
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
			Name:            dataName(template.Name, index),
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
	for _, wanted := range metadata.Wanted(spec, machine) {
		ref := &corev1.SecretReference{Namespace: desired.Namespace, Name: wanted.Secret}
		switch wanted.Key {
		case secretkeys.MetaData:
			desired.Spec.MetaData = ref
		case secretkeys.NetworkData:
			desired.Spec.NetworkData = ref
		}
	}
}

// restored returns the owners that are put back where they were lost: the claim, and one Metal3Machine by
// the version that is served. If that one is gone, the garbage collector takes it off the claim too; it
// would take any other owner off the Metal3Data alone, each time that it is put back.
func restored(claim *infrav1.Metal3DataClaim) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{patch.ControlledBy(claim, infrav1.GroupVersion.WithKind(claimKind))}
	for _, owner := range claim.OwnerReferences {
		if owner.Kind == machineKind && owner.APIVersion == infrav1.GroupVersion.String() {
			return append(refs, machineOwner(owner))
		}
	}
	return refs
}

// owners are the claim, as controller, and the Metal3Machine behind it.
func owners(claim *infrav1.Metal3DataClaim) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{patch.ControlledBy(claim, infrav1.GroupVersion.WithKind(claimKind))}
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

// MadeFor reports whether a Metal3Data was made for a claim, by its controller or, where that
// reference was lost, by the names of claim and template in its spec. A claim that is younger than
// the deletion of the Metal3Data is a later one of that name.
func MadeFor(data *infrav1.Metal3Data, claim *infrav1.Metal3DataClaim) bool {
	if owner := controllingClaim(data); owner != nil {
		return owner.UID == claim.UID
	}
	later := !data.DeletionTimestamp.IsZero() && data.DeletionTimestamp.Before(&claim.CreationTimestamp)
	return ClaimName(data) == claim.Name && nameOf(data.Spec.Template) == nameOf(claim.Spec.Template) && !later
}

// ClaimName is the name of the claim that a Metal3Data was made for; empty if that is not known.
func ClaimName(data *infrav1.Metal3Data) string {
	if owner := controllingClaim(data); owner != nil {
		return owner.Name
	}
	return nameOf(data.Spec.Claim)
}

func nameOf(ref *infrav1.Metal3ObjectRef) string {
	return ptr.Deref(ref, infrav1.Metal3ObjectRef{}).Name
}

// MadeBy reports whether a claim is that of a Metal3Machine, by its controller or, where that
// reference was lost, by its name and the finalizer of machines. A machine that is younger than
// the deletion of the claim is a later one of that name.
func MadeBy(claim *infrav1.Metal3DataClaim, machine *infrav1.Metal3Machine) bool {
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		return owner.UID == machine.UID
	}
	later := !claim.DeletionTimestamp.IsZero() && claim.DeletionTimestamp.Before(&machine.CreationTimestamp)
	return claim.Name == machine.Name && slices.Contains(claim.Finalizers, infrav1.MachineFinalizer) && !later
}

// controllingClaim is the reference to the claim as controller; nil if it was lost.
func controllingClaim(data *infrav1.Metal3Data) *metav1.OwnerReference {
	if owner := metav1.GetControllerOfNoCopy(data); owner != nil && owner.Kind == claimKind {
		return owner
	}
	return nil
}

// ClaimOf returns the claim which a Metal3Data was made for, and whether it still exists. Only the API server
// shows that it does not: a cache may not have seen it yet.
func ClaimOf(ctx context.Context, reader client.Reader, data *infrav1.Metal3Data) (*infrav1.Metal3DataClaim, bool, error) {
	claim := &infrav1.Metal3DataClaim{}
	name := ClaimName(data)
	if name == "" {
		return claim, false, nil
	}
	if err := client.IgnoreNotFound(reader.Get(ctx, types.NamespacedName{Namespace: data.Namespace, Name: name}, claim)); err != nil {
		return claim, false, fmt.Errorf("read Metal3DataClaim %s: %w", name, err)
	}
	return claim, MadeFor(data, claim), nil
}
