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

import "k8s.io/apimachinery/pkg/selection"

// Conditions and reasons of several kinds.
const (
	// ReadyCondition sums up the other conditions of an object.
	ReadyCondition = "Ready"
	// ReadyReason surfaces when all conditions that Ready sums up hold.
	ReadyReason = "Ready"
	// NotReadyReason surfaces when a condition that Ready sums up does not hold and has no reason.
	NotReadyReason = "NotReady"

	// PausedCondition reports whether the object, or the Cluster that it belongs to, is paused.
	PausedCondition = "Paused"
	// PausedReason surfaces when nothing is written for the object until it is unpaused.
	PausedReason = "Paused"
	// NotPausedReason surfaces when the object is reconciled.
	NotPausedReason = "NotPaused"

	// DeletingReason surfaces when the object has been deleted and is being cleaned up.
	DeletingReason = "Deleting"
	// DeletionFailedReason surfaces when cleaning up after the object ended in an error.
	DeletionFailedReason = "DeletionFailed"
	// WaitingForHostClaimReason surfaces when no host has been bound to the HostClaim of the machine yet.
	WaitingForHostClaimReason = "WaitingForHostClaim"
	// HardwareDataMissingReason surfaces when the hardware facts of the bound host are not published.
	HardwareDataMissingReason = "HardwareDataMissing"
	// SecretsForbiddenReason surfaces when a manager lacks a right on secrets; the message names verb,
	// resource and namespace.
	SecretsForbiddenReason = "SecretsForbidden"
	// InvalidConfigurationReason surfaces when the spec contradicts itself and must be corrected.
	InvalidConfigurationReason = "InvalidConfiguration"
	// TemplateNotFoundReason surfaces when the Metal3DataTemplate that the object refers to does not exist.
	TemplateNotFoundReason = "TemplateNotFound"
	// RenderingFailedReason surfaces when the data template cannot be rendered for this host and machine.
	RenderingFailedReason = "RenderingFailed"
)

