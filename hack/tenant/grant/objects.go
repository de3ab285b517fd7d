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

package grant

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ManagedByLabel marks the objects of this command.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is its value.
	ManagedBy = "hostclaim-tenant"

	// RoleName is the name of the Role, its binding and the quota.
	RoleName = "hostclaim-remote-tenant"
	// sourcesBinding binds the ClusterRole sourceSecrets, with which the hostclaim
	// manager reads the Secrets of a tenant.
	sourcesBinding = RoleName + "-sources"
	sourceSecrets  = "hostclaim-source-secrets"

	// secretsPerMachine are the copies that the provider manager makes of user data, metadata and network
	// data, and what a virtual machine boots with: twice, while it gets another disk.
	secretsPerMachine = 5
	// spareSecrets leave room for the credentials of registries and the like, and for
	// copies that are about to go.
	spareSecrets = 10
	// secretsOfAnyNumber is for a tenant without a limit of servers, or with Clusters beside its
	// claims: what it stores would fill the etcd of all tenants.
	secretsOfAnyNumber = 1000
)

// Namespaces lists the namespaces that must be there before the Objects.
func (t Tenant) Namespaces() []client.Object {
	return []client.Object{
		namespace(t.Namespace),
		namespace(t.Account.Namespace),
	}
}

// Objects lists what the tenant gets in the cluster with the hosts.
func (t Tenant) Objects() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{
			TypeMeta:   kind(corev1.SchemeGroupVersion.String(), "ServiceAccount"),
			ObjectMeta: ours(t.Account.Namespace, t.Account.Name),
		},
		t.role(),
		t.binding(RoleName, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: RoleName}, t.Account),
		t.binding(sourcesBinding, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: sourceSecrets}, t.HostClaimManager),
		t.quota(),
	}
}

// role is all that the provider manager does in the cluster with the hosts: it
// writes claims and the Secrets that they refer to, and reads what the bound hosts
// look like.
func (t Tenant) role() *rbacv1.Role {
	read := []string{"get", "list", "watch"}
	write := append(read[:3:3], "create", "patch", "delete")
	return &rbacv1.Role{
		TypeMeta:   kind(rbacv1.SchemeGroupVersion.String(), "Role"),
		ObjectMeta: ours(t.Namespace, RoleName),
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"metal3.io"}, Resources: []string{"hostclaims"}, Verbs: write},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: write},
			{APIGroups: []string{"metal3.io"}, Resources: []string{"hardwaredata"}, Verbs: read},
		},
	}
}

func (t Tenant) binding(name string, role rbacv1.RoleRef, account types.NamespacedName) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   kind(rbacv1.SchemeGroupVersion.String(), "RoleBinding"),
		ObjectMeta: ours(t.Namespace, name),
		RoleRef:    role,
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
}

func (t Tenant) quota() *corev1.ResourceQuota {
	quantity := func(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
	hard := corev1.ResourceList{"count/secrets": quantity(secretsOfAnyNumber)}
	if t.Servers > 0 {
		hard["count/hostclaims.metal3.io"] = quantity(t.Servers)
	}
	if t.Servers > 0 && !t.Resident {
		hard["count/secrets"] = quantity(secretsPerMachine*t.Servers + spareSecrets)
	}
	return &corev1.ResourceQuota{
		TypeMeta:   kind(corev1.SchemeGroupVersion.String(), "ResourceQuota"),
		ObjectMeta: ours(t.Namespace, RoleName),
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}
}

// Foreign returns the error for an object that exists and was not made by this
// command, with the remedy.
func Foreign(kind string, object client.Object) error {
	if object.GetLabels()[ManagedByLabel] == ManagedBy {
		return nil
	}
	return fmt.Errorf("%s %s exists and was not made by this command: delete it, or put the label %s=%s on it to have it replaced",
		kind, client.ObjectKeyFromObject(object), ManagedByLabel, ManagedBy)
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   kind(corev1.SchemeGroupVersion.String(), "Namespace"),
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

func kind(version, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: name}
}

func ours(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{ManagedByLabel: ManagedBy}}
}
