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

// Condition AssociateBareMetalHost of Metal3Machine and its reasons.
const (
	// AssociateBareMetalHostCondition reports whether a host has been bound to the machine.
	AssociateBareMetalHostCondition = "AssociateBareMetalHost"
	// AssociateBareMetalHostSuccessReason surfaces when a host has been bound.
	AssociateBareMetalHostSuccessReason = "AssociateBareMetalHostSuccess"
	// WaitingForMetal3MachineOwnerRefReason surfaces when Cluster API has not made a Machine the owner yet.
	WaitingForMetal3MachineOwnerRefReason = "WaitingForMetal3MachineOwnerRef"
	// WaitingForClusterInfrastructureReadyReason surfaces when the infrastructure of the Cluster is not provisioned yet.
	WaitingForClusterInfrastructureReadyReason = "WaitingForClusterInfrastructureReady"
	// WaitingForMetal3ClusterReason surfaces when the Metal3Cluster of the Cluster does not exist yet.
	WaitingForMetal3ClusterReason = "WaitingforMetal3Cluster"
	// WaitingForBootstrapDataReason surfaces when the Machine does not name its bootstrap data yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
	// BootstrapSecretNotFoundReason surfaces when the secret that the Machine names as bootstrap data does not exist.
	BootstrapSecretNotFoundReason = "BootstrapSecretNotFound"
	// AssociateBareMetalHostFailedReason surfaces when claim, facts or user data could not be read or written.
	AssociateBareMetalHostFailedReason = "AssociateBareMetalHostFailed"
	// WaitingForReservedHostReason surfaces when the machine takes over the host of one that is replaced, which is
	// not at rest yet.
	WaitingForReservedHostReason = "WaitingForReservedHost"
	// HostClaimNotBoundReason surfaces when no host answers the HostClaim; the message is that of the claim.
	HostClaimNotBoundReason = "HostClaimNotBound"
	// TakingOverReason surfaces when a HostClaim is being made for a machine that CAPM3 has bound to a host.
	TakingOverReason = "TakingOver"
	// HostLostReason surfaces when the bound host does not exist anymore. The Machine must be replaced.
	HostLostReason = "HostLost"
	// HostClaimNameTakenReason surfaces when a HostClaim of that name belongs to something else.
	HostClaimNameTakenReason = "HostClaimNameTaken"
	// HostClaimTakenOverReason surfaces when the HostClaim in another cluster belongs to a copy of the
	// machine, in another management cluster, that was made while this one lives.
	HostClaimTakenOverReason = "HostClaimTakenOver"
	// InvalidHostClaimStatusReason surfaces when the status of the HostClaim holds a reason that is none.
	// It is a reason of HostClaimReady as well.
	InvalidHostClaimStatusReason = "InvalidHostClaimStatus"
	// BareMetalHostPauseAnnotationSetFailedReason surfaces when the claim could not be paused with its Cluster.
	BareMetalHostPauseAnnotationSetFailedReason = "BareMetalHostPauseAnnotationSetFailed"
	// BareMetalHostPauseAnnotationRemoveFailedReason surfaces when the claim could not be unpaused with its Cluster.
	BareMetalHostPauseAnnotationRemoveFailedReason = "BareMetalHostPauseAnnotationRemoveFailed"
)

// Condition HostClaimReady of Metal3Machine and its reasons.
const (
	// HostClaimReadyCondition reports how far the work on the bound host has come.
	HostClaimReadyCondition = "HostClaimReady"
	// ProvisioningReason surfaces when the image is being written to the host.
	ProvisioningReason = "Provisioning"
	// ProvisionedReason surfaces when the host runs the image that was asked for.
	ProvisionedReason = "Provisioned"
	// PoweredOffReason surfaces when the host has its image and is off, as its HostClaim asks.
	PoweredOffReason = "PoweredOff"
	// DeprovisioningReason surfaces when the host is wiped before it is given back.
	DeprovisioningReason = "Deprovisioning"
)

