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

package claim

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
)

// guardMove keeps clusterctl from moving a claim whose host cannot come along,
// and lets go of one that has no such host any more. A lost host still counts:
// in a move the claim would forget that it ever had one.
func (r *binder) guardMove(ctx context.Context, s *scope, step binding.Step) error {
	if step != binding.Keep && step != binding.Choose && step != binding.Rest {
		return nil
	}
	return blockMove(ctx, r.client, s.claim, s.crossing())
}

// blockMove puts the annotation on the claim that clusterctl waits for to go, or
// takes it off. An annotation that another controller put on the claim stays. The claim of a machine in
// another cluster moves with nothing, and is found from wherever the machine is.
func blockMove(ctx context.Context, writer client.Client, claim *bmov1alpha1.HostClaim, block bool) error {
	block = block && claim.Labels[infrav1.OriginKey] == ""
	value, found := claim.Annotations[infrav1.BlockMoveAnnotation]
	before := claim.DeepCopy()
	switch {
	case block && !found:
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.BlockMoveAnnotation, infrav1.HostClaimManagerFieldOwner)
	case !block && value == infrav1.HostClaimManagerFieldOwner:
		delete(claim.Annotations, infrav1.BlockMoveAnnotation)
	default:
		return nil
	}
	if err := writer.Patch(ctx, claim, apply.Locked(before)); err != nil {
		return fmt.Errorf("say whether the claim can be moved: %w", err)
	}
	return nil
}

// movableOf is the condition Movable; unknown for a claim without a host in
// another namespace, and for that of a machine in another cluster.
func movableOf(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.ObjectReference) (metav1.Condition, bool) {
	if host == nil || host.Namespace == claim.Namespace || claim.Labels[infrav1.OriginKey] != "" {
		return metav1.Condition{}, false
	}
	return metav1.Condition{
		Type:   infrav1.MovableCondition,
		Status: metav1.ConditionFalse,
		Reason: infrav1.HostInOtherNamespaceReason,
		Message: "The host is in another namespace and cannot be moved with the claim, so clusterctl move waits; " +
			"use identityRef on the machines instead, which reach their hosts from any management cluster",
	}, true
}

// setMovable sets the condition Movable, or removes it.
func setMovable(status *bmov1alpha1.HostClaimStatus, claim *bmov1alpha1.HostClaim, set func(metav1.Condition)) {
	if movable, known := movableOf(claim, status.BareMetalHost); known {
		set(movable)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, infrav1.MovableCondition)
	}
}
