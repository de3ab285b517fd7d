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

// Conditions and reasons of Metal3Cluster.
const (
	// BaremetalInfrastructureReadyCondition reports whether everything that the Cluster needs before its
	// first machine is there.
	BaremetalInfrastructureReadyCondition = "BaremetalInfrastructureReady"
	// BaremetalInfrastructureReadyReason surfaces when the control plane endpoint is known.
	BaremetalInfrastructureReadyReason = "Ready"
	// WaitingForControlPlaneEndpointReason surfaces when no complete control plane endpoint is set yet.
	WaitingForControlPlaneEndpointReason = "WaitingForControlPlaneEndpoint"
	// WaitingForClusterOwnerReason surfaces when Cluster API has not made a Cluster the owner of the object yet.
	WaitingForClusterOwnerReason = "WaitingForClusterOwner"
)

// Metal3ClusterSpec describes the infrastructure that all machines of a Cluster share.
type Metal3ClusterSpec struct {
	// controlPlaneEndpoint is the address of the API server of the Cluster. It may be left empty
	// when something else, such as a control plane provider, sets it later.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// cloudProviderEnabled says that a cloud provider runs in the Cluster and sets the provider
	// IDs of its Nodes, so that this provider must not.
	// +optional
	CloudProviderEnabled *bool `json:"cloudProviderEnabled,omitempty"`

	// failureDomains are the failure domains that machines may be spread over. A host belongs to
	// the one that its label infrastructure.cluster.x-k8s.io/failure-domain names.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(d, d.name.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="no host can have a label with the name of one of the failure domains: use at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// identityRef gives access to the hosts of another cluster, for all machines that name no
	// identity of their own. Without it hosts are claimed in this cluster.
	// +optional
	IdentityRef *IdentityReference `json:"identityRef,omitempty"`
}

// Metal3ClusterStatus is what the provider reports about a Metal3Cluster.
type Metal3ClusterStatus struct {
	// conditions are the current observations about the object: BaremetalInfrastructureReady,
	// IdentityReady, Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API how far the first set-up has come.
	// +optional
	Initialization Metal3ClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// failureDomains are the failure domains that Cluster API may place machines in.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// lastUpdated is when the provider last changed this status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// deprecated holds what remains of the status of earlier API versions.
	// +optional
	Deprecated *Metal3ClusterDeprecatedStatus `json:"deprecated,omitempty"`
}

// Metal3ClusterInitializationStatus is the part of the status that Cluster API waits for.
// +kubebuilder:validation:MinProperties=1
type Metal3ClusterInitializationStatus struct {
	// provisioned becomes true once machines may be created, and stays true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// Metal3ClusterDeprecatedStatus groups status fields by the API version they come from.
type Metal3ClusterDeprecatedStatus struct {
	// v1beta1 holds the status fields of API version v1beta1.
	// +optional
	V1Beta1 *Metal3ClusterV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// Metal3ClusterV1Beta1DeprecatedStatus holds the status fields of v1beta1 that v1beta2 has replaced.
type Metal3ClusterV1Beta1DeprecatedStatus struct {
	// conditions are the conditions in the format of v1beta1, derived from status.conditions.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"`

	// failureReason is a short code for an error that needs a change by the user.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes the error of failureReason.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3clusters,scope=Namespaced,categories=cluster-api,shortName=m3c;m3cluster;m3clusters;metal3c;metal3cluster
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the object belongs to"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Host of the control plane endpoint"
// +kubebuilder:printcolumn:name="Port",type="integer",JSONPath=".spec.controlPlaneEndpoint.port",description="Port of the control plane endpoint"
// +kubebuilder:printcolumn:name="Infrastructure",type="string",JSONPath=".status.conditions[?(@.type==\"BaremetalInfrastructureReady\")].reason",description="Is the endpoint known, and if not, what is waited for"
// +kubebuilder:printcolumn:name="Provisioned",type="boolean",JSONPath=".status.initialization.provisioned",description="Machines may be created"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Summary of the conditions"
// +kubebuilder:printcolumn:name="Identity",type="string",priority=1,JSONPath=".spec.identityRef.name",description="Secret with the kubeconfig for the cluster that holds the hosts"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for, in words"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3Cluster is the infrastructure of a Cluster whose machines are bare metal servers.
type Metal3Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +optional
	Spec Metal3ClusterSpec `json:"spec,omitempty,omitzero"`

	// status is what the provider observes.
	// +optional
	Status Metal3ClusterStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3ClusterList is a list of Metal3Clusters.
type Metal3ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3Clusters of the list.
	Items []Metal3Cluster `json:"items"`
}

// GetConditions returns the conditions of the object.
func (c *Metal3Cluster) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces the conditions of the object.
func (c *Metal3Cluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// GetV1Beta1Conditions returns the conditions in the format of v1beta1.
func (c *Metal3Cluster) GetV1Beta1Conditions() clusterv1.Conditions {
	if c.Status.Deprecated == nil || c.Status.Deprecated.V1Beta1 == nil {
		return nil
	}
	return c.Status.Deprecated.V1Beta1.Conditions
}

// SetV1Beta1Conditions replaces the conditions in the format of v1beta1.
func (c *Metal3Cluster) SetV1Beta1Conditions(conditions clusterv1.Conditions) {
	if c.Status.Deprecated == nil {
		c.Status.Deprecated = &Metal3ClusterDeprecatedStatus{}
	}
	if c.Status.Deprecated.V1Beta1 == nil {
		c.Status.Deprecated.V1Beta1 = &Metal3ClusterV1Beta1DeprecatedStatus{}
	}
	c.Status.Deprecated.V1Beta1.Conditions = conditions
}
