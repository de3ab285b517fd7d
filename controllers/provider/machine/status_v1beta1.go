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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
)

// formerRules say what the conditions of v1beta1 are derived from.
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

// reportFormer derives the conditions of v1beta1.
func reportFormer(machine *infrav1.Metal3Machine) {
	former := conditions.V1Beta1(machine.Status.Conditions, formerRules())
	if len(former) > 0 || len(machine.GetV1Beta1Conditions()) > 0 {
		machine.SetV1Beta1Conditions(former)
	}
}
