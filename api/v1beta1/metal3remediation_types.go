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

// Metal3RemediationSpec describes a remediation.
type Metal3RemediationSpec struct {
	// strategy is how the machine is treated.
	// +optional
	Strategy *RemediationStrategy `json:"strategy,omitempty"`
}

// RemediationStrategy is how an unhealthy machine is treated and how often.
type RemediationStrategy struct {
	// type is the kind of treatment.
	// +optional
	// +kubebuilder:default=Reboot
	Type infrav1.RemediationType `json:"type,omitempty"`

	// retryLimit is how many times the treatment is repeated before the Machine is given up; 0 stands for
	// the default of v1beta2.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryLimit int32 `json:"retryLimit,omitempty"`

	// timeout is how long the machine may take to become healthy after a treatment, in whole seconds.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100s') && duration(self) <= duration('2147483647s')",message="timeout is too short or too long: set it to 100s or more"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1beta1 Metal3Remediation is deprecated: use v1beta2"
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3remediations,scope=Namespaced,categories=cluster-api,shortName=m3r;m3remediation
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".spec.strategy.type",description="Kind of treatment"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="How far the remediation has come"
// +kubebuilder:printcolumn:name="Retry limit",type="integer",JSONPath=".spec.strategy.retryLimit",description="How many times the treatment is repeated at most"
// +kubebuilder:printcolumn:name="Retry count",type="integer",JSONPath=".status.retryCount",description="How many times the treatment has been repeated"
// +kubebuilder:printcolumn:name="Last Remediated",type="string",JSONPath=".status.lastRemediated",description="When the last treatment began"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3Remediation is the treatment of one unhealthy machine. Machine health checks make it.
type Metal3Remediation struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +optional
	Spec Metal3RemediationSpec `json:"spec,omitempty"`

	// status is what the provider observes.
	// +optional
	Status infrav1.Metal3RemediationStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3RemediationList is a list of Metal3Remediations.
type Metal3RemediationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3Remediations of the list.
	Items []Metal3Remediation `json:"items"`
}
