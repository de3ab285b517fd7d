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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Movable is what a claim in the namespace of its machine says of a move by clusterctl,
// with a reason and message that fit into a condition, and whether it says anything.
func Movable(claim *bmov1alpha1.HostClaim) (metav1.Condition, bool) {
	c := condition(claim, infrav1.MovableCondition)
	if c.Type == "" {
		return metav1.Condition{}, false
	}
	return metav1.Condition{Type: c.Type, Status: c.Status, Reason: usableReason(c.Reason), Message: usableMessage(c.Message)}, true
}

// BlocksMove says that clusterctl must not move the machine of the claim, since the claim
// is not ready or must stay. clusterctl looks at the machine, too, because it passes over
// a claim whose CRD lacks its label: the machine would be moved without its claim.
func BlocksMove(claim *bmov1alpha1.HostClaim) bool {
	_, found := claim.Annotations[infrav1.BlockMoveAnnotation]
	return found
}
