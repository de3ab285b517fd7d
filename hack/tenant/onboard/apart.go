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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
)

// checkApart finds out what stands where the tenant would work, and whether it may.
func checkApart(ctx context.Context, c client.Client, tenant grant.Tenant) error {
	var found grant.Found
	var err error
	for _, in := range []struct {
		kind  schema.GroupVersionKind
		names *[]string
	}{
		{corev1.SchemeGroupVersion.WithKind("ServiceAccount"), &found.Accounts},
		{bmov1alpha1.GroupVersion.WithKind("BareMetalHost"), &found.Hosts},
		{bmov1alpha1.GroupVersion.WithKind("HostDeployPolicy"), &found.Policies},
		{corev1.SchemeGroupVersion.WithKind("Secret"), &found.Secrets},
	} {
		if *in.names, err = namesIn(ctx, c, in.kind, tenant.Namespace); err != nil {
			return err
		}
	}
	// Its Role is there, and is ours: the Secrets are the tenant's.
	again, err := isOccupied(ctx, c, tenant.Namespace)
	if err != nil {
		return err
	}
	if again {
		found.Secrets = nil
	}
	if found.Occupied, err = isOccupied(ctx, c, tenant.Account.Namespace); err != nil {
		return err
	}
	if found.Bindings, err = bindings(ctx, c); err != nil {
		return err
	}
	return tenant.Apart(found)
}

// namesIn lists the objects of a kind in a namespace by their metadata. There are none
// of a kind that the cluster does not serve.
func namesIn(ctx context.Context, c client.Client, kind schema.GroupVersionKind, namespace string) ([]string, error) {
	objects := &metav1.PartialObjectMetadataList{}
	objects.SetGroupVersionKind(kind)
	if err := c.List(ctx, objects, client.InNamespace(namespace)); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		object.SetGroupVersionKind(kind)
		return nil, explain("list", object, err)
	}
	names := make([]string, 0, len(objects.Items))
	for i := range objects.Items {
		names = append(names, objects.Items[i].Name)
	}
	return names, nil
}

// isOccupied asks whether a tenant works in the namespace.
func isOccupied(ctx context.Context, c client.Client, namespace string) (bool, error) {
	role := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: grant.RoleName},
	}
	err := c.Get(ctx, client.ObjectKeyFromObject(role), role)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, explain("get", role, err)
	}
	return true, nil
}

func bindings(ctx context.Context, c client.Client) ([]rbacv1.RoleBinding, error) {
	list := &rbacv1.RoleBindingList{}
	if err := c.List(ctx, list, client.MatchingFields{"metadata.name": grant.RoleName}); err != nil {
		return nil, explain("list", &rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{Kind: "RoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: grant.RoleName},
		}, err)
	}
	return list.Items, nil
}
