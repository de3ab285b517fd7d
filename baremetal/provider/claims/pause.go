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

package claims

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// PauseValue is the value of the pause annotation that the machine controller
// sets on a claim, so that it never takes off one that a user has set.
const PauseValue = infrav1.MachineFieldOwner

// Repause returns what the pause annotation of the claim should become while
// its Cluster is paused or not: nil means that it goes. The second result is
// false when the claim may stay as it is. A claim that was handed over to the credentials of its
// machine is not paused, since no Cluster would unpause it: clusterctl replaces the annotations of a
// machine, the record of its credentials among them, before it deletes the machine.
func Repause(claim *bmov1alpha1.HostClaim, clusterPaused bool) (value *string, change bool) {
	current, annotated := claim.Annotations[clusterv1.PausedAnnotation]
	switch {
	case clusterPaused && claim.Labels[infrav1.OriginKey] != "":
		return nil, false
	case clusterPaused && !annotated:
		v := PauseValue
		return &v, true
	case !clusterPaused && annotated && current == PauseValue:
		return nil, true
	default:
		return nil, false
	}
}
