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

package policies

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// Evaluator evaluates HostDeployPolicies, from the cache or live.
type Evaluator struct {
	// Cached reads policies and the metadata of namespaces from the cache, Live from the API server.
	Cached, Live client.Reader
	// Own decides whether hosts of the claim's namespace need a policy.
	Own policy.Own

	mu       sync.Mutex
	compiled map[version]*policy.Compiled // what compileAll has returned last
}

// Decide evaluates the policies that the cache shows for claims of a namespace.
func (e *Evaluator) Decide(ctx context.Context, namespace string) (policy.Decision, error) {
	found, err := watch.ReadNamespace(ctx, e.Cached, namespace)
	if err != nil {
		return policy.Decision{}, err
	}
	ns := policy.Namespace{Name: namespace, Labels: found.Labels}
	policies := &bmov1alpha1.HostDeployPolicyList{}
	if err := e.Cached.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return policy.Decision{}, fmt.Errorf("list HostDeployPolicies: %w", err)
	}
	return policy.Evaluate(e.compileAll(policy.Counted(policies.Items)), ns, e.Own), nil
}

// GrantLive asks the API server itself what the policies permit on the hosts of
// one namespace. Each policy that admits the claim as far as the cache knows is
// read again; one that the cache does not show yet permits nothing yet. A live
// list would wait until the API server's own cache has caught up. If one of them is about
// the labels of the claim's namespace, those are read again after it, and must be as they were before:
// labels that come after a policy has gone never met it.
func (e *Evaluator) GrantLive(ctx context.Context, claimNamespace, hostNamespace string) (policy.Grant, error) {
	found, err := watch.ReadNamespace(ctx, e.Cached, claimNamespace)
	if err != nil {
		return policy.Grant{}, err
	}
	ns := policy.Namespace{Name: claimNamespace, Labels: found.Labels}
	known := &bmov1alpha1.HostDeployPolicyList{}
	if err := e.Cached.List(ctx, known, client.InNamespace(hostNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return policy.Grant{}, fmt.Errorf("list HostDeployPolicies of %s: %w", hostNamespace, err)
	}
	var live []*policy.Compiled
	for _, p := range policy.Counted(known.Items) {
		if !e.compile(&p).Admits(ns) {
			continue
		}
		key, current := client.ObjectKeyFromObject(&p), bmov1alpha1.HostDeployPolicy{}
		switch err := e.Live.Get(ctx, key, &current); {
		case err == nil:
			live = append(live, e.compile(&current))
		case !apierrors.IsNotFound(err):
			return policy.Grant{}, fmt.Errorf("read HostDeployPolicy %s: %w", key, err)
		}
	}
	if slices.ContainsFunc(live, (*policy.Compiled).LooksAtLabels) {
		now, err := watch.ReadNamespace(ctx, e.Live, claimNamespace)
		if err != nil {
			return policy.Grant{}, err
		}
		if !maps.Equal(now.Labels, ns.Labels) {
			return policy.Grant{}, patch.Conflict("the labels of namespace %s have changed", claimNamespace)
		}
	}
	return policy.Evaluate(live, ns, e.Own).Grants[hostNamespace], nil
}

// version names one version of one policy.
type version struct {
	uid             types.UID
	resourceVersion string
}

// compileAll returns all policies compiled. It keeps them by their version: every pass of every claim evaluates all
// policies, and to compile one costs a hundred times as much as to evaluate it.
func (e *Evaluator) compileAll(all []bmov1alpha1.HostDeployPolicy) []*policy.Compiled {
	out := make([]*policy.Compiled, len(all))
	current := make(map[version]*policy.Compiled, len(all))
	for i := range all {
		out[i] = e.compile(&all[i])
		current[version{all[i].UID, all[i].ResourceVersion}] = out[i]
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.compiled = current
	return out
}

// compile returns one policy compiled.
func (e *Evaluator) compile(p *bmov1alpha1.HostDeployPolicy) *policy.Compiled {
	e.mu.Lock()
	known, found := e.compiled[version{p.UID, p.ResourceVersion}]
	e.mu.Unlock()
	if found {
		return known
	}
	return policy.Compile(p.DeepCopy())
}
