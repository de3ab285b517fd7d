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

// APIEndpoint is the address under which the API server of a workload cluster is reached; an empty host with
// port 0 means none.
// +kubebuilder:validation:XValidation:rule="size(self.host) > 0 || self.port == 0",message="host is empty: set it to a DNS name or an IP address, or remove controlPlaneEndpoint if something else sets it",reason=FieldValueRequired
type APIEndpoint struct {
	// host is the DNS name or IP address of the API server.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host"`

	// port is the TCP port of the API server.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// FailureDomain is a failure domain that machines may be placed in.
type FailureDomain struct {
	// controlPlane is true if control plane machines may be placed in the failure domain.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// attributes are free.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Metal3ClusterSpec describes the infrastructure that all machines of a Cluster share.
// +kubebuilder:validation:XValidation:rule="!has(self.noCloudProvider) || !has(self.cloudProviderEnabled) || self.noCloudProvider != self.cloudProviderEnabled",message="noCloudProvider contradicts cloudProviderEnabled: remove noCloudProvider"
type Metal3ClusterSpec struct {
	// controlPlaneEndpoint is the address of the API server of the Cluster. It may be left empty
	// when something else, such as a control plane provider, sets it later.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint"`

	// noCloudProvider is the contrary of cloudProviderEnabled.
	//
	// Deprecated: use cloudProviderEnabled.
	//
	// +optional
	NoCloudProvider *bool `json:"noCloudProvider,omitempty"`

	// cloudProviderEnabled says that a cloud provider runs in the Cluster and sets the provider
	// IDs of its Nodes, so that this provider must not.
	// +optional
	CloudProviderEnabled *bool `json:"cloudProviderEnabled,omitempty"`

	// failureDomains are the failure domains that machines may be spread over, by name. A host belongs to
	// the one that its label infrastructure.cluster.x-k8s.io/failure-domain names.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="no host can have a label with the name of one of the failure domains: use at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	FailureDomains map[string]FailureDomain `json:"failureDomains,omitempty"`

	// identityRef gives access to the hosts of another cluster, for all machines that name no
	// identity of their own. Without it hosts are claimed in this cluster.
	// +optional
	IdentityRef *infrav1.IdentityReference `json:"identityRef,omitempty"`
}

// Metal3ClusterStatus is what the provider reports about a Metal3Cluster.
type Metal3ClusterStatus struct {
	// conditions are the conditions in the form of this version.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"`

	// ready becomes true once machines may be created, and stays true.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// failureReason is a short code for an error that needs a change by the user.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes the error of failureReason.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// failureDomains are the failure domains that Cluster API may place machines in, by name.
	// +optional
	FailureDomains map[string]FailureDomain `json:"failureDomains,omitempty"`

	// lastUpdated is when the provider last changed this status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// v1beta2 holds the conditions in the form of v1beta2.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3Cluster is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3clusters,scope=Namespaced,categories=cluster-api,shortName=m3c;m3cluster;m3clusters;metal3c;metal3cluster
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the object belongs to"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Host of the control plane endpoint"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Machines may be created"
// +kubebuilder:printcolumn:name="Error",type="string",JSONPath=".status.failureReason",description="Error that needs a change by the user"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3Cluster is the infrastructure of a Cluster whose machines are bare metal servers.
type Metal3Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +optional
	Spec Metal3ClusterSpec `json:"spec,omitempty"`

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
