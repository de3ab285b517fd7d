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

package inplace

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// rights are those of the ClusterRole capm3-in-place-updates, which the hardened install binds in
// single namespaces.
func rights() []authorizationv1.ResourceAttributes {
	bootstrap, core := bootstrapv1.GroupVersion.Group, clusterv1.GroupVersion.Group
	return []authorizationv1.ResourceAttributes{
		{Verb: "get", Group: bootstrap, Resource: "kubeadmconfigs"},
		{Verb: "patch", Group: bootstrap, Resource: "kubeadmconfigs"},
		{Verb: "patch", Group: bootstrap, Resource: "kubeadmconfigs", Subresource: "status"},
		{Verb: "patch", Group: core, Resource: "machines"},
	}
}

// missingRight returns a right that the extension lacks in a namespace; empty if it lacks none.
// Without the right to review its rights, it returns that one.
func (e *Extension) missingRight(ctx context.Context, namespace string) (string, error) {
	for _, right := range rights() {
		right.Namespace = namespace
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
		}
		switch err := e.Client.Create(ctx, review); {
		case apierrors.IsForbidden(err):
			return "create selfsubjectaccessreviews", nil
		case err != nil:
			return "", fmt.Errorf("ask for the rights in namespace %s: %w", namespace, err)
		case !review.Status.Allowed && right.Subresource != "":
			return right.Verb + " " + right.Resource + "/" + right.Subresource, nil
		case !review.Status.Allowed:
			return right.Verb + " " + right.Resource, nil
		}
	}
	return "", nil
}
