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

// Metal3DataTemplateSpec describes the data that each machine gets on its config drive.
//
// +kubebuilder:validation:XValidation:rule="has(self.metaData) == has(oldSelf.metaData) && (!has(self.metaData) || self.metaData == oldSelf.metaData)",message="metaData cannot be changed: make a new Metal3DataTemplate and name it in a new Metal3MachineTemplate",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.networkData) == has(oldSelf.networkData) && (!has(self.networkData) || self.networkData == oldSelf.networkData)",message="networkData cannot be changed: make a new Metal3DataTemplate and name it in a new Metal3MachineTemplate",reason=FieldValueForbidden
type Metal3DataTemplateSpec struct {
	// clusterName is not used anymore: a template may serve several Clusters.
	//
	// Deprecated: leave it out.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ClusterName *string `json:"clusterName,omitempty"`

	// templateReference is not used.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	TemplateReference string `json:"templateReference,omitempty"`

	// metaData is what the metadata of a machine consists of.
	// +optional
	MetaData *MetaData `json:"metaData,omitempty"`

	// networkData is what the network configuration of a machine consists of.
	// +optional
	NetworkData *NetworkData `json:"networkData,omitempty"`
}

// MetaData lists the entries of the metadata by where their values come from. Each entry
// becomes one key; if lists share a key, strings win, then fromAnnotations, fromLabels,
// objectNames, namespaces, indexes, and the pools.
type MetaData struct {
	// strings are entries with a fixed value.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Strings []infrav1.MetaDataString `json:"strings,omitempty"`

	// objectNames are entries with the name of an object.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	ObjectNames []infrav1.MetaDataObjectName `json:"objectNames,omitempty"`

	// indexes are entries that count up from machine to machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Indexes []infrav1.MetaDataIndex `json:"indexes,omitempty"`

	// namespaces are entries with the namespace of the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Namespaces []infrav1.MetaDataNamespace `json:"namespaces,omitempty"`

	// ipAddressesFromIPPool are entries with the address that a pool gives to the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	IPAddressesFromPool []infrav1.FromPool `json:"ipAddressesFromIPPool,omitempty"`

	// prefixesFromIPPool are entries with the prefix length of the address from a pool, as a decimal number.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	PrefixesFromPool []infrav1.FromPool `json:"prefixesFromIPPool,omitempty"`

	// gatewaysFromIPPool are entries with the gateway of the address from a pool.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	GatewaysFromPool []infrav1.FromPool `json:"gatewaysFromIPPool,omitempty"`

	// dnsServersFromIPPool are entries with the DNS servers of the address from a pool, separated by commas.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	DNSServersFromPool []infrav1.FromPool `json:"dnsServersFromIPPool,omitempty"`

	// fromHostInterfaces are entries with the MAC address of a network interface of the host.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	FromHostInterfaces []infrav1.MetaDataHostInterface `json:"fromHostInterfaces,omitempty"`

	// fromLabels are entries with the value of a label.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	FromLabels []infrav1.MetaDataFromLabel `json:"fromLabels,omitempty"`

	// fromAnnotations are entries with the value of an annotation.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	FromAnnotations []infrav1.MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

// Metal3DataTemplateStatus is what the provider reports about a Metal3DataTemplate.
type Metal3DataTemplateStatus struct {
	// conditions are the current observations about the object, as in v1beta2.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// indexes tells which Metal3DataClaim holds which index.
	// +optional
	Indexes map[string]int32 `json:"indexes,omitempty"`

	// lastUpdated is when the provider last changed this status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3DataTemplate is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3datatemplates,scope=Namespaced,categories=cluster-api,shortName=m3dt;m3datatemplate;m3datatemplates;metal3dt;metal3datatemplate
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the object belongs to"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:validation:XValidation:rule="has(self.spec) == has(oldSelf.spec) || (has(self.spec) ? !has(self.spec.metaData) && !has(self.spec.networkData) : !has(oldSelf.spec.metaData) && !has(oldSelf.spec.networkData))",message="metaData and networkData cannot be added or removed: make a new Metal3DataTemplate and name it in a new Metal3MachineTemplate",reason=FieldValueForbidden

// Metal3DataTemplate is what metadata and network data of machines are rendered from.
type Metal3DataTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +optional
	Spec Metal3DataTemplateSpec `json:"spec,omitempty"`

	// status is what the provider observes.
	// +optional
	Status Metal3DataTemplateStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3DataTemplateList is a list of Metal3DataTemplates.
type Metal3DataTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3DataTemplates of the list.
	Items []Metal3DataTemplate `json:"items"`
}
