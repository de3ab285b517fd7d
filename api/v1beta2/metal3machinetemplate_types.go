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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Reasons of the condition Ready of Metal3MachineTemplate. A template is ready unless its
// author has to correct something; the reason tells where status.capacity comes from.
const (
	// CapacityGivenReason surfaces when annotations of the template give the capacity, or a part of it.
	CapacityGivenReason = "CapacityGiven"
	// CapacityObservedReason surfaces when the capacity is the least that a machine of the template had.
	CapacityObservedReason = "CapacityObserved"
	// CapacityUnknownReason surfaces when there is no capacity, since no machine of the template had a server.
	CapacityUnknownReason = "CapacityUnknown"
	// InvalidCapacityAnnotationReason surfaces when an annotation that gives capacity or node info cannot
	// be understood.
	InvalidCapacityAnnotationReason = "InvalidCapacityAnnotation"
)

// Metal3MachineTemplateSpec describes the Metal3Machines that are made from a template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.failureDomainDataTemplates) || has(self.template.spec.dataTemplate)",message="failureDomainDataTemplates is set, and template.spec.dataTemplate is not: set it to the Metal3DataTemplate for machines in any other failure domain",reason=FieldValueRequired
type Metal3MachineTemplateSpec struct {
	// template is the Metal3Machine to be made.
	// +required
	Template Metal3MachineTemplateResource `json:"template,omitempty,omitzero"`

	// nodeReuse says that a machine takes over the host of the machine that it replaces, instead of
	// giving it back and asking for any host.
	// +optional
	// +kubebuilder:default=false
	NodeReuse *bool `json:"nodeReuse,omitempty"`

	// failureDomainDataTemplates are the Metal3DataTemplates for machines in certain failure domains, which
	// are used instead of template.spec.dataTemplate. The failure domain is that of the host. A
	// machine whose Metal3DataClaim exists keeps the Metal3DataTemplate that the claim names.
	// +optional
	// +listType=map
	// +listMapKey=failureDomain
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomainDataTemplates []FailureDomainDataTemplate `json:"failureDomainDataTemplates,omitempty"`
}

// FailureDomainDataTemplate is the Metal3DataTemplate for machines in one failure domain.
type FailureDomainDataTemplate struct {
	// failureDomain is the failure domain that the host belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="no host can have a label of this value: use at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	FailureDomain string `json:"failureDomain,omitempty"`

	// dataTemplate names the Metal3DataTemplate.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.name)",message="name is empty: set it to the name of a Metal3DataTemplate of the same namespace",reason=FieldValueRequired
	DataTemplate Metal3ObjectRef `json:"dataTemplate,omitempty,omitzero"`
}

// Metal3MachineTemplateResource is the content of a Metal3Machine that is made from a template.
type Metal3MachineTemplateResource struct {
	// metadata holds labels and annotations for the Metal3Machine.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec of the Metal3Machine.
	// +required
	Spec Metal3MachineSpec `json:"spec,omitempty,omitzero"`
}

// Metal3MachineTemplateStatus is what the provider reports about the machines of a template. The
// cluster autoscaler uses it to scale a machine set up from zero.
type Metal3MachineTemplateStatus struct {
	// conditions are the current observations about the object: Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// capacity are the resources that a machine of this template offers.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo tells what kind of Node a machine of this template becomes.
	// +optional
	NodeInfo *NodeInfo `json:"nodeInfo,omitempty"`
}

// Architecture is a CPU architecture, named as in the label kubernetes.io/arch.
// +kubebuilder:validation:Enum=amd64;arm64;s390x;ppc64le
type Architecture string

const (
	// ArchitectureAMD64 is x86-64.
	ArchitectureAMD64 Architecture = "amd64"
	// ArchitectureARM64 is 64-bit ARM.
	ArchitectureARM64 Architecture = "arm64"
	// ArchitectureS390X is IBM Z.
	ArchitectureS390X Architecture = "s390x"
	// ArchitecturePPC64LE is 64-bit POWER, little endian.
	ArchitecturePPC64LE Architecture = "ppc64le"
)

// NodeInfo is what is known of a Node before there is one.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture is the CPU architecture of the Node.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// operatingSystem is the operating system of the Node, named as in the label kubernetes.io/os.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3machinetemplates,scope=Namespaced,categories=cluster-api,shortName=m3mt;m3machinetemplate;m3machinetemplates;metal3mt;metal3machinetemplate
// +kubebuilder:printcolumn:name="Data Template",type="string",JSONPath=".spec.template.spec.dataTemplate.name",description="Metal3DataTemplate of the machines"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.capacity.cpu",description="CPUs that a machine offers, for scaling from zero"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.capacity.memory",description="Memory that a machine offers, for scaling from zero"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Summary of the conditions"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Where the capacity is known from"
// +kubebuilder:printcolumn:name="Image",type="string",priority=1,JSONPath=".spec.template.spec.image.url",description="Image that the machines run"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for, in words"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3MachineTemplate is what control planes and machine deployments make Metal3Machines from.
type Metal3MachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +required
	Spec Metal3MachineTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is what the provider observes.
	// +optional
	Status Metal3MachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3MachineTemplateList is a list of Metal3MachineTemplates.
type Metal3MachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3MachineTemplates of the list.
	Items []Metal3MachineTemplate `json:"items"`
}

// GetConditions returns the conditions of the object.
func (t *Metal3MachineTemplate) GetConditions() []metav1.Condition {
	return t.Status.Conditions
}

// SetConditions replaces the conditions of the object.
func (t *Metal3MachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}
