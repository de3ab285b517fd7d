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

package town

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/hostile"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// HostileServer starts an API server of a hostile tenant and puts a kubeconfig of these
// contexts into a Secret. The caller closes the server.
func (t *Town) HostileServer(ctx context.Context, tenant string, b hostile.Behavior, secret string, contexts ...string) (*hostile.Server, error) {
	server := hostile.NewServer(b)
	text, err := server.Kubeconfig(contexts...)
	return server, errors.Join(err, t.Secret(ctx, tenant, secret, "kubeconfig", text))
}

// WorkloadClusters makes Clusters of a tenant, with an API server of the tenant's for each.
// The caller closes the servers.
func (t *Town) WorkloadClusters(ctx context.Context, tenant string, b hostile.Behavior, count int) ([]*hostile.Server, error) {
	var servers []*hostile.Server
	for n := range count {
		name := fmt.Sprintf("workload-%d", n)
		server := hostile.NewServer(b)
		servers = append(servers, server)
		text, err := server.Kubeconfig(name)
		if err := errors.Join(err, t.Secret(ctx, tenant, name+"-kubeconfig", "value", text), t.cluster(ctx, tenant, name)); err != nil {
			return servers, err
		}
	}
	return servers, nil
}

// RemoteMachines makes machines of a tenant that use a context of the kubeconfig in a
// Secret; an empty context stands for the current one.
func (t *Town) RemoteMachines(ctx context.Context, tenant, secret, kubeContext string, count int) ([]types.NamespacedName, error) {
	keys := make([]types.NamespacedName, count)
	return keys, site.InParallel(ctx, 0, count, func(ctx context.Context, n int) error {
		keys[n] = types.NamespacedName{Namespace: tenant, Name: fmt.Sprintf("%s-%d.%s", secret, n, cmp.Or(kubeContext, "current"))}
		return t.Machine(ctx, keys[n], func(m *infrav1.Metal3Machine) {
			m.Spec.IdentityRef = &infrav1.IdentityReference{Name: secret, Context: kubeContext}
		})
	})
}

// WaitingClaims makes claims of a tenant that no host suits. Their selectors are long.
func (t *Town) WaitingClaims(ctx context.Context, tenant string, count int) error {
	var values []string
	for n := range 16 {
		values = append(values, fmt.Sprintf("%063d", n))
	}
	selector := bmov1alpha1.HostSelector{MatchLabels: map[string]string{"no": "host"}}
	for n := range 4 {
		selector.MatchExpressions = append(selector.MatchExpressions,
			bmov1alpha1.HostSelectorRequirement{Key: fmt.Sprintf("rack-%d", n), Operator: "notin", Values: values})
	}
	return site.InParallel(ctx, 0, count, func(ctx context.Context, n int) error {
		return t.Create(ctx, &bmov1alpha1.HostClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: fmt.Sprintf("waiting-%d", n)},
			Spec:       bmov1alpha1.HostClaimSpec{HostSelector: selector},
		})
	})
}

// LikeCopies makes Secrets of a tenant that look like copies of the hostclaim
// manager's, but were copied from nowhere. The manager sees them only where a tenant has
// a host that got a Secret of that namespace.
func (t *Town) LikeCopies(ctx context.Context, tenant string, count int) error {
	return site.InParallel(ctx, 0, count, func(ctx context.Context, n int) error {
		uid := fmt.Sprintf("00000000-0000-0000-0000-%012d", n)
		return t.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: tenant, Name: binding.CopyName(types.UID(uid), binding.UserData),
			Labels: map[string]string{infrav1.SecretClaimUIDLabel: uid, infrav1.SecretKindLabel: string(binding.UserData)},
		}})
	})
}
