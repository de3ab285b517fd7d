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

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metal3DataClaimSpec says which template data is wanted from.
//
// +kubebuilder:validation:XValidation:rule="has(self.template.name) && size(self.template.name) > 0",message="template.name is empty: set it to the name of a Metal3DataTemplate of the same namespace",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="self.template.name == oldSelf.template.name",message="template cannot be changed: delete the claim and make a new one",reason=FieldValueForbidden
type Metal3DataClaimSpec struct {
	// template names the Metal3DataTemplate; it must be of the same namespace.
	// +required
	Template *ObjectReference `json:"template,omitempty"`
}

// Metal3DataClaimStatus is what the provider reports about a Metal3DataClaim.
type Metal3DataClaimStatus struct {
	// conditions are the current observations about the object, as in v1beta2.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// renderedData names the Metal3Data that answers the claim.
	// +optional
	RenderedData *ObjectReference `json:"renderedData,omitempty"`

	// errorMessage describes an error that needs a change by the user.
	// +optional
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3DataClaim is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3dataclaims,scope=Namespaced,categories=cluster-api,shortName=m3dc;m3dataclaim;m3dataclaims;metal3dc;metal3dataclaim
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3DataClaim asks for data of one machine.
type Metal3DataClaim struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +required
	Spec Metal3DataClaimSpec `json:"spec,omitempty"`

	// status is what the provider observes.
	// +optional
	Status Metal3DataClaimStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3DataClaimList is a list of Metal3DataClaims.
type Metal3DataClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3DataClaims of the list.
	Items []Metal3DataClaim `json:"items"`
}