// Condition AssociateMetal3MachineMetaData of Metal3Machine and its reasons.
const (
	// AssociateMetal3MachineMetaDataCondition reports whether the Metal3DataClaim of the machine exists.
	AssociateMetal3MachineMetaDataCondition = "AssociateMetal3MachineMetaData"
	// AssociateMetal3MachineMetaDataSuccessReason surfaces when the claim exists or none is needed.
	AssociateMetal3MachineMetaDataSuccessReason = "AssociateMetal3MachineMetaDataSuccess"
	// AssociateMetal3MachineMetaDataFailedReason surfaces when the claim could not be made.
	AssociateMetal3MachineMetaDataFailedReason = "AssociateMetal3MachineMetaDataFailed"
	// DisassociateM3MetaDataFailedReason surfaces when the claim could not be given up.
	DisassociateM3MetaDataFailedReason = "DisassociateM3MetaDataFailed"
)

// Condition Metal3DataReady of Metal3Machine and its reasons.
const (
	// Metal3DataReadyCondition reports whether the secrets that configure the host exist.
	Metal3DataReadyCondition = "Metal3DataReady"
	// Metal3DataSecretsReadyReason surfaces when the secrets have been rendered.
	Metal3DataSecretsReadyReason = "Metal3DataSecretsReady"
	// SecretsSetExternallyReason surfaces when the machine uses no data template.
	SecretsSetExternallyReason = "SecretsSetExternally"
	// SecretNotCopiedReason surfaces when a secret cannot be copied next to the HostClaim in another cluster.
	SecretNotCopiedReason = "SecretNotCopied"
	// WaitingForMetal3DataReason surfaces when the Metal3Data of the machine is not ready yet.
	WaitingForMetal3DataReason = "WaitingForMetal3Data"
)

// Condition KubernetesNodeReady of Metal3Machine and its reasons. It is no part of the Ready summary:
// a machine whose Node has not joined yet is Cluster API's to judge.
const (
	// KubernetesNodeReadyCondition reports whether the Node of the machine is known and carries its provider ID.
	KubernetesNodeReadyCondition = "KubernetesNodeReady"
	// NodeFoundReason surfaces when the Node carries the provider ID of the machine.
	NodeFoundReason = "NodeFound"
	// WaitingForNodeReason surfaces when no Node of the workload cluster is that of the machine yet.
	WaitingForNodeReason = "WaitingForNode"
	// WorkloadClusterUnreachableReason surfaces when there is no connection to the workload cluster.
	WorkloadClusterUnreachableReason = "WorkloadClusterUnreachable"
	// NodeAmbiguousReason surfaces when several Nodes fit the machine.
	NodeAmbiguousReason = "NodeAmbiguous"
	// NodeTakenReason surfaces when the Node on the host of the machine carries another provider ID.
	NodeTakenReason = "NodeTaken"
)

// Condition NodeLabelsSynchronized of Metal3Machine and its reasons. It is there while the Metal3Cluster
// carries LabelSyncPrefixesAnnotation and the Node is known, and is no part of the Ready summary. The reason
// InvalidConfiguration surfaces when the annotation cannot be understood.
const (
	// NodeLabelsSynchronizedCondition reports whether the Node carries the labels of its server that are asked for.
	NodeLabelsSynchronizedCondition = "NodeLabelsSynchronized"
	// NodeLabelsSynchronizedReason surfaces when the Node carries the published labels under all prefixes.
	NodeLabelsSynchronizedReason = "NodeLabelsSynchronized"
	// LabelsNotPublishedReason surfaces when under a prefix no label of the server is published.
	LabelsNotPublishedReason = "LabelsNotPublished"
)

