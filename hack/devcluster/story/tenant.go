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

package story

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// tenantAccount is the service account that a tenant works with.
const tenantAccount = "tenant"

// Tenant is a namespace and the credentials of the account that works in it.
type Tenant struct {
	Namespace string
	// Kubeconfig is good for this namespace only.
	Kubeconfig string
	Config     *rest.Config
	Client     client.Client
}

// AddTenant creates the namespace, the rights of both managers there and an
// account with the tenant role, and returns the tenant with its credentials.
func AddTenant(ctx context.Context, admin client.Client, c *cluster.Cluster, namespace string) (*Tenant, error) {
	tenant := &Tenant{Namespace: namespace}
	if err := create(ctx, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	if err := BindManagers(ctx, admin, namespace); err != nil {
		return nil, err
	}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: tenantAccount, Namespace: namespace}},
		bindAccount(namespace, "hostclaim-tenant-role", account(namespace, tenantAccount)),
		clusterctlUser(account(namespace, tenantAccount)),
	} {
		if err := create(ctx, admin, object); err != nil {
			return nil, err
		}
	}
	var err error
	if tenant.Kubeconfig, err = c.AccountKubeconfig(ctx, namespace, tenantAccount); err != nil {
		return nil, err
	}
	if tenant.Config, err = clientcmd.BuildConfigFromFlags("", tenant.Kubeconfig); err != nil {
		return nil, err
	}
	scheme, err := world.Scheme()
	if err != nil {
		return nil, err
	}
	if tenant.Client, err = client.New(tenant.Config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connect as %s: %w", namespace, err)
	}
	return tenant, nil
}

// BindManagers gives both managers the rights that they need in a namespace of a tenant.
func BindManagers(ctx context.Context, admin client.Client, namespace string) error {
	if err := create(ctx, admin, bindAccount(namespace, "capm3-tenant-secrets", account("capm3-system", "capm3-manager"))); err != nil {
		return err
	}
	return create(ctx, admin, bindAccount(namespace, "hostclaim-source-secrets", hostClaimAccount()))
}

// clusterctlUser lets an account read the definitions that clusterctl describe cluster
// and clusterctl get kubeconfig ask for. They belong to no namespace.
func clusterctlUser(subject rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "devcluster-clusterctl-" + subject.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "hostclaim-tenant-clusterctl-role"},
		Subjects:   []rbacv1.Subject{subject},
	}
}

// UpdateInPlace lets Cluster API update the MachineDeployments of a namespace in place, in a dev
// cluster that runs manager.WithInPlaceUpdates.
func UpdateInPlace(ctx context.Context, admin client.Client, namespace string) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"`+manager.InPlaceUpdatesLabel+`": "true"}}}`))
	if err := admin.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, patch); err != nil {
		return fmt.Errorf("label namespace %s: %w", namespace, err)
	}
	return create(ctx, admin, bindAccount(namespace, "capm3-in-place-updates", account("capm3-system", "capm3-manager")))
}
