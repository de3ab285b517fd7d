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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// BareMetalControllerName is the controllerName of classes whose claims the hostclaim manager answers, with servers.
const BareMetalControllerName = "hostclaim.metal3.io/baremetal"

// KubeVirtControllerName is the controllerName of classes whose claims the kubevirt manager answers, with virtual machines.
const KubeVirtControllerName = "hostclaim.metal3.io/kubevirt"

// Condition Accepted of HostClaimClass and its reasons.
const (
	// AcceptedCondition reports whether the controller that the class names answers its claims. Without it, or with one
	// of an older generation, no such controller has looked at the class yet.
	AcceptedCondition = "Accepted"
	// AcceptedReason surfaces when the controller answers claims of the class.
	AcceptedReason = "Accepted"
	// InvalidParametersReason surfaces when the controller does not understand the parameters of the class.
	InvalidParametersReason = "InvalidParameters"
	// InvalidNamespaceSelectorReason surfaces when namespaceSelector cannot be understood.
	InvalidNamespaceSelectorReason = "InvalidNamespaceSelector"
)

// HostClaimClassSpec says which controller answers the claims of a class, and for whom.
type HostClaimClassSpec struct {
	// controllerName names the controller that answers the claims of this class: the domain of its author, a slash and
	// a name, such as hostclaim.metal3.io/baremetal. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9._/]*[A-Za-z0-9])?$')",message="controllerName is not a domain, a slash and a name: write it as the documentation of the controller does"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="controllerName cannot be changed, since claims may have been answered: create another class"
	ControllerName string `json:"controllerName,omitempty"`

	// parameters are for the controller alone, which documents and checks them. Tenants may read them.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`

	// namespaceSelector selects the namespaces whose claims may use the class, by their labels; {} selects all.
	// The label kubernetes.io/metadata.name is the name of a namespace.
	// +required
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// HostClaimClassStatus is what the controller of a class reports about it.
type HostClaimClassStatus struct {
	// conditions are the current observations about the class: Accepted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=hostclaimclasses,scope=Cluster,shortName=hcc
// +kubebuilder:printcolumn:name="Controller",type="string",JSONPath=".spec.controllerName",description="The controller that answers its claims"
// +kubebuilder:printcolumn:name="Default",type="string",JSONPath=".metadata.annotations.hostclaim\\.metal3\\.io/is-default-class",description="Whether claims without a class get this one"
// +kubebuilder:printcolumn:name="Accepted",type="string",JSONPath=".status.conditions[?(@.type==\"Accepted\")].status",description="Whether the controller answers its claims"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Accepted\")].message",description="Why its claims are not answered"

// HostClaimClass is a kind of compute by which HostClaims are answered. A claim names its class by the label
// hostclaim.metal3.io/class.
//
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name has more than 63 characters, and cannot be the value of a label: shorten it"
type HostClaimClass struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the administrator of the compute wants.
	// +required
	Spec HostClaimClassSpec `json:"spec,omitzero"`

	// status is what the controller of the class observes.
	// +optional
	Status HostClaimClassStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// HostClaimClassList is a list of HostClaimClasses.
type HostClaimClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the HostClaimClasses of the list.
	Items []HostClaimClass `json:"items"`
}
