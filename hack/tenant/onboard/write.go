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

package onboard

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
)

// fieldOwner is who applies the objects.
const fieldOwner = client.FieldOwner(grant.ManagedBy)

// checkOurs refuses to go over what another client made. Only metadata is read:
// one of the objects is a Secret.
func checkOurs(ctx context.Context, c client.Client, object client.Object) error {
	gvk := object.GetObjectKind().GroupVersionKind()
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(gvk)
	err := c.Get(ctx, client.ObjectKeyFromObject(object), found)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return explain("get", object, err)
	default:
		return grant.Foreign(gvk.Kind, found)
	}
}

// apply makes an object of ours what it should be, also where another client changed it.
func apply(ctx context.Context, c client.Client, object client.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return explain("encode", object, err)
	}
	content := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(content.Object, "status")
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(content), fieldOwner, client.ForceOwnership)
	if err != nil {
		return explain("apply", object, err)
	}
	return nil
}

// explain names the object, and the remedy where the answer has none.
func explain(verb string, object client.Object, err error) error {
	what := fmt.Sprintf("%s %s %s", verb, object.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(object))
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the credentials are not accepted, use a kubeconfig that is still good: %w", what, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: use the kubeconfig of an administrator of that cluster: %w", what, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
