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

	// MovableCondition says of a claim that is paused whether clusterctl may move it:
	// True as soon as its host is ready to move along, False with the reason while the
	// move must wait. It is absent from a claim that is not paused.
	MovableCondition = "hostclaim.metal3.io/Movable"
)

// Reasons of the condition Associated that upstream does not define.
const (
	// BindingReason is the reason of Associated Unknown: a host was chosen and
	// is about to be bound. status.bareMetalHost names it. A claim that is about to
	// have its host again after a move or restore keeps the reason that it had.
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

	// HostNotMovedReason means that the claim was moved or restored and its host was
	// not, or not yet. The claim gets no other one.
	HostNotMovedReason = "HostNotMoved"

	// HostReleasedReason means that the claim is being deleted, has given its host back, and
	// is held by finalizers of others.
	HostReleasedReason = "HostReleased"

	// BindRefusedReason means that the API server refuses what a claim must carry
	// before a host is bound to it.
	BindRefusedReason = "BindRefused"
)

// Reasons of the condition Synchronized that upstream does not define.
const (
	// NotAssociatedReason means that there is no host to synchronize with.
	NotAssociatedReason = "NotAssociated"

	// ImageRefusedReason means that the claim asks for an image or a deploy
	// method that no policy permits or no host takes. It is a reason of Associated as well,
	// for a claim that gets no host since it asks so.
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

	// ClaimTooLargeReason means that the claim is larger than admission lets it grow. The API
	// server cannot delete one that fills a request to etcd.
	ClaimTooLargeReason = "ClaimTooLarge"

	// PolicyRevokedReason means that no policy admits the claim to its host's
	// namespace any more, so that nothing new is written there, and the power of the
	// host is neither switched nor cycled.
	PolicyRevokedReason = "PolicyRevoked"

	// PowerChangesLimitedReason means that the server was switched or rebooted too often
	// in a short time. What the claim asks for is done when that is over.
	PowerChangesLimitedReason = "PowerChangesLimited"

	// SecretCopiesLimitedReason means that more was copied next to hosts for the claims of this
	// namespace than may be at once, so that the secrets of this claim wait for their turn.
	SecretCopiesLimitedReason = "SecretCopiesLimited"

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

// Reasons of the condition Movable.
const (
	// ReadyToMoveReason means that the host of the claim is at rest, paused and
	// recorded, so that both can be moved.
	ReadyToMoveReason = "ReadyToMove"

	// HostInOtherNamespaceReason means that the host of the claim is in another
	// namespace and cannot be moved along.
	HostInOtherNamespaceReason = "HostInOtherNamespace"

	// BindingInProgressReason means that the claim was paused while it was being
	// bound, or that its host is gone, so that a moved claim would not find its host.
	BindingInProgressReason = "BindingInProgress"

	// HostNotAtRestReason means that the server is being changed: provisioned,
	// deprovisioned, rebuilt, rebooted, inspected or serviced, or that it is in error.
	HostNotAtRestReason = "HostNotAtRest"

	// HostsNotMovableReason means that a CustomResourceDefinition lacks the label by
	// which clusterctl finds its objects, so that claims or hosts would stay behind.
	HostsNotMovableReason = "HostsNotMovable"

	// HandOverNotConfirmedReason means that the infrastructure team has not put
	// HostsMayMoveAnnotation on the Namespace of the host, or has withdrawn it.
	HandOverNotConfirmedReason = "HandOverNotConfirmed"

	// PreparationRefusedReason means that the API server refuses the write that makes the
	// host ready, or the one that lets the claim go: an admission policy or webhook denies
	// it, or the object would be invalid.
	PreparationRefusedReason = "PreparationRefused"

	// MovingHostPausedReason means that another client paused or detached the host.
	MovingHostPausedReason = "HostPaused"
)

// WaitingForHostStatusReason is the reason of Synchronized False after a move or a
// restore: baremetal-operator has not restored the status of the host yet, and nothing
// is concluded from an empty one.
const WaitingForHostStatusReason = "WaitingForHostStatus"

// OtherControllerReason is the reason of StoodDown True.
const OtherControllerReason = "OtherController"
