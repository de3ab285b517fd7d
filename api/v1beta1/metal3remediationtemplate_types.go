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

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Metal3RemediationTemplateSpec describes the Metal3Remediations that are made from a template.
type Metal3RemediationTemplateSpec struct {
	// template is the Metal3Remediation to be made.
	// +required
	Template Metal3RemediationTemplateResource `json:"template"`
}

// Metal3RemediationTemplateResource is the content of a Metal3Remediation that is made from a template.
type Metal3RemediationTemplateResource struct {
	// spec is the spec of the Metal3Remediation.
	// +required
	Spec Metal3RemediationSpec `json:"spec"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3RemediationTemplate is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3remediationtemplates,scope=Namespaced,categories=cluster-api,shortName=m3rt;m3remediationtemplate;m3remediationtemplates;metal3rt;metal3remediationtemplate
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3RemediationTemplate is what machine health checks make Metal3Remediations from.
type Metal3RemediationTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +optional
	Spec Metal3RemediationTemplateSpec `json:"spec,omitempty"`

	// status is what the provider observes.
	// +optional
	Status infrav1.Metal3RemediationTemplateStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3RemediationTemplateList is a list of Metal3RemediationTemplates.
type Metal3RemediationTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3RemediationTemplates of the list.
	Items []Metal3RemediationTemplate `json:"items"`
}