// Condition SpecApplied of Metal3Machine and its reasons. It is there only while the machine asks for a rebuild
// that it does not get, and is no part of the Ready summary: the server runs on as it was made. The
// reason InvalidRebuildAnnotation surfaces when RebuildAnnotation is too long.
const (
	// SpecAppliedCondition is False while a rebuild is refused. Otherwise it is absent.
	SpecAppliedCondition = "SpecApplied"
	// RebuildRefusedReason surfaces when this machine may not be rebuilt.
	RebuildRefusedReason = "RebuildRefused"
)

// Types and reasons of the v1beta1 conditions of Metal3Machine where they differ from those of v1beta2.
const (
	// AssociateBMHV1Beta1Condition reports in the format of v1beta1 whether a host has been bound.
	AssociateBMHV1Beta1Condition = "AssociateBMH"
	// KubernetesNodeReadyV1Beta1Condition reports in the format of v1beta1 whether the Node carries its provider ID.
	KubernetesNodeReadyV1Beta1Condition = "KubernetesNodeReady"
	// AssociateBMHFailedV1Beta1Reason surfaces when binding a host ended in an error.
	AssociateBMHFailedV1Beta1Reason = "AssociateBMHFailed"
	// WaitingForClusterInfrastructureV1Beta1Reason surfaces when the infrastructure of the Cluster is not provisioned yet.
	WaitingForClusterInfrastructureV1Beta1Reason = "WaitingForClusterInfrastructure"
	// WaitingForBootstrapReadyV1Beta1Reason surfaces when the bootstrap data of the Machine is not there yet.
	WaitingForBootstrapReadyV1Beta1Reason = "WaitingForBootstrapReady"
	// WaitingForM3MachineOwnerRefV1Beta1Reason surfaces when Cluster API has not made a Machine the owner yet.
	WaitingForM3MachineOwnerRefV1Beta1Reason = "WaitingForM3MachineOwnerRef"
	// AssociateM3MetaDataFailedV1Beta1Reason surfaces when the Metal3DataClaim could not be made.
	AssociateM3MetaDataFailedV1Beta1Reason = "AssociateM3MetaDataFailed"
	// PauseAnnotationSetFailedV1Beta1Reason surfaces when the claim could not be paused with its Cluster.
	PauseAnnotationSetFailedV1Beta1Reason = "PauseAnnotationSetFailedReason"
	// PauseAnnotationRemoveFailedV1Beta1Reason surfaces when the claim could not be unpaused with its Cluster.
	PauseAnnotationRemoveFailedV1Beta1Reason = "PauseAnnotationRemoveFailed"
)

// CleaningMode says what happens to the disks of a host when it is given back.
// +kubebuilder:validation:Enum=metadata;disabled
type CleaningMode string

const (
	// CleaningModeMetadata removes partition tables and other metadata from the disks.
	CleaningModeMetadata CleaningMode = "metadata"
	// CleaningModeDisabled leaves the disks as they are.
	CleaningModeDisabled CleaningMode = "disabled"
)

