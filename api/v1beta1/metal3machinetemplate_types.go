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

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Metal3MachineTemplateSpec describes the Metal3Machines that are made from a template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.failureDomainDataTemplates) || has(self.template.spec.dataTemplate)",message="failureDomainDataTemplates is set, and template.spec.dataTemplate is not: set it to the Metal3DataTemplate for machines in any other failure domain",reason=FieldValueRequired
type Metal3MachineTemplateSpec struct {
	// template is the Metal3Machine to be made.
	// +required
	Template Metal3MachineTemplateResource `json:"template,omitempty"`

	// nodeReuse says that a machine takes over the host of the machine that it replaces, instead of
	// giving it back and asking for any host.
	// +optional
	// +kubebuilder:default=false
	NodeReuse *bool `json:"nodeReuse,omitempty"`

	// failureDomainDataTemplates are the Metal3DataTemplates for machines in certain failure domains, which
	// are used instead of template.spec.dataTemplate.
	// +optional
	// +listType=map
	// +listMapKey=failureDomain
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomainDataTemplates []infrav1.FailureDomainDataTemplate `json:"failureDomainDataTemplates,omitempty"`
}

// Metal3MachineTemplateResource is the content of a Metal3Machine that is made from a template.
type Metal3MachineTemplateResource struct {
	// metadata holds labels and annotations for the Metal3Machine.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec of the Metal3Machine.
	// +required
	Spec Metal3MachineSpec `json:"spec,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3MachineTemplate is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3machinetemplates,scope=Namespaced,categories=cluster-api,shortName=m3mt;m3machinetemplate;m3machinetemplates;metal3mt;metal3machinetemplate
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3MachineTemplate is what control planes and machine deployments make Metal3Machines from.
type Metal3MachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +required
	Spec Metal3MachineTemplateSpec `json:"spec,omitempty"`

	// status is what the provider observes.
	// +optional
	Status infrav1.Metal3MachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3MachineTemplateList is a list of Metal3MachineTemplates.
type Metal3MachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3MachineTemplates of the list.
	Items []Metal3MachineTemplate `json:"items"`
}
