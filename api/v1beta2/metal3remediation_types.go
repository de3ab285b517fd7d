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

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RemediationType is how an unhealthy machine is treated.
// +kubebuilder:validation:Enum=Reboot
type RemediationType string

// RemediationTypeReboot powers the host off and on again.
const RemediationTypeReboot RemediationType = "Reboot"

// RemediationPhase is how far a remediation has come.
// +kubebuilder:validation:Enum=Running;Waiting;Deleting machine;Failed
type RemediationPhase string

const (
	// RemediationPhaseRunning says that the host is being powered off and its workload moved away.
	RemediationPhaseRunning RemediationPhase = "Running"
	// RemediationPhaseWaiting says that the host has been powered on and its Node is waited for.
	RemediationPhaseWaiting RemediationPhase = "Waiting"
	// RemediationPhaseDeletingMachine says that rebooting did not help and the Machine is to be replaced.
	RemediationPhaseDeletingMachine RemediationPhase = "Deleting machine"
	// RemediationPhaseFailed says that the remediation cannot be carried out.
	RemediationPhaseFailed RemediationPhase = "Failed"
)

// Reasons of the condition Ready of Metal3Remediation. It is true once the server has been
// switched off and on, and its Node is as it was.
const (
	// RebootedReason surfaces when the server runs again. The MachineHealthCheck deletes the remediation when the
	// Node is healthy.
	RebootedReason = "Rebooted"
	// PoweringOffReason surfaces when the server is being switched off.
	PoweringOffReason = "PoweringOff"
	// EvacuatingReason surfaces when the server is off and Pods or volumes have not left its Node.
	EvacuatingReason = "Evacuating"
	// PoweringOnReason surfaces when the server is being switched on again.
	PoweringOnReason = "PoweringOn"
	// HostNotProvisionedReason surfaces when the server does not run the image of the machine.
	HostNotProvisionedReason = "HostNotProvisioned"
	// OtherRemediationReason surfaces when another Metal3Remediation of the Machine acts, or holds the server off.
	OtherRemediationReason = "OtherRemediation"
	// HostClaimUnreachableReason surfaces when the HostClaim of the machine cannot be read now.
	HostClaimUnreachableReason = "HostClaimUnreachable"
	// RemediationSkippedReason surfaces when the Machine has the annotation cluster.x-k8s.io/skip-remediation.
	RemediationSkippedReason = "RemediationSkipped"
	// MachineDeletingReason surfaces when the Machine is being deleted. Its server is not rebooted.
	MachineDeletingReason = "MachineDeleting"
	// HandedBackReason surfaces when rebooting did not help. The owner of the Machine replaces it.
	HandedBackReason = "HandedBack"
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
	Type RemediationType `json:"type,omitempty"`

	// retryLimit is how many times the treatment is repeated before the Machine is given up.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	RetryLimit int32 `json:"retryLimit,omitempty"`

	// timeoutSeconds is how long the machine may take to become healthy after a treatment.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=100
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Metal3RemediationStatus is what the provider reports about a remediation.
type Metal3RemediationStatus struct {
	// conditions are the current observations about the object: Ready and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase is how far the remediation has come.
	// +optional
	Phase RemediationPhase `json:"phase,omitempty"`

	// retryCount is how many times the treatment has been repeated.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RetryCount int32 `json:"retryCount,omitempty"`

	// lastRemediated is when the last treatment began.
	// +optional
	LastRemediated *metav1.Time `json:"lastRemediated,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=metal3remediations,scope=Namespaced,categories=cluster-api,shortName=m3r;m3remediation
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".spec.strategy.type",description="Kind of treatment"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="How far the remediation has come"
// +kubebuilder:printcolumn:name="Retry limit",type="integer",JSONPath=".spec.strategy.retryLimit",description="How many times the treatment is repeated at most"
// +kubebuilder:printcolumn:name="Retry count",type="integer",JSONPath=".status.retryCount",description="How many times the treatment has been repeated"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Summary of the conditions"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is ready, or what it waits for"
// +kubebuilder:printcolumn:name="Last Remediated",type="string",priority=1,JSONPath=".status.lastRemediated",description="When the last treatment began"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for, in words"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Metal3Remediation is the treatment of one unhealthy machine. Machine health checks make it.
type Metal3Remediation struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants.
	// +optional
	Spec Metal3RemediationSpec `json:"spec,omitempty,omitzero"`

	// status is what the provider observes.
	// +optional
	Status Metal3RemediationStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// Metal3RemediationList is a list of Metal3Remediations.
type Metal3RemediationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	// items are the Metal3Remediations of the list.
	Items []Metal3Remediation `json:"items"`
}

// GetConditions returns the conditions of the object.
func (r *Metal3Remediation) GetConditions() []metav1.Condition {
	return r.Status.Conditions
}

// SetConditions replaces the conditions of the object.
func (r *Metal3Remediation) SetConditions(conditions []metav1.Condition) {
	r.Status.Conditions = conditions
}
