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
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
)

// rounding is by how much a token may end early without a word.
const rounding = time.Minute

// Plan is everything that is to be true afterwards.
type Plan struct {
	Tenant grant.Tenant
	Home   grant.Home
	Access grant.Access
}

// Result is what came of a plan.
type Result struct {
	// Secret for the tenant's cluster. Its content is a credential.
	Secret *corev1.Secret
	// Expires is when the credential ends.
	Expires time.Time
	// Shortened is true if the API server issued it for less than was asked for.
	Shortened bool
}

// Run creates or renews everything. Hosts is the administrator's client of the
// cluster with the hosts; management that of the tenant's cluster, or nil if the
// Secret is only wanted in the result.
func Run(ctx context.Context, plan Plan, hosts, management client.Client) (Result, error) {
	if management != nil {
		if err := checkHome(ctx, management, plan.Home); err != nil {
			return Result{}, fmt.Errorf("the tenant's cluster: %w", err)
		}
	}
	if err := checkServed(hosts); err != nil {
		return Result{}, fmt.Errorf("the cluster with the hosts: %w", err)
	}
	token, err := admit(ctx, plan.Tenant, hosts)
	if err != nil {
		return Result{}, fmt.Errorf("the cluster with the hosts: %w", err)
	}
	secret, err := plan.Tenant.Secret(plan.Home, plan.Access, token)
	if err != nil {
		return Result{}, err
	}
	if management != nil {
		if err := apply(ctx, management, secret.DeepCopy()); err != nil {
			return Result{}, fmt.Errorf("the tenant's cluster: %w", err)
		}
	}
	return Result{Secret: secret, Expires: token.Expires, Shortened: time.Until(token.Expires) < plan.Tenant.Expiry-rounding}, nil
}

// checkHome looks whether the Secret can go where it should before anything is
// created anywhere.
func checkHome(ctx context.Context, c client.Client, home grant.Home) error {
	err := c.Get(ctx, client.ObjectKey{Name: home.Namespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s does not exist: create it, or choose another one by --management-namespace", home.Namespace)
	}
	if err != nil {
		return explain("get", &corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: home.Namespace}}, err)
	}
	return checkOurs(ctx, c, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: home.Namespace, Name: home.Secret},
	})
}

// checkServed asks whether this is the cluster with the hosts at all.
func checkServed(c client.Client) error {
	_, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: "metal3.io", Kind: "HostClaim"})
	if meta.IsNoMatchError(err) {
		return errors.New("it serves no HostClaims: install the hostclaim manager there, or name another cluster by --kubeconfig")
	}
	if err != nil {
		return fmt.Errorf("look for HostClaims with the credentials of --kubeconfig: %w", err)
	}
	return nil
}

// admit creates what the tenant gets beside the hosts, and returns a new token.
func admit(ctx context.Context, tenant grant.Tenant, c client.Client) (grant.Token, error) {
	for _, object := range tenant.Objects() {
		if err := checkOurs(ctx, c, object); err != nil {
			return grant.Token{}, err
		}
	}
	if err := checkApart(ctx, c, tenant); err != nil {
		return grant.Token{}, err
	}
	for _, namespace := range tenant.Namespaces() {
		// A namespace that exists stays as its owner made it.
		if err := c.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return grant.Token{}, explain("create", namespace, err)
		}
	}
	for _, object := range tenant.Objects() {
		if err := apply(ctx, c, object); err != nil {
			return grant.Token{}, err
		}
	}
	return issue(ctx, tenant, c)
}

// issue has the API server sign a token of the tenant's account.
func issue(ctx context.Context, tenant grant.Tenant, c client.Client) (grant.Token, error) {
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant.Account.Namespace, Name: tenant.Account.Name},
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(tenant.Expiry / time.Second)),
	}}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return grant.Token{}, explain("issue a token of", account, err)
	}
	return grant.Token{Value: request.Status.Token, Expires: request.Status.ExpirationTimestamp.Time}, nil
}
