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

// This file names the conditions and reasons that the hostclaim manager sets on
// HostClaims beside those that baremetal-operator's API defines. Everything of
// ours that upstream does not know carries the prefix hostclaim.metal3.io/.

// Conditions of a HostClaim that upstream does not define.
const (
	// HardwareDataPublishedCondition says whether the facts of the bound host
	// are in the HardwareData that status.hardwareData names.
	HardwareDataPublishedCondition = "hostclaim.metal3.io/HardwareDataPublished"

	// AdmittedCondition says of a claim with a host whether policy still lets the
	// claim have hosts of that namespace. A machine whose policy was revoked keeps
	// running, so Ready does not depend on it.
	AdmittedCondition = "hostclaim.metal3.io/Admitted"

	// StoodDownCondition is True while another controller works on the claim
	// and ours keeps its hands off it. An administrator who wants ours to take
	// over removes the condition and what the other one wrote to the status.
	StoodDownCondition = "hostclaim.metal3.io/StoodDown"

	// MovableCondition is False while clusterctl must not move the claim, and
	// absent otherwise.
	MovableCondition = "hostclaim.metal3.io/Movable"
)

// Reasons of the condition Associated that upstream does not define.
const (
	// BindingReason is the reason of Associated Unknown: a host was chosen and
	// is about to be bound. status.bareMetalHost names it.
	BindingReason = "Binding"

	// InvalidHostSelectorReason means that spec.hostSelector cannot be
	// understood.
	InvalidHostSelectorReason = "InvalidHostSelector"

	// NoNamespaceAdmitsReason means that no namespace with hosts admits the
	// claim, so that none of its hosts was looked at.
	NoNamespaceAdmitsReason = "NoNamespaceAdmits"

	// AmbiguousHostReason means that several hosts seem to have been moved with
	// the claim, so that none of them is taken.
	AmbiguousHostReason = "AmbiguousHost"
)

// Reasons of the condition Synchronized that upstream does not define.
const (
	// NotAssociatedReason means that there is no host to synchronize with.
	NotAssociatedReason = "NotAssociated"

	// ImageRefusedReason means that the claim asks for an image or a deploy
	// method that no policy permits or no host takes.
	ImageRefusedReason = "ImageRefused"

	// ImageChangeIgnoredReason means that image or customDeploy were changed
	// after the host was told what to write; the host keeps what it has.
	ImageChangeIgnoredReason = "ImageChangeIgnored"

	// RebuildingReason means that the host is being emptied, to be written anew
	// with what the claim asks for. It is a reason of Provisioned as well.
	RebuildingReason = "Rebuilding"

	// InvalidRebuildAnnotationReason means that RebuildAnnotation is too long.
	InvalidRebuildAnnotationReason = "InvalidRebuildAnnotation"

	// InvalidRebootAnnotationReason means that a reboot annotation of the claim
	// cannot be understood, or that there are too many.
	InvalidRebootAnnotationReason = "InvalidRebootAnnotation"

	// DetachRefusedReason means that the claim asks for its host to be taken out
	// of management, which no claim can.
	DetachRefusedReason = "DetachRefused"

	// PolicyRevokedReason means that no policy admits the claim to its host's
	// namespace any more, so that nothing new is written there, and the power of the
	// host is neither switched nor cycled.
	PolicyRevokedReason = "PolicyRevoked"

	// PowerChangesLimitedReason means that the server was switched or rebooted too often
	// in a short time. What the claim asks for is done when that is over.
	PowerChangesLimitedReason = "PowerChangesLimited"

	// OCIAuthSecretSyncFailureReason means that the pull secret of the image
	// cannot be brought to the host.
	OCIAuthSecretSyncFailureReason = "OCIAuthSecretSyncFailure"
)

// ReservedReason is the reason of Provisioned False for a claim that is kept for
// the next machine, and of Associated False for one that has no host to keep.
const ReservedReason = "Reserved"

// Reasons of the condition HardwareDataPublished, beside
// HardwareDataMissingReason: the host has not reported its hardware yet.
const (
	// PublishedReason means that the facts are published and current.
	PublishedReason = "Published"

	// HardwareDataNameTakenReason means that an object that is not ours has the
	// name under which the facts would be published.
	HardwareDataNameTakenReason = "HardwareDataNameTaken"
)

// PolicyAdmitsReason is the reason of Admitted True: a policy admits the claim, or
// none is needed. That of Admitted False is PolicyRevokedReason.
const PolicyAdmitsReason = "PolicyAdmits"

// HostInOtherNamespaceReason is the reason of Movable False: the host of the claim
// is in another namespace and cannot move along.
const HostInOtherNamespaceReason = "HostInOtherNamespace"

// OtherControllerReason is the reason of StoodDown True.
const OtherControllerReason = "OtherController"
