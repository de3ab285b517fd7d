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
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// Found is what is in the cluster with the hosts before a tenant is let in.
type Found struct {
	// Accounts names the service accounts in the tenant's namespace.
	Accounts []string
	// Hosts and Policies name the BareMetalHosts and the HostDeployPolicies in the
	// tenant's namespace.
	Hosts, Policies []string
	// Secrets names the Secrets in the tenant's namespace from before the tenant was
	// let in. Later ones are the tenant's.
	Secrets []string
	// Occupied is true if the namespace of the account has a Role called RoleName, and so
	// is the namespace of a tenant.
	Occupied bool
	// Bindings are the RoleBindings called RoleName of all namespaces.
	Bindings []rbacv1.RoleBinding
}

// Apart returns an error if the tenant would get at hosts, at Secrets or at an account that are not
// its own, or another tenant at its account. The error has the remedy.
func (t Tenant) Apart(found Found) error {
	problems := errors.Join(t.apartFromTenants(found.Occupied), t.apartFromSharers(found.Bindings))
	if t.Resident {
		return problems
	}
	return errors.Join(t.apartFromHosts(found), t.apartFromAccounts(found.Accounts), problems)
}

// apartFromHosts keeps the tenant from what it could read or use without a policy: the
// Secrets of the BMCs stand beside their hosts, and a claim may use hosts of its own
// namespace.
func (t Tenant) apartFromHosts(found Found) error {
	var problems []error
	for _, in := range []struct {
		names        []string
		what, remedy string
	}{
		{found.Hosts, "BareMetalHosts", "the tenant could use them without a policy, and read the passwords of their BMCs"},
		{found.Policies, "HostDeployPolicies", "it is a namespace of the infrastructure team, and hosts may come there"},
		{found.Secrets, "Secrets", "the tenant could read them; move or delete them"},
	} {
		if len(in.names) > 0 {
			problems = append(problems, fmt.Errorf("namespace %s has the %s %s: %s; choose another --namespace",
				t.Namespace, in.what, text.List(in.names), in.remedy))
		}
	}
	return errors.Join(problems...)
}

// apartFromAccounts permits the account that every namespace has.
func (t Tenant) apartFromAccounts(accounts []string) error {
	var others []string
	for _, name := range accounts {
		if name != "default" {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("namespace %s has the service accounts %s: the tenant writes Secrets there, and so could have Kubernetes issue "+
		"tokens of them that never expire; choose another --namespace, or delete them if they are not needed",
		t.Namespace, strings.Join(others, ", "))
}

func (t Tenant) apartFromTenants(occupied bool) error {
	if !occupied {
		return nil
	}
	return fmt.Errorf("a tenant works in namespace %[1]s, by Role %[1]s/%[2]s, and could have Kubernetes issue a token of the account that "+
		"never expires; choose another --account-namespace, or delete Role and RoleBinding if that tenant is gone",
		t.Account.Namespace, RoleName)
}

func (t Tenant) apartFromSharers(bindings []rbacv1.RoleBinding) error {
	var problems []error
	for _, binding := range bindings {
		if binding.Namespace == t.Namespace || !t.isSubjectOf(binding) {
			continue
		}
		problems = append(problems, fmt.Errorf("account %s has the rights of another tenant, by RoleBinding %s/%s, and would have those of both; "+
			"choose another --account for each tenant, or delete the RoleBinding if that tenant is gone",
			t.Account, binding.Namespace, binding.Name))
	}
	return errors.Join(problems...)
}

func (t Tenant) isSubjectOf(binding rbacv1.RoleBinding) bool {
	for _, subject := range binding.Subjects {
		if subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == t.Account.Namespace && subject.Name == t.Account.Name {
			return true
		}
	}
	return false
}
