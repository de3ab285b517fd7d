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
)

// Reasons of the condition Ready of Metal3DataTemplate.
const (
	// DataTemplateReadyReason surfaces when the template can be used.
	DataTemplateReadyReason = ReadyReason
	// InvalidTemplateReason surfaces when the template contradicts itself.
	InvalidTemplateReason = "InvalidTemplate"
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
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=512
	ClusterName *string `json:"clusterName,omitempty"`

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
	Strings []MetaDataString `json:"strings,omitempty"`

	// objectNames are entries with the name of an object.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	ObjectNames []MetaDataObjectName `json:"objectNames,omitempty"`

	// indexes are entries that count up from machine to machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Indexes []MetaDataIndex `json:"indexes,omitempty"`

	// namespaces are entries with the namespace of the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Namespaces []MetaDataNamespace `json:"namespaces,omitempty"`

	// ipAddressesFromPool are entries with the address that a pool gives to the machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	IPAddressesFromPool []FromPool `json:"ipAddressesFromPool,omitempty"`

	// prefixesFromPool are entries with the prefix length of the address from a pool, as a decimal number.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	PrefixesFromPool []FromPool `json:"prefixesFromPool,omitempty"`

	// gatewaysFromPool are entries with the gateway of the address from a pool.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	GatewaysFromPool []FromPool `json:"gatewaysFromPool,omitempty"`

	// dnsServersFromPool are entries with the DNS servers of the address from a pool, separated by commas.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	DNSServersFromPool []FromPool `json:"dnsServersFromPool,omitempty"`

	// fromHostInterfaces are entries with the MAC address of a network interface of the host.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	FromHostInterfaces []MetaDataHostInterface `json:"fromHostInterfaces,omitempty"`

	// fromLabels are entries with the value of a label.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	FromLabels []MetaDataFromLabel `json:"fromLabels,omitempty"`

	// fromAnnotations are entries with the value of an annotation.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	FromAnnotations []MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

// MetaDataString is an entry with a fixed value.
type MetaDataString struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// value is the value of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value,omitempty"`
}

// MetaDataObjectName is an entry with the name of an object.
type MetaDataObjectName struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// object is the object that is looked at.
	// +required
	Object DataObject `json:"object,omitempty"`
}

// MetaDataIndex is an entry with the value prefix + (offset + index * step) + suffix, where index is the
// index of the machine among those of the template.
type MetaDataIndex struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// offset is the value for index 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Offset *int32 `json:"offset,omitempty"`

	// step is the distance between the values of two neighbors.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Step int32 `json:"step,omitempty"`

	// prefix comes before the number.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Prefix string `json:"prefix,omitempty"`

	// suffix comes after the number.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Suffix string `json:"suffix,omitempty"`
}

// MetaDataNamespace is an entry with the namespace of the machine.
type MetaDataNamespace struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`
}

// FromPool is an entry whose value comes from an address pool.
type FromPool struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// name is the name of the pool, in the namespace of the template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// kind is the kind of the pool.
	// +optional
	// +kubebuilder:default=IPPool
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// apiGroup is the API group of the pool.
	// +optional
	// +kubebuilder:default=ipam.metal3.io
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup,omitempty"`
}

// MetaDataHostInterface is an entry with the MAC address of a network interface of the host.
// +kubebuilder:validation:XValidation:rule="has(self.interface) != (has(self.fromBootMAC) && self.fromBootMAC)",message="set either interface, to the name of a network interface, or fromBootMAC: true, not both and not none"
type MetaDataHostInterface struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// interface is the name of the interface, as the inspection of the host found it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Interface string `json:"interface,omitempty"`

	// fromBootMAC takes the MAC address that the host boots from instead.
	// +optional
	FromBootMAC *bool `json:"fromBootMAC,omitempty"`
}

// MetaDataFromLabel is an entry with the value of a label; empty where the object does not carry it.
type MetaDataFromLabel struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// object is the object that is looked at.
	// +required
	Object DataObject `json:"object,omitempty"`

	// label is the key of the label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Label string `json:"label,omitempty"`
}

// MetaDataFromAnnotation is an entry with the value of an annotation; empty where the object does not carry it.
type MetaDataFromAnnotation struct {
	// key is the key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// object is the object that is looked at.
	// +required
	Object DataObject `json:"object,omitempty"`

	// annotation is the key of the annotation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Annotation string `json:"annotation,omitempty"`
}

// Metal3DataTemplateStatus is what the provider reports about a Metal3DataTemplate.
type Metal3DataTemplateStatus struct {
	// conditions are the current observations about the object: Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// indexes tells which Metal3DataClaim holds which index.
	// +optional
	// +listType=map
	// +listMapKey=index
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=65536
	Indexes []DataIndex `json:"indexes,omitempty"`

	// lastUpdated is when the provider last changed this status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
}

// DataIndex is an index in use.
type DataIndex struct {
	// index is the number.
	// +required
	// +kubebuilder:validation:Minimum=0
	Index *int32 `json:"index,omitempty"`

	// name is the name of the Metal3DataClaim that holds the index.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3datatemplates,scope=Namespaced,categories=cluster-api,shortName=m3dt;m3datatemplate;m3datatemplates;metal3dt;metal3datatemplate
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the object belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Summary of the conditions"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is ready, or what it waits for"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for, in words"
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
	Spec Metal3DataTemplateSpec `json:"spec,omitempty,omitzero"`

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

// GetConditions returns the conditions of the object.
func (t *Metal3DataTemplate) GetConditions() []metav1.Condition {
	return t.Status.Conditions
}

// SetConditions replaces the conditions of the object.
func (t *Metal3DataTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}
