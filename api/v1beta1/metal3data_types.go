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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3DataSpec ties a claim to an index of a template.
//
// +kubebuilder:validation:XValidation:rule="(has(self.index) ? self.index : 0) == (has(oldSelf.index) ? oldSelf.index : 0)",message="index cannot be changed: delete the Metal3DataClaim and make a new one",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.template) == has(oldSelf.template) && (!has(self.template) || self.template == oldSelf.template)",message="template cannot be changed: delete the Metal3DataClaim and make a new one",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.claim) == has(oldSelf.claim) && (!has(self.claim) || self.claim == oldSelf.claim)",message="claim cannot be changed: delete the Metal3DataClaim and make a new one",reason=FieldValueForbidden
type Metal3DataSpec struct {
	// index is the index of the machine among those of the template; 0 if left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Index *int32 `json:"index,omitempty"`

	// templateReference is not used.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	TemplateReference string `json:"templateReference,omitempty"`

	// metaData names the secret with the rendered metadata.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names the secret with the rendered network data.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// claim names the Metal3DataClaim that the data is for.
	// +optional
	Claim *ObjectReference `json:"claim,omitempty"`

	// template names the Metal3DataTemplate that is rendered.
	// +optional
	Template *ObjectReference `json:"template,omitempty"`
}

// Metal3DataStatus is what the provider reports about a Metal3Data.
type Metal3DataStatus struct {
	// conditions are the current observations about the object, as in v1beta2.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ready is true once the secrets exist.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// errorMessage describes an error that needs a change by the user.
	// +optional
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3Data is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3datas,scope=Namespaced,categories=cluster-api,shortName=m3d;m3data;m3datas;metal3d;metal3data
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.template) && has(self.spec.template.name) && size(self.spec.template.name) > 0",message="spec.template.name is empty: set it to the name of the Metal3DataTemplate",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.template) || !has(self.spec.template.name) || (self.metadata.name.startsWith(self.spec.template.name + '-') && self.metadata.name.substring(size(self.spec.template.name) + 1) == string(has(self.spec.index) ? self.spec.index : 0))",message="metadata.name does not match the spec: name the object <spec.template.name>-<spec.index>"

// Metal3Data is the metadata and network data of one machine.
type Metal3Data struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what is to be rendered.
	// +optional
	Spec Metal3DataSpec `json:"spec,omitempty"`

	// status is what the provider observes.
	// +optional
	Status Metal3DataStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3DataList is a list of Metal3Datas.
type Metal3DataList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3Datas of the list.
	Items []Metal3Data `json:"items"`
}
