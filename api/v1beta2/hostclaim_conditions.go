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

// Conditions of HostClaim that baremetal-operator does not define.
const (
	// HardwareDataPublishedCondition reports whether the facts of the bound host
	// are in the HardwareData that status.hardwareData names.
	HardwareDataPublishedCondition = "hostclaim.metal3.io/HardwareDataPublished"

	// AdmittedCondition reports whether a policy still admits a claim to the namespace of its
	// host. Ready does not depend on it, since a revoked policy stops no server.
	AdmittedCondition = "hostclaim.metal3.io/Admitted"

	// StoodDownCondition is True while another controller works on the claim and the hostclaim
	// manager leaves it alone.
	StoodDownCondition = "hostclaim.metal3.io/StoodDown"

	// MovableCondition reports whether clusterctl may move a paused claim with its host. It is
	// absent from a claim that is not paused.
	MovableCondition = "hostclaim.metal3.io/Movable"
)

// Reasons of the condition Associated of HostClaim that baremetal-operator does not define.
const (
	// BindingReason surfaces when a host was chosen and is about to be bound;
	// status.bareMetalHost names it. After a move or restore the claim keeps the reason that it had.
	BindingReason = "Binding"

	// InvalidHostSelectorReason surfaces when spec.hostSelector cannot be
	// understood.
	InvalidHostSelectorReason = "InvalidHostSelector"

	// NoNamespaceAdmitsReason surfaces when no namespace with hosts admits the claim.
	NoNamespaceAdmitsReason = "NoNamespaceAdmits"

	// AmbiguousHostReason surfaces when several hosts seem to have been moved with the claim.
	// None of them is bound.
	AmbiguousHostReason = "AmbiguousHost"

	// HostNotMovedReason surfaces when the claim was moved or restored without its host. The claim
	// gets no other one.
	HostNotMovedReason = "HostNotMoved"

	// HostReleasedReason surfaces when the claim is being deleted, has given its host back, and
	// is held by finalizers of others.
	HostReleasedReason = "HostReleased"

	// TakeOverRefusedReason surfaces when a claim cannot take over the host that CAPM3 has bound to its
	// Metal3Machine, or not yet; the message says why.
	TakeOverRefusedReason = "TakeOverRefused"

	// ClassNotFoundReason surfaces when the HostClaimClass that the claim names does not exist.
	ClassNotFoundReason = "ClassNotFound"

	// ClassNotAcceptedReason surfaces when the controller of the HostClaimClass has not accepted it: it does not
	// run, or refuses the parameters or the selector of the class.
	ClassNotAcceptedReason = "ClassNotAccepted"

	// ClassNotPermittedReason surfaces when the HostClaimClass is not for the namespace of the claim.
	ClassNotPermittedReason = "ClassNotPermitted"

	// AnsweredByOtherReason surfaces when a claim that the hostclaim manager has begun to answer is another
	// controller's by now, by a finalizer or by its class. What it has, it keeps.
	AnsweredByOtherReason = "AnsweredByOther"

	// InvalidClassArgumentsReason surfaces when the controller of the HostClaimClass does not understand what the
	// claim tells it by ClassArgumentsAnnotation.
	InvalidClassArgumentsReason = "InvalidClassArguments"

	// UnsupportedByClassReason surfaces when the claim asks for something that the compute of its HostClaimClass does
	// not have. It is a reason of Synchronized as well.
	UnsupportedByClassReason = "UnsupportedByClass"

	// BindRefusedReason surfaces when the API server refuses what a claim must carry
	// before a host is bound to it.
	BindRefusedReason = "BindRefused"
)

