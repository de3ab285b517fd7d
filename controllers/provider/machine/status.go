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

package machine

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
)

// longestMessage is how many bytes of a message a condition shows.
const longestMessage = 4096

// summarized are the conditions that Ready sums up.
var summarized = [...]string{
	infrav1.IdentityReadyCondition,
	infrav1.AssociateBareMetalHostCondition,
	infrav1.AssociateMetal3MachineMetaDataCondition,
	infrav1.Metal3DataReadyCondition,
	infrav1.HostClaimReadyCondition,
}

// planned are the conditions that a plan sets.
var planned = [...]string{
	infrav1.AssociateBareMetalHostCondition, infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.Metal3DataReadyCondition,
	infrav1.HostClaimReadyCondition, infrav1.SpecAppliedCondition, infrav1.KubernetesNodeReadyCondition, infrav1.NodeLabelsSynchronizedCondition,
}

// updateStatus brings spec.providerID, status and annotations of s.Machine in line with the facts and the plan.
// It is pure: the same facts give the same machine, but for the time at which a change is noted.
func updateStatus(s *scope, now metav1.Time) {
	capiconditions.Set(s.Machine, conditions.Paused(s.Machine, s.Cluster))
	reportIdentity(s)
	reportConditions(s)
	reportMove(s)
	if s.plan != nil {
		reportPlan(s.Machine, *s.plan)
		reportData(s)
		reportHost(s)
	}
	if former := conditions.V1Beta1(s.Machine.Status.Conditions, formerRules()); len(former) > 0 || len(s.Machine.GetV1Beta1Conditions()) > 0 {
		s.Machine.SetV1Beta1Conditions(former)
	}
	if !sameStatus(s.before, s.Machine) {
		s.Machine.Status.LastUpdated = &now
	}
}

// reportConditions turns what holds and what is waited for into conditions. What has not been looked at loses
// its condition, so that an old one does not go on claiming something; where a pass ended before the decision,
// all others stay.
func reportConditions(s *scope) {
	var decided []metav1.Condition
	switch {
	case s.plan != nil:
		decided = s.plan.Conditions
		for _, t := range planned {
			if !slices.ContainsFunc(decided, func(c metav1.Condition) bool { return c.Type == t }) {
				capiconditions.Delete(s.Machine, t)
			}
		}
	case s.paused():
		forgetPauseFailure(s.Machine)
	case s.release != nil:
		decided = s.release.Waits
	}
	for _, c := range slices.Concat(decided, s.waits) {
		set(s.Machine, c)
	}
	summarize(s.Machine)
}

// reportIdentity sets IdentityReady, which is about the cluster of the claim. The condition stays as it was
// while the machine is paused, and while the cluster is being connected after a start of the manager.
func reportIdentity(s *scope) {
	known := capiconditions.Get(s.Machine, infrav1.IdentityReadyCondition)
	switch reason := s.identity.Reason; {
	case s.paused(), reason == infrav1.IdentityConnectingReason && known != nil:
	case reason == "":
		capiconditions.Delete(s.Machine, infrav1.IdentityReadyCondition)
	case s.claims == nil:
		set(s.Machine, waiting(infrav1.IdentityReadyCondition, reason, s.identity.Message))
	default:
		set(s.Machine, metav1.Condition{
			Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionTrue, Reason: reason, Message: s.identity.Message,
		})
	}
}

// reportMove repeats the condition Movable of a claim in the machine's own namespace, and
// blocks the move of the machine for as long as that of the claim. A claim that was not looked
// at leaves the machine as it is.
func reportMove(s *scope) {
	if s.hostClaim == nil && s.plan == nil {
		return
	}
	local := s.hostClaim != nil && (s.Remote == nil || claims.OwnedBy(s.hostClaim, s.Machine.UID))
	movable, found := metav1.Condition{}, false
	if local {
		movable, found = claims.Movable(s.hostClaim)
	}
	if found {
		set(s.Machine, movable)
	} else {
		capiconditions.Delete(s.Machine, infrav1.MovableCondition)
	}
	blocks := local && claims.BlocksMove(s.hostClaim)
	if blocks && !s.Claim.HasHost() && !s.paused() {
		return // nothing runs yet: the annotation is written with the name of the host, or before a move
	}
	blockMove(s.Machine, blocks)
}