// Metal3MachineSpec describes the server that a machine needs and what is to run on it.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) || has(self.customDeploy)",message="neither image nor customDeploy is set: set image.url, or customDeploy.method",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.customDeploy) || (has(self.image.diskFormat) && self.image.diskFormat == 'live-iso') || self.image.url.lowerAscii().startsWith('oci://') || (has(self.image.checksum) && size(self.image.checksum) > 0)",message="image.checksum is empty: set it to the checksum of the image or to the URL of a checksum file; only live-iso and oci:// images need none"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.customDeploy) || !self.image.url.lowerAscii().startsWith('oci://') || (!has(self.image.checksumType) && (!has(self.image.checksum) || size(self.image.checksum) == 0))",message="image.checksum and image.checksumType are not used with oci:// images: remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.customDeploy) || !has(self.image.checksum) || !self.image.checksum.matches('^https?://') || isURL(self.image.checksum)",message="image.checksum looks like a URL and is not a valid one: correct the URL"
type Metal3MachineSpec struct {
	// providerID is how the machine and its Node are told to be the same; the provider sets it to
	// metal3://<namespace>/<name of the host>/<name of the Metal3Machine>.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// image is the operating system image to be written to the host.
	// +optional
	Image *Image `json:"image,omitempty"`

	// customDeploy replaces the writing of an image by a deployment procedure of its own.
	// +optional
	CustomDeploy *CustomDeploy `json:"customDeploy,omitempty"`

	// userData has no effect, as with CAPM3: the server gets the bootstrap data of the Machine. For other
	// user data, name its secret in spec.bootstrap.dataSecretName of the Machine.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="name is empty: set it to the name of a secret of the same namespace, or remove userData",reason=FieldValueRequired
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// hostClass is the kind of compute that answers the machine. Without it, that is the default HostClaimClass, or a
	// server if there is none. It cannot be changed once the machine has a claim.
	// +optional
	HostClass *HostClass `json:"hostClass,omitempty"`

	// hostSelector narrows down which hosts may answer the machine.
	// +optional
	HostSelector *HostSelector `json:"hostSelector,omitempty"`

	// dataTemplate names the Metal3DataTemplate that metaData and networkData are rendered from, unless
	// failureDomainDataTemplates of the Metal3MachineTemplate has another one for the host.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name)",message="name is empty: set it to the name of a Metal3DataTemplate of the same namespace, or remove dataTemplate",reason=FieldValueRequired
	DataTemplate *Metal3ObjectRef `json:"dataTemplate,omitempty"`

	// metaData names a secret with ready-made metadata, used instead of rendered metadata.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="name is empty: set it to the name of a secret of the same namespace, or remove metaData",reason=FieldValueRequired
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names a secret with ready-made network data, used instead of rendered network data.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="name is empty: set it to the name of a secret of the same namespace, or remove networkData",reason=FieldValueRequired
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// automatedCleaningMode says what happens to the disks of the host when the machine is deleted and,
	// by nodeReuse, its host is kept for the next machine. metadata erases their partition tables, and their
	// contents only where Ironic is told so. disabled leaves them, where policy permits that, until the image of
	// the next machine is written over them. A host that is given back is always cleaned, since its next tenant
	// may be another.
	// +optional
	AutomatedCleaningMode CleaningMode `json:"automatedCleaningMode,omitempty"`

	// failureDomain is the failure domain that the host must belong to. The failure domain of the
	// Machine, if it has one, is used instead.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="no host can have a label of this value: use at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	FailureDomain string `json:"failureDomain,omitempty"`

	// identityRef gives access to the hosts of another cluster. It wins over the identityRef of the
	// Metal3Cluster.
	// +optional
	IdentityRef *IdentityReference `json:"identityRef,omitempty"`
}

// HostClass asks for a kind of compute.
type HostClass struct {
	// name of a HostClaimClass of the cluster that holds the HostClaims.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="no HostClaimClass can have this name: use lower-case letters, digits, '-' and '.'"
	Name string `json:"name,omitempty"`

	// parameters are what the controller of the class is to know of this machine; its documentation says which.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^[A-Za-z0-9][-A-Za-z0-9_./]{0,62}$'))",message="a key has more than 63 characters, or others than letters, digits, '-', '_', '.' and '/': correct it"
	Parameters map[string]HostClassParameter `json:"parameters,omitempty"`
}