// Reasons of the condition Synchronized of HostClaim that baremetal-operator does not define.
const (
	// NotAssociatedReason surfaces when there is no host to synchronize with.
	NotAssociatedReason = "NotAssociated"

	// ImageRefusedReason surfaces when the claim asks for an image or a deploy
	// method that no policy permits or no host takes. It is a reason of Associated as well.
	ImageRefusedReason = "ImageRefused"

	// WriteRefusedReason surfaces when the API server refuses a change of the virtual machine; the message says why.
	WriteRefusedReason = "WriteRefused"

	// ImageChangeIgnoredReason surfaces when image or customDeploy were changed
	// after the host was told what to write; the host keeps what it has.
	ImageChangeIgnoredReason = "ImageChangeIgnored"

	// RebuildingReason surfaces when the host is wiped, to be provisioned anew. It is a reason of
	// Provisioned as well.
	RebuildingReason = "Rebuilding"

	// InvalidRebuildAnnotationReason surfaces when RebuildAnnotation is longer than 63 characters.
	InvalidRebuildAnnotationReason = "InvalidRebuildAnnotation"

	// InvalidRebootAnnotationReason surfaces when a reboot annotation of the claim
	// cannot be understood, or there are too many.
	InvalidRebootAnnotationReason = "InvalidRebootAnnotation"

	// DetachRefusedReason surfaces when the claim asks for its host to be detached, which no claim may.
	DetachRefusedReason = "DetachRefused"

	// ClaimTooLargeReason surfaces when the claim is larger than admission lets it grow. The API
	// server cannot delete one that fills a request to etcd.
	ClaimTooLargeReason = "ClaimTooLarge"

	// PolicyRevokedReason surfaces when no policy admits the claim to the namespace of its host any
	// more. Nothing new is written there, and the host is neither switched nor rebooted.
	PolicyRevokedReason = "PolicyRevoked"

	// PowerChangesLimitedReason surfaces when the host was switched or rebooted ten times within
	// ten minutes. What the claim asks for is done when these are over.
	PowerChangesLimitedReason = "PowerChangesLimited"

	// SecretCopiesLimitedReason surfaces when the claims of the namespace have used up what may be
	// copied next to hosts at once. The secrets of this claim wait for their turn.
	SecretCopiesLimitedReason = "SecretCopiesLimited"

	// OCIAuthSecretSyncFailureReason surfaces when the pull secret of the image
	// cannot be brought to the host.
	OCIAuthSecretSyncFailureReason = "OCIAuthSecretSyncFailure"

	// WaitingForHostStatusReason surfaces when baremetal-operator has not restored the status of
	// a moved host yet. Nothing is concluded from an empty status.
	WaitingForHostStatusReason = "WaitingForHostStatus"
)

// Reasons of the condition Provisioned of HostClaim that baremetal-operator does not define.
const (
	// ReservedReason surfaces when the claim is kept for the next machine. It is a reason of
	// Associated as well, for a claim that has no host to keep.
	ReservedReason = "Reserved"
)

// Reasons of the condition HardwareDataPublished of HostClaim, beside HardwareDataMissing.
const (
	// PublishedReason surfaces when the facts are published and current.
	PublishedReason = "Published"

	// HardwareDataNameTakenReason surfaces when an object that is not ours has the
	// name under which the facts would be published.
	HardwareDataNameTakenReason = "HardwareDataNameTaken"
)

// Reasons of the condition Admitted of HostClaim, beside PolicyRevoked.
const (
	// PolicyAdmitsReason surfaces when a policy admits the claim, or none is needed.
	PolicyAdmitsReason = "PolicyAdmits"
)

// Reasons of the condition Movable of HostClaim.
const (
	// ReadyToMoveReason surfaces when the host is at rest and paused, and both can be moved.
	ReadyToMoveReason = "ReadyToMove"

	// HostInOtherNamespaceReason surfaces when the host of the claim is in another
	// namespace and cannot be moved along.
	HostInOtherNamespaceReason = "HostInOtherNamespace"

	// BindingInProgressReason surfaces when the claim was paused while it was being bound, or its
	// host is gone.
	BindingInProgressReason = "BindingInProgress"

	// HostNotAtRestReason surfaces when the host is being provisioned, deprovisioned, rebuilt,
	// rebooted, inspected or serviced, or is in error.
	HostNotAtRestReason = "HostNotAtRest"

	// HostsNotMovableReason surfaces when a CustomResourceDefinition lacks the label by which
	// clusterctl finds its objects, or the claim belongs to no Cluster.
	HostsNotMovableReason = "HostsNotMovable"

	// HandOverNotConfirmedReason surfaces when the infrastructure team has not put
	// HostsMayMoveAnnotation on the Namespace of the host, or has withdrawn it.
	HandOverNotConfirmedReason = "HandOverNotConfirmed"

	// PreparationRefusedReason surfaces when the API server refuses the write that makes the
	// host ready, or the one that lets the claim go: an admission policy or webhook denies
	// it, or the object would be invalid.
	PreparationRefusedReason = "PreparationRefused"

	// MovingHostPausedReason surfaces when another client paused or detached the host.
	MovingHostPausedReason = "HostPaused"
)

// Reasons of the condition StoodDown of HostClaim.
const (
	// OtherControllerReason surfaces when the status of the claim has another controller as a
	// field manager.
	OtherControllerReason = "OtherController"
)

// Reasons of HostClaims and hosts that cannot be released yet.
const (
	// HostBeingDeletedReason surfaces when the BareMetalHost is being deleted.
	HostBeingDeletedReason = "HostBeingDeleted"

	// HostDetachedReason surfaces when the host is detached in baremetal-operator.
	HostDetachedReason = "HostDetached"

	// HostInErrorReason surfaces when the host is in error and cannot be cleaned.
	HostInErrorReason = "HostInError"

	// HostPoweringOffReason surfaces when the host still runs and is to be off.
	HostPoweringOffReason = "HostPoweringOff"

	// HostNotCleanedReason surfaces when the host was deprovisioned without cleaning, and has no
	// image since.
	HostNotCleanedReason = "HostNotCleaned"

	// HostDeprovisioningReason surfaces when the host is being deprovisioned and cleaned.
	HostDeprovisioningReason = "HostDeprovisioning"
)