// APIEndpoint is the address under which the API server of a workload cluster is reached.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.host)",message="host is empty: set it to a DNS name or an IP address, or remove controlPlaneEndpoint if something else sets it",reason=FieldValueRequired
type APIEndpoint struct {
	// host is the DNS name or IP address of the API server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port is the TCP port of the API server; 6443 when a host is given without a port.
	// +optional
	// +kubebuilder:default=6443
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// IsZero reports whether neither host nor port has been set.
func (e APIEndpoint) IsZero() bool {
	return e.Host == "" && e.Port == 0
}

// IsValid reports whether both host and port have been set.
func (e APIEndpoint) IsValid() bool {
	return e.Host != "" && e.Port != 0
}

// IdentityReference names the credentials for the cluster that holds the hosts.
type IdentityReference struct {
	// name is the name of a secret in the namespace of the referring object. Its key
	// kubeconfig gives access to the namespace in which HostClaims are to be created.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="no secret can have this name: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Name string `json:"name,omitempty"`

	// context is the context of the kubeconfig to use instead of its current context.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Context string `json:"context,omitempty"`
}

// Metal3ObjectRef points at an object of this API group.
// +structType=atomic
type Metal3ObjectRef struct {
	// name is the name of the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// namespace is the namespace of the object; empty means that of the referring object,
	// and no other is allowed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
}

// HostSelector narrows down which hosts may answer a machine. All given criteria must hold.
type HostSelector struct {
	// matchLabels are labels that the host must carry with exactly these values.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// matchExpressions are conditions on labels that the host must meet.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	MatchExpressions []HostSelectorRequirement `json:"matchExpressions,omitempty"`

	// inNamespace restricts the choice to the hosts of one namespace of the infrastructure;
	// empty means every namespace that admits the machine's namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="no namespace can have this name: use lower-case letters, digits and '-', beginning and ending with a letter or digit"
	InNamespace string `json:"inNamespace,omitempty"`
}

// HostSelectorRequirement is one condition on one label of a host.
// +kubebuilder:validation:XValidation:rule="!(self.operator.lowerAscii() in ['exists', '!', 'doesnotexist']) || !has(self.values) || size(self.values) == 0",message="operators Exists, DoesNotExist and ! compare with nothing: remove the values"
// +kubebuilder:validation:XValidation:rule="!(self.operator.lowerAscii() in ['in', 'notin']) || (has(self.values) && size(self.values) > 0)",message="operators In and NotIn compare with a list: set values to at least one"
// +kubebuilder:validation:XValidation:rule="!(self.operator.lowerAscii() in ['=', '==', '!=']) || (has(self.values) && size(self.values) == 1)",message="operators =, == and != compare with one value: set values to exactly one"
type HostSelectorRequirement struct {
	// key is the key of the label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key,omitempty"`

	// operator relates the label to the values: one of In, NotIn, =, ==, !=, Exists, ! and
	// DoesNotExist, in upper or lower case.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() in ['in', 'notin', '=', '==', '!=', 'exists', '!', 'doesnotexist']",message="a HostClaim cannot have this operator: use one of In, NotIn, =, ==, !=, Exists and DoesNotExist; in place of Gt and Lt, label the hosts by class and use In"
	Operator selection.Operator `json:"operator,omitempty"`

	// values are what the label is compared with; empty for the operators exists and !.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Values []string `json:"values,omitempty"`
}

// ChecksumType is the hash function that made the checksum of an image.
// +kubebuilder:validation:Enum=md5;sha256;sha512
type ChecksumType string

const (
	// ChecksumTypeMD5 stands for MD5.
	ChecksumTypeMD5 ChecksumType = "md5"
	// ChecksumTypeSHA256 stands for SHA-256.
	ChecksumTypeSHA256 ChecksumType = "sha256"
	// ChecksumTypeSHA512 stands for SHA-512.
	ChecksumTypeSHA512 ChecksumType = "sha512"
)

// DiskFormat is the file format of an image.
// +kubebuilder:validation:Enum=raw;qcow2;vdi;vmdk;live-iso
type DiskFormat string

const (
	// DiskFormatRaw is a plain copy of a disk.
	DiskFormatRaw DiskFormat = "raw"
	// DiskFormatQCOW2 is the format of QEMU.
	DiskFormatQCOW2 DiskFormat = "qcow2"
	// DiskFormatVDI is the format of VirtualBox.
	DiskFormatVDI DiskFormat = "vdi"
	// DiskFormatVMDK is the format of VMware.
	DiskFormatVMDK DiskFormat = "vmdk"
	// DiskFormatLiveISO is an image that is booted and never written to a disk.
	DiskFormatLiveISO DiskFormat = "live-iso"
)

// Image is the operating system image to be written to a host.
type Image struct {
	// url is where the image is fetched from.
	// +required
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii().matches('^(https?|ftp|gopher|oci)://')",message="no server can fetch an image by this scheme: use http, https, ftp, gopher or oci"
	URL string `json:"url,omitempty"`

	// checksum of the image, or the URL of a file that holds it. It is needed unless the image
	// is a live ISO or comes from an OCI registry.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=512
	Checksum *string `json:"checksum,omitempty"`

	// checksumType is the hash function of the checksum.
	// +optional
	ChecksumType ChecksumType `json:"checksumType,omitempty"`

	// diskFormat is the file format of the image.
	// +optional
	DiskFormat DiskFormat `json:"diskFormat,omitempty"`
}

// CustomDeploy names a deployment procedure that replaces the writing of an image.
type CustomDeploy struct {
	// method is the name of the deploy step that the deployment ramdisk provides.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Method string `json:"method,omitempty"`
}

// IPPoolReference points at the pool that addresses are taken from. The pool lives in the
// namespace of the data template.
type IPPoolReference struct {
	// name is the name of the pool.
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

	// apiGroup is the API group of the pool; pools of another group than ipam.metal3.io are
	// asked by the claims of Cluster API's IPAM contract.
	// +optional
	// +kubebuilder:default=ipam.metal3.io
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup,omitempty"`
}

// DataObject is an object whose name, labels or annotations a data template may use.
// +kubebuilder:validation:Enum=machine;metal3machine;baremetalhost
type DataObject string

const (
	// DataObjectMachine is the Machine of Cluster API.
	DataObjectMachine DataObject = "machine"
	// DataObjectMetal3Machine is the Metal3Machine.
	DataObjectMetal3Machine DataObject = "metal3machine"
	// DataObjectBareMetalHost is the bound host, as far as its owner publishes it.
	DataObjectBareMetalHost DataObject = "baremetalhost"
)

// FromPoolAnnotation takes the name of an IPPool of group ipam.metal3.io from an annotation.
type FromPoolAnnotation struct {
	// object is the object that carries the annotation.
	// +required
	Object DataObject `json:"object,omitempty"`

	// annotation is the key of the annotation whose value is the name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Annotation string `json:"annotation,omitempty"`
}
