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

// Package reservation defines which claims are kept for a machine to come. The provider manager
// reserves a claim and has it adopted, and the hostclaim manager keeps its host meanwhile: both
// must mean the same claims.
package reservation

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Holds reports whether a claim is reserved: it carries the label, no machine uses it, and it asks for
// nothing to be written.
func Holds(claim *bmov1alpha1.HostClaim) bool {
	return claim.Labels[infrav1.NodeReuseLabel] != "" && claim.Spec.ConsumerRef == nil &&
		claim.Spec.Image == nil && claim.Spec.CustomDeploy == nil
}