// blockMove puts on the machine the annotation whose removal clusterctl waits for, or takes off
// the one that this controller has put.
func blockMove(machine *infrav1.Metal3Machine, block bool) {
	switch value, found := machine.Annotations[infrav1.BlockMoveAnnotation]; {
	case block && !found:
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, infrav1.BlockMoveAnnotation, infrav1.MachineFieldOwner)
	case !block && value == infrav1.MachineFieldOwner:
		delete(machine.Annotations, infrav1.BlockMoveAnnotation)
	}
}

// forgetPauseFailure drops the condition with which an earlier pass reported that the pause
// failed. Its value from before is known only when the machine is reconciled again.
func forgetPauseFailure(machine *infrav1.Metal3Machine) {
	const condition = infrav1.AssociateBareMetalHostCondition
	if capiconditions.GetReason(machine, condition) == infrav1.BareMetalHostPauseAnnotationSetFailedReason {
		capiconditions.Delete(machine, condition)
	}
}

// set sets a condition whose message has a bounded length: the API server refuses a status
// with one of more than 32 KiB, and the message of Ready is made of all of them.
func set(machine *infrav1.Metal3Machine, condition metav1.Condition) {
	condition.Message = text.Shorten(condition.Message, longestMessage)
	capiconditions.Set(machine, condition)
}

// summarize sets Ready. While a machine is being deleted it is never ready.
func summarize(machine *infrav1.Metal3Machine) {
	if !machine.DeletionTimestamp.IsZero() {
		message := "The machine is being deleted"
		if c := capiconditions.Get(machine, infrav1.HostClaimReadyCondition); c != nil && c.Status == metav1.ConditionFalse {
			message = c.Message
		}
		set(machine, waiting(infrav1.ReadyCondition, infrav1.DeletingReason, message))
		return
	}
	ready, err := capiconditions.NewSummaryCondition(machine, infrav1.ReadyCondition,
		capiconditions.ForConditionTypes(summarized[:]), capiconditions.IgnoreTypesIfMissing(summarized[:]),
		capiconditions.CustomMergeStrategy{MergeStrategy: capiconditions.DefaultMergeStrategy(capiconditions.ComputeReasonFunc(readyReason))})
	if err != nil { // none of the conditions is there
		capiconditions.Delete(machine, infrav1.ReadyCondition)
		return
	}
	capiconditions.Set(machine, *ready)
}

// readyReason is the reason of the first condition that keeps the machine from being
// Ready, which kubectl get shows and Cluster API repeats on the Machine.
func readyReason(failed, unknown, _ []capiconditions.ConditionWithOwnerInfo) string {
	for _, c := range slices.Concat(failed, unknown) {
		return c.Reason
	}
	return infrav1.ReadyReason
}

// reportPlan writes what Cluster API waits for.
func reportPlan(machine *infrav1.Metal3Machine, plan Plan) {
	machine.Spec.ProviderID = plan.ProviderID
	machine.Status.NodeName = plan.NodeName
	if plan.Provisioned {
		machine.Status.Initialization.Provisioned = ptr.To(true)
	}
	delete(machine.Annotations, infrav1.TakeOverAnnotation)
	if plan.TakeOver {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, infrav1.TakeOverAnnotation, "true")
	}
	delete(machine.Annotations, infrav1.RebuiltAnnotation)
	if plan.Rebuilt != "" {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, infrav1.RebuiltAnnotation, plan.Rebuilt)
	}
}

// reportData names the secrets of the server and where they came from.
func reportData(s *scope) {
	secrets := s.plan.Secrets
	if s.Data.Name != "" && s.Claim.HasHost() { // else the data waits for the host as the machine does
		s.Machine.Status.RenderedData = &infrav1.Metal3ObjectRef{Namespace: s.Machine.Namespace, Name: s.Data.Name}
	}
	status := &s.Machine.Status
	for ref, name := range map[**corev1.SecretReference]string{
		&status.UserData: secrets.UserData, &status.MetaData: secrets.MetaData, &status.NetworkData: secrets.NetworkData,
	} {
		if name != "" {
			*ref = &corev1.SecretReference{Namespace: s.Machine.Namespace, Name: name}
		}
	}
}

