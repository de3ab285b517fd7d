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

// Package claims computes the HostClaim that a Metal3Machine wants, as a whole object
// for server-side apply, and reads a HostClaim as the State of its machine's server, so
// that no other package has to know the conditions of a HostClaim.
// Inputs are plain values; the package performs no IO.
package claims

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

const (
	// Kind is the kind of a HostClaim.
	Kind = "HostClaim"
	// MachineKind is the kind of the consumers of our claims.
	MachineKind = "Metal3Machine"

	// maxNameLength leaves room for the suffix of the published HardwareData.
	maxNameLength = 253 - len(infrav1.HardwareDataSuffix)
)

// Owner identifies a Metal3Machine.
type Owner struct {
	// Namespace and Name of the Metal3Machine.
	Namespace, Name string
	// UID of the Metal3Machine. A later machine of that name has another one.
	UID types.UID
}

// OwnerOf identifies a machine.
func OwnerOf(machine *infrav1.Metal3Machine) Owner {
	return Owner{Namespace: machine.Namespace, Name: machine.Name, UID: machine.UID}
}

// Name returns the name of a new claim of the machine: the machine's own name,
// cut and made unique by a hash where it is too long.
func Name(machine string) string {
	return text.Name(machine, maxNameLength)
}

// TemplateKind is how Cluster API writes the kind of our templates into what it makes
// of them.
const TemplateKind = "Metal3MachineTemplate." + infrav1.GroupName

// TemplateOf is the name of the template that a Metal3Machine was made from, and
// whether it was made from one.
func TemplateOf(annotations map[string]string) (name string, ok bool) {
	name = annotations[clusterv1.TemplateClonedFromNameAnnotation]
	return name, len(validation.IsDNS1123Subdomain(name)) == 0 && annotations[clusterv1.TemplateClonedFromGroupKindAnnotation] == TemplateKind
}

// BelongsTo reports whether the claim is that of the machine. The UID in the
// consumerRef decides. A claim that clusterctl moved still carries the UID that
// the machine had before; then the owner reference, which clusterctl mends,
// stands in for it.
func BelongsTo(claim *bmov1alpha1.HostClaim, owner Owner) bool {
	ref := claim.Spec.ConsumerRef
	if ref == nil || claim.Namespace != owner.Namespace || ref.Kind != MachineKind {
		return false
	}
	if ref.UID == owner.UID {
		return true
	}
	controller := metav1.GetControllerOfNoCopy(claim)
	return controller != nil && controller.UID == owner.UID && BelongedTo(claim, owner)
}

// BelongedTo reports whether the claim, which is not the machine's, was that of an earlier machine of its name.
func BelongedTo(claim *bmov1alpha1.HostClaim, owner Owner) bool {
	ref := claim.Spec.ConsumerRef
	return ref != nil && ref.Kind == MachineKind && ref.Name == owner.Name && ref.Namespace == owner.Namespace
}

// ConsumerUID returns the UID of the Metal3Machine that the claim names as its
// consumer; empty when it names none. It is the value of the field index.
func ConsumerUID(claim *bmov1alpha1.HostClaim) types.UID {
	if ref := claim.Spec.ConsumerRef; ref != nil && ref.Kind == MachineKind {
		return ref.UID
	}
	return ""
}

func (o Owner) reference() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(),
		Kind:       MachineKind,
		Name:       o.Name,
		UID:        o.UID,
		Controller: ptr.To(true),
	}
}

func (o Owner) consumer() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(),
		Kind:       MachineKind,
		Namespace:  o.Namespace,
		Name:       o.Name,
		UID:        o.UID,
	}
}
