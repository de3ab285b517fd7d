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

package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/index"
)

// pageSize bounds the answers of a live list.
const pageSize = 500

// observe reads from the caches what policies say of the claim and which host
// names it.
func (r *observer) observe(ctx context.Context, s *scope) error {
	namespace, err := readNamespace(ctx, r.client, s.claim.Namespace)
	if err != nil {
		return err
	}
	if s.decision, err = r.policies.decide(ctx, namespace); err != nil {
		return err
	}
	if err := r.observeHosts(ctx, s); err != nil {
		return err
	}
	s.otherController = otherController(s.claim, s.host != nil)
	return nil
}

// observeHosts finds the hosts that have to do with the claim.
func (r *observer) observeHosts(ctx context.Context, s *scope) error {
	own, err := r.hostsBy(ctx, index.HostsByConsumer, binding.ClaimKey(s.claim))
	if err != nil {
		return err
	}
	s.host = ownHost(s.claim, own)
	if s.host != nil {
		return nil
	}
	s.moved, err = r.hostsBy(ctx, index.HostsByMovedClaim, keyOf(s.claim).String())
	return err
}

func (r *observer) hostsBy(ctx context.Context, index, value string) ([]bmov1alpha1.BareMetalHost, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := r.client.List(ctx, hosts, client.MatchingFields{index: value}); err != nil {
		return nil, fmt.Errorf("list hosts of the claim by %s: %w", index, err)
	}
	return hosts.Items, nil
}

// ownHost returns the host of a claim among those that name it, nil if it is none of
// them. If the status was lost and several carry the traces of a bind, it is the first
// by name.
func ownHost(claim *bmov1alpha1.HostClaim, hosts []bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	var own *bmov1alpha1.BareMetalHost
	for i := range hosts {
		host := &hosts[i]
		if !binding.Has(claim, host) {
			continue
		}
		if own == nil || client.ObjectKeyFromObject(host).String() < client.ObjectKeyFromObject(own).String() {
			own = host
		}
	}
	return own
}

// decide evaluates the policies that the cache shows.
func (r *policyReader) decide(ctx context.Context, ns policy.Namespace) (policy.Decision, error) {
	policies := &bmov1alpha1.HostDeployPolicyList{}
	if err := r.client.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return policy.Decision{}, fmt.Errorf("list HostDeployPolicies: %w", err)
	}
	return policy.Evaluate(r.compiled.CompileAll(policy.Counted(policies.Items)), ns, r.own), nil
}

// grantNow asks the API server itself what the policies permit on the hosts of
// one namespace. Each policy that admits the claim as far as the cache knows is
// read again; one that the cache does not show yet permits nothing yet. A live
// list would wait until the API server's own cache has caught up. The namespace of the
// claim is read again after them, if one of them is about its labels.
func (r *policyReader) grantNow(ctx context.Context, claimNamespace, hostNamespace string) (policy.Grant, error) {
	ns, err := readNamespace(ctx, r.client, claimNamespace)
	if err != nil {
		return policy.Grant{}, err
	}
	known := &bmov1alpha1.HostDeployPolicyList{}
	if err := r.client.List(ctx, known, client.InNamespace(hostNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return policy.Grant{}, fmt.Errorf("list HostDeployPolicies of %s: %w", hostNamespace, err)
	}
	var live []*policy.Compiled
	for _, p := range policy.Counted(known.Items) {
		if !r.compiled.Compile(&p).Admits(ns) {
			continue
		}
		key, current := client.ObjectKeyFromObject(&p), bmov1alpha1.HostDeployPolicy{}
		switch err := r.live.Get(ctx, key, &current); {
		case err == nil:
			live = append(live, r.compiled.Compile(&current))
		case !apierrors.IsNotFound(err):
			return policy.Grant{}, fmt.Errorf("read HostDeployPolicy %s: %w", key, err)
		}
	}
	if slices.ContainsFunc(live, (*policy.Compiled).LooksAtLabels) {
		if ns, err = readNamespace(ctx, r.live, claimNamespace); err != nil {
			return policy.Grant{}, err
		}
	}
	return policy.Evaluate(live, ns, r.own).Grants[hostNamespace], nil
}

// readNamespace reads name and labels of a namespace. One that is gone has no
// labels.
func readNamespace(ctx context.Context, reader client.Reader, name string) (policy.Namespace, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace); client.IgnoreNotFound(err) != nil {
		return policy.Namespace{}, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return policy.Namespace{Name: name, Labels: namespace.Labels}, nil
}

// readRecorded reads the host that the claim's status names; it is empty if the host is gone.
func (r *binder) readRecorded(ctx context.Context, claim *bmov1alpha1.HostClaim, at *standing) (*bmov1alpha1.BareMetalHost, error) {
	ref, host := claim.Status.BareMetalHost, &bmov1alpha1.BareMetalHost{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, host)
	switch {
	case apierrors.IsNotFound(err):
		at.known.Recorded = binding.Gone
	case err != nil:
		return nil, fmt.Errorf("read the recorded host: %w", err)
	case binding.Has(claim, host):
		at.known.Own, at.host = true, host
	case host.Spec.ConsumerRef != nil && !binding.Moved(host, claim):
		at.known.Recorded = binding.Taken
	default:
		at.known.Recorded = binding.Idle
	}
	return host, nil
}

// listOwn looks for the claim's host by a paged live list, narrowed by the label that a bind
// gives it.
func (r *binder) listOwn(ctx context.Context, claim *bmov1alpha1.HostClaim, at *standing) error {
	hosts := &bmov1alpha1.BareMetalHostList{}
	options := []client.ListOption{
		client.MatchingLabels{infrav1.ClaimUIDLabel: string(claim.UID)}, client.Limit(pageSize),
	}
	for more := true; more; more = hosts.Continue != "" {
		if err := r.live.List(ctx, hosts, append(options, client.Continue(hosts.Continue))...); err != nil {
			return fmt.Errorf("list hosts that name the claim: %w", err)
		}
		for i := range hosts.Items {
			if host := &hosts.Items[i]; binding.Has(claim, host) {
				at.known.Own, at.host = true, host.DeepCopy()
			}
		}
	}
	at.known.NoHostNamesIt = !at.known.Own
	return nil
}

// errTooManySteps guards against a binding that never settles; binding.Next adds
// a fact with each step, so it cannot happen.
var errTooManySteps = errors.New("the binding of the claim does not settle")