// reportHost writes claim and server into the status; what was known of a server that is gone
// stays.
func reportHost(s *scope) {
	s.Machine.Status.HostClaim = s.applied
	if s.hostClaim != nil {
		s.Machine.Status.HostClaim = &infrav1.Metal3ObjectRef{Namespace: s.hostClaim.Namespace, Name: s.Claim.Name}
	}
	if s.Claim.HasHost() {
		metav1.SetMetaDataAnnotation(&s.Machine.ObjectMeta, infrav1.HostAnnotation,
			s.Claim.HostNamespace+"/"+s.Claim.HostName)
	}
	if !s.Facts {
		return
	}
	s.Machine.Status.FailureDomain = s.Host.FailureDomain
	if addresses := hardware.Addresses(s.Host, s.plan.NodeName); len(addresses) > 0 {
		s.Machine.Status.Addresses = addresses
	}
}

// sameStatus compares without the time of the last change.
func sameStatus(before, after *infrav1.Metal3Machine) bool {
	a, b := before.Status.DeepCopy(), after.Status.DeepCopy()
	a.LastUpdated, b.LastUpdated = nil, nil
	a.Deprecated, b.Deprecated = nil, nil // derived
	return reflect.DeepEqual(a, b)
}

// hostOf is the host that the annotation names.
func hostOf(machine *infrav1.Metal3Machine) string {
	return machine.Annotations[infrav1.HostAnnotation]
}

// released reports whether the machine is being deleted and no longer carries our finalizer.
func released(machine *infrav1.Metal3Machine) bool {
	return !machine.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(machine, infrav1.MachineFinalizer)
}

// provisioned reports whether the machine was reported as provisioned.
func provisioned(machine *infrav1.Metal3Machine) bool {
	return ptr.Deref(machine.Status.Initialization.Provisioned, false)
}

// formerRules are what the conditions of v1beta1 are derived from.
func formerRules() []conditions.V1Beta1Rule {
	return []conditions.V1Beta1Rule{{
		Type: clusterv1.ReadyV1Beta1Condition,
		From: []string{infrav1.ReadyCondition},
	}, {
		Type: infrav1.AssociateBMHV1Beta1Condition,
		From: []string{infrav1.AssociateBareMetalHostCondition},
		Reasons: map[string]string{
			infrav1.AssociateBareMetalHostFailedReason:             infrav1.AssociateBMHFailedV1Beta1Reason,
			infrav1.WaitingForClusterInfrastructureReadyReason:     infrav1.WaitingForClusterInfrastructureV1Beta1Reason,
			infrav1.WaitingForBootstrapDataReason:                  infrav1.WaitingForBootstrapReadyV1Beta1Reason,
			infrav1.BootstrapSecretNotFoundReason:                  infrav1.WaitingForBootstrapReadyV1Beta1Reason,
			infrav1.WaitingForMetal3MachineOwnerRefReason:          infrav1.WaitingForM3MachineOwnerRefV1Beta1Reason,
			infrav1.BareMetalHostPauseAnnotationSetFailedReason:    infrav1.PauseAnnotationSetFailedV1Beta1Reason,
			infrav1.BareMetalHostPauseAnnotationRemoveFailedReason: infrav1.PauseAnnotationRemoveFailedV1Beta1Reason,
		},
		Errors: []string{
			infrav1.AssociateBareMetalHostFailedReason, infrav1.HostLostReason, infrav1.HostClaimNameTakenReason,
			infrav1.InvalidConfigurationReason, infrav1.HostClaimTakenOverReason, infrav1.HostClaimAPIMissingReason, infrav1.SecretsForbiddenReason,
			infrav1.BareMetalHostPauseAnnotationSetFailedReason, infrav1.BareMetalHostPauseAnnotationRemoveFailedReason,
		},
	}, {
		Type:   infrav1.KubernetesNodeReadyV1Beta1Condition,
		From:   []string{infrav1.KubernetesNodeReadyCondition},
		Errors: []string{infrav1.NodeAmbiguousReason, infrav1.NodeTakenReason},
	}, {
		Type: infrav1.Metal3DataReadyCondition,
		From: []string{infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.Metal3DataReadyCondition},
		Reasons: map[string]string{
			infrav1.AssociateMetal3MachineMetaDataFailedReason: infrav1.AssociateM3MetaDataFailedV1Beta1Reason,
		},
		Errors: []string{
			infrav1.AssociateMetal3MachineMetaDataFailedReason, infrav1.DisassociateM3MetaDataFailedReason,
			infrav1.InvalidConfigurationReason, infrav1.RenderingFailedReason,
		},
	}}
}
