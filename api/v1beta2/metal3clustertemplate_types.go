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

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Metal3ClusterTemplateSpec describes the Metal3Clusters that are made from a template.
type Metal3ClusterTemplateSpec struct {
	// template is the Metal3Cluster to be made.
	// +required
	Template Metal3ClusterTemplateResource `json:"template"`
}

// Metal3ClusterTemplateResource is the content of a Metal3Cluster that is made from a template.
type Metal3ClusterTemplateResource struct {
	// metadata holds labels and annotations for the Metal3Cluster.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec of the Metal3Cluster.
	// +required
	Spec Metal3ClusterSpec `json:"spec"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=metal3clustertemplates,scope=Namespaced,categories=cluster-api,shortName=m3ct
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3ClusterTemplate is what a ClusterClass makes Metal3Clusters from.
type Metal3ClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +required
	Spec Metal3ClusterTemplateSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// Metal3ClusterTemplateList is a list of Metal3ClusterTemplates.
type Metal3ClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3ClusterTemplates of the list.
	Items []Metal3ClusterTemplate `json:"items"`
}
