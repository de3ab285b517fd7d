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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Image is the operating system image to be written to a host.
type Image struct {
	// url is where the image is fetched from.
	// +required
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	URL string `json:"url,omitempty"`

	// checksum of the image, or the URL of a file that holds it. It is needed unless the image
	// is a live ISO or comes from an OCI registry.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Checksum *string `json:"checksum,omitempty"`

	// checksumType is the hash function of the checksum.
	// +optional
	ChecksumType infrav1.ChecksumType `json:"checksumType,omitempty"`

	// format is the file format of the image.
	// +optional
	DiskFormat infrav1.DiskFormat `json:"format,omitempty"`
}

// Metal3MachineSpec describes the server that a machine needs and what is to run on it.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) || has(self.customDeploy)",message="neither image nor customDeploy is set: set image.url, or customDeploy.method",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.customDeploy) || (has(self.image.format) && self.image.format == 'live-iso') || self.image.url.lowerAscii().startsWith('oci://') || (has(self.image.checksum) && size(self.image.checksum) > 0)",message="image.checksum is empty: set it to the checksum of the image or to the URL of a checksum file; only live-iso and oci:// images need none"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.customDeploy) || !self.image.url.lowerAscii().startsWith('oci://') || (!has(self.image.checksumType) && (!has(self.image.checksum) || size(self.image.checksum) == 0))",message="image.checksum and image.checksumType are not used with oci:// images: remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.customDeploy) || !has(self.image.checksum) || !self.image.checksum.matches('^https?://') || isURL(self.image.checksum)",message="image.checksum looks like a URL and is not a valid one: correct the URL"
type Metal3MachineSpec struct {
	// providerID is how the machine and its Node are told to be the same; the provider sets it to
	// metal3://<namespace>/<name of the host>/<name of the Metal3Machine>.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// image is the operating system image to be written to the host.
	// +optional
	Image *Image `json:"image,omitempty"`

	// customDeploy replaces the writing of an image by a deployment procedure of its own.
	// +optional
	CustomDeploy *infrav1.CustomDeploy `json:"customDeploy,omitempty"`

	// userData has no effect, as with CAPM3: the server gets the bootstrap data of the Machine. For other
	// user data, name its secret in spec.bootstrap.dataSecretName of the Machine.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="name is empty: set it to the name of a secret of the same namespace, or remove userData",reason=FieldValueRequired
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// hostClass is the kind of compute that answers the machine. Without it, that is the default HostClaimClass, or a
	// server if there is none. It cannot be changed once the machine has a claim.
	// +optional
	HostClass *infrav1.HostClass `json:"hostClass,omitempty"`

	// hostSelector narrows down which hosts may answer the machine.
	// +optional
	HostSelector *infrav1.HostSelector `json:"hostSelector,omitempty"`

	// dataTemplate names the Metal3DataTemplate that metaData and networkData are rendered from, unless
	// failureDomainDataTemplates of the Metal3MachineTemplate has another one for the host.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="name is empty: set it to the name of a Metal3DataTemplate of the same namespace, or remove dataTemplate",reason=FieldValueRequired
	DataTemplate *ObjectReference `json:"dataTemplate,omitempty"`

	// metaData names a secret with ready-made metadata, used instead of rendered metadata.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="name is empty: set it to the name of a secret of the same namespace, or remove metaData",reason=FieldValueRequired
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names a secret with ready-made network data, used instead of rendered network data.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="name is empty: set it to the name of a secret of the same namespace, or remove networkData",reason=FieldValueRequired
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// automatedCleaningMode says what happens to the disks of the host when the machine is deleted and its host
	// is kept for the next machine, as in v1beta2.
	// +optional
	AutomatedCleaningMode infrav1.CleaningMode `json:"automatedCleaningMode,omitempty"`

	// failureDomain is the failure domain that the host must belong to. The failure domain of the
	// Machine, if it has one, is used instead.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')",message="no host can have a label of this value: use at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	FailureDomain string `json:"failureDomain,omitempty"`

	// identityRef gives access to the hosts of another cluster. It wins over the identityRef of the
	// Metal3Cluster.
	// +optional
	IdentityRef *infrav1.IdentityReference `json:"identityRef,omitempty"`
}

// Metal3MachineStatus is what the provider reports about a Metal3Machine.
type Metal3MachineStatus struct {
	// conditions are the conditions in the form of this version.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"`

	// ready becomes true once the host runs the image, and stays true.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// phase is not set by the provider.
	// +optional
	Phase string `json:"phase,omitempty"`

	// failureReason is a short code for an error that needs a change by the user.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes the error of failureReason.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// addresses are the IP addresses and names of the host. Its Hostname is the name of the Node
	// once that is known.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// hostClaim names the HostClaim of the machine. With identityRef its namespace is one of the
	// cluster that holds the hosts.
	// +optional
	HostClaim *infrav1.Metal3ObjectRef `json:"hostClaim,omitempty"`

	// nodeName is the name of the Node of the machine; empty while no Node of the workload cluster
	// is known to be that of the machine.
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// failureDomain is the failure domain that the bound host belongs to.
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`

	// userData names the secret whose user data the host gets.
	// +optional
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// renderedData names the Metal3Data of the machine.
	// +optional
	RenderedData *ObjectReference `json:"renderedData,omitempty"`

	// metaData names the secret whose metadata the host gets.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names the secret whose network data the host gets.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// lastUpdated is when the provider last changed this status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// v1beta2 holds the conditions in the form of v1beta2.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3Machine is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3machines,scope=Namespaced,categories=cluster-api,shortName=m3m;m3machine;m3machines;metal3m;metal3machine
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the object belongs to"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider ID of machine and Node"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="The host runs the image"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3Machine is the infrastructure of a Machine: one bare metal server, or what its hostClass gives.
type Metal3Machine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +required
	Spec Metal3MachineSpec `json:"spec,omitempty"`

	// status is what the provider observes.
	// +optional
	Status Metal3MachineStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3MachineList is a list of Metal3Machines.
type Metal3MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3Machines of the list.
	Items []Metal3Machine `json:"items"`
}