// HostClassParameter is what the controller of a class is to know of a machine.
// +kubebuilder:validation:MinLength=0
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^[ -~]*$`
type HostClassParameter string

// Metal3MachineStatus is what the provider reports about a Metal3Machine.
type Metal3MachineStatus struct {
	// conditions are the current observations about the object: AssociateBareMetalHost,
	// HostClaimReady, AssociateMetal3MachineMetaData, Metal3DataReady, KubernetesNodeReady,
	// IdentityReady, Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API how far the first set-up has come.
	// +optional
	Initialization Metal3MachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// addresses are the IP addresses and names of the host. Its Hostname is the name of the Node
	// once that is known.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// hostClaim names the HostClaim of the machine. With identityRef its namespace is one of the
	// cluster that holds the hosts.
	// +optional
	HostClaim *Metal3ObjectRef `json:"hostClaim,omitempty"`

	// nodeName is the name of the Node of the machine; empty while no Node of the workload cluster
	// is known to be that of the machine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// failureDomain is the failure domain that the bound host belongs to.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// userData names the secret whose user data the host gets.
	// +optional
	UserData *corev1.SecretReference `json:"userData,omitempty"`

	// renderedData names the Metal3Data of the machine.
	// +optional
	RenderedData *Metal3ObjectRef `json:"renderedData,omitempty"`

	// metaData names the secret whose metadata the host gets.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names the secret whose network data the host gets.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// lastUpdated is when the provider last changed this status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// deprecated holds what remains of the status of earlier API versions.
	// +optional
	Deprecated *Metal3MachineDeprecatedStatus `json:"deprecated,omitempty"`
}

// Metal3MachineInitializationStatus is the part of the status that Cluster API waits for.
// +kubebuilder:validation:MinProperties=1
type Metal3MachineInitializationStatus struct {
	// provisioned becomes true once the host runs the image, and stays true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// Metal3MachineDeprecatedStatus groups status fields by the API version they come from.
type Metal3MachineDeprecatedStatus struct {
	// v1beta1 holds the status fields of API version v1beta1.
	// +optional
	V1Beta1 *Metal3MachineV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// Metal3MachineV1Beta1DeprecatedStatus holds the status fields of v1beta1 that v1beta2 has replaced.
type Metal3MachineV1Beta1DeprecatedStatus struct {
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
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3machines,scope=Namespaced,categories=cluster-api,shortName=m3m;m3machine;m3machines;metal3m;metal3machine
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the object belongs to"
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".metadata.annotations.metal3\\.io/BareMetalHost",description="Namespace and name of the bound host"
// +kubebuilder:printcolumn:name="Claim",type="string",JSONPath=".status.hostClaim.name",description="HostClaim of the machine"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Node of the machine in the workload cluster"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Summary of the conditions"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is ready, or what it waits for"
// +kubebuilder:printcolumn:name="Provisioned",type="boolean",priority=1,JSONPath=".status.initialization.provisioned",description="The host runs the image"
// +kubebuilder:printcolumn:name="Failure Domain",type="string",priority=1,JSONPath=".status.failureDomain",description="Failure domain of the bound host"
// +kubebuilder:printcolumn:name="ProviderID",type="string",priority=1,JSONPath=".spec.providerID",description="Provider ID of machine and Node"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for, in words"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3Machine is the infrastructure of a Machine: one bare metal server, or what its hostClass gives.
type Metal3Machine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +required
	Spec Metal3MachineSpec `json:"spec,omitempty,omitzero"`

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

// GetConditions returns the conditions of the object.
func (m *Metal3Machine) GetConditions() []metav1.Condition {
	return m.Status.Conditions
}

// SetConditions replaces the conditions of the object.
func (m *Metal3Machine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// GetV1Beta1Conditions returns the conditions in the format of v1beta1.
func (m *Metal3Machine) GetV1Beta1Conditions() clusterv1.Conditions {
	if m.Status.Deprecated == nil || m.Status.Deprecated.V1Beta1 == nil {
		return nil
	}
	return m.Status.Deprecated.V1Beta1.Conditions
}

// SetV1Beta1Conditions replaces the conditions in the format of v1beta1.
func (m *Metal3Machine) SetV1Beta1Conditions(conditions clusterv1.Conditions) {
	if m.Status.Deprecated == nil {
		m.Status.Deprecated = &Metal3MachineDeprecatedStatus{}
	}
	if m.Status.Deprecated.V1Beta1 == nil {
		m.Status.Deprecated.V1Beta1 = &Metal3MachineV1Beta1DeprecatedStatus{}
	}
	m.Status.Deprecated.V1Beta1.Conditions = conditions
}
