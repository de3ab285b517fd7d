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

package cluster

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/v1beta1conditions"
)

// formerRules say what the conditions of v1beta1 are derived from.
func formerRules() []v1beta1conditions.Rule {
	return []v1beta1conditions.Rule{{
		Type: clusterv1.ReadyV1Beta1Condition,
		From: []string{infrav1.ReadyCondition},
	}, {
		Type: infrav1.BaremetalInfrastructureReadyCondition,
		From: []string{infrav1.BaremetalInfrastructureReadyCondition},
	}}
}

// reportFormer derives the conditions of v1beta1.
func reportFormer(infra *infrav1.Metal3Cluster) {
	infra.SetV1Beta1Conditions(v1beta1conditions.Derive(infra.Status.Conditions, formerRules()))
}
