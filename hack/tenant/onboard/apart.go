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

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
)

// checkApart looks whether the tenant would get at accounts of others, or others at
// the tenant's.
func checkApart(ctx context.Context, c client.Client, tenant grant.Tenant) error {
	var found grant.Found
	var err error
	if found.Accounts, err = accountsIn(ctx, c, tenant.Namespace); err != nil {
		return err
	}
	if found.Occupied, err = isOccupied(ctx, c, tenant.Account.Namespace); err != nil {
		return err
	}
	if found.Bindings, err = bindings(ctx, c); err != nil {
		return err
	}
	return tenant.Apart(found)
}

func accountsIn(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	kind := corev1.SchemeGroupVersion.WithKind("ServiceAccount")
	accounts := &metav1.PartialObjectMetadataList{}
	accounts.SetGroupVersionKind(kind)
	if err := c.List(ctx, accounts, client.InNamespace(namespace)); err != nil {
		return nil, explain("list", &corev1.ServiceAccount{
			TypeMeta: metav1.TypeMeta{Kind: kind.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		}, err)
	}
	names := make([]string, 0, len(accounts.Items))
	for _, account := range accounts.Items {
		names = append(names, account.Name)
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
