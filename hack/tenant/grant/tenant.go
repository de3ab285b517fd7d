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
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// shortestExpiry is what the API server accepts for a token.
	shortestExpiry = 10 * time.Minute
	// DefaultAccounts is the namespace of the accounts where no other is named.
	DefaultAccounts = "hostclaim-tenants"
	// DefaultSecret is the name of the Secret where no other is given.
	DefaultSecret = "hosts"
)

// Tenant is who is let in, and how far.
type Tenant struct {
	// Namespace in the cluster with the hosts, where the claims of the tenant live.
	Namespace string
	// Account is the service account that the tenant's manager works with. It is in
	// a namespace of its own: who may write Secrets beside an account, as the tenant
	// may in Namespace, can have Kubernetes issue a token of it that never expires.
	Account types.NamespacedName
	// HostClaimManager is the account of the hostclaim manager. It may read the
	// Secrets that claims refer to, which the hardened install asks for.
	HostClaimManager types.NamespacedName
	// Servers is how many claims the tenant may have; 0 means as many as it likes. The
	// Secrets in Namespace are limited in either case.
	Servers int
	// Resident is true if the Clusters of the tenant are in Namespace and go on from another
	// management cluster. All that is in Namespace is the tenant's own then.
	Resident bool
	// Expiry is for how long a token is good.
	Expiry time.Duration
}

// Home is where the Secret goes in the cluster of the tenant.
type Home struct {
	Namespace, Secret string
}

// Check returns an error for what cannot be granted, with the flag to change.
func (t Tenant) Check() error {
	var problems []error
	for _, name := range []struct{ flag, value string }{
		{"--namespace", t.Namespace},
		{"--account-namespace", t.Account.Namespace},
		{"--account", t.Account.Name},
	} {
		problems = append(problems, checkName(name.flag, name.value))
	}
	if t.Account.Namespace == t.Namespace {
		problems = append(problems, fmt.Errorf("--account-namespace is the tenant's own namespace %s, where the tenant could have "+
			"Kubernetes issue a token of the account that never expires: choose one that tenants do not work in", t.Namespace))
	}
	if t.Servers < 0 {
		problems = append(problems, fmt.Errorf("--servers is %d: give a number of servers, or 0 for no limit", t.Servers))
	}
	if t.Expiry < shortestExpiry {
		problems = append(problems, fmt.Errorf("--expiry is %s: the API server issues no token for less than %s", t.Expiry, shortestExpiry))
	}
	return errors.Join(problems...)
}

// Check returns an error for each of the two names that the API server of the tenant would refuse.
func (h Home) Check() error {
	problems := checkName("--management-namespace", h.Namespace)
	if wrong := validation.IsDNS1123Subdomain(h.Secret); len(wrong) > 0 {
		problems = errors.Join(problems, fmt.Errorf("--secret is %q, which no Secret can be called: %s", h.Secret, strings.Join(wrong, "; ")))
	}
	return problems
}

func checkName(flag, value string) error {
	if wrong := validation.IsDNS1123Label(value); len(wrong) > 0 {
		return fmt.Errorf("%s is %q, which no namespace or account can be called: %s", flag, value, strings.Join(wrong, "; "))
	}
	return nil
}
