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

// Package admission validates HostDeployPolicies and HostClaims before they are stored.
// It looks only at what the ValidatingAdmissionPolicies of
// config/hostclaim/admission cannot read: regular expressions, label selectors and
// the arguments of a reboot. The decisions are those of baremetal/policy.Compile,
// baremetal/selection.Parse and baremetal/binding.ReadReboots, and the controllers
// apply the same to what was stored while the webhook was away. It reads nothing
// but the objects of the request.
package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
)

// Policy refuses HostDeployPolicies that cannot be used.
type Policy struct{}

var _ admission.Validator[*bmov1alpha1.HostDeployPolicy] = Policy{}

// SetupWithManager serves the webhooks at
// /validate-metal3-io-v1alpha1-hostdeploypolicy and
// /validate-metal3-io-v1alpha1-hostclaim.
func SetupWithManager(mgr ctrl.Manager) error {
	if err := ctrl.NewWebhookManagedBy(mgr, &bmov1alpha1.HostDeployPolicy{}).WithValidator(Policy{}).Complete(); err != nil {
		return fmt.Errorf("webhook of HostDeployPolicy: %w", err)
	}
	if err := ctrl.NewWebhookManagedBy(mgr, &bmov1alpha1.HostClaim{}).WithValidator(manager.SizeValidator[*bmov1alpha1.HostClaim]{Validator: Claim{}}).Complete(); err != nil {
		return fmt.Errorf("webhook of HostClaim: %w", err)
	}
	return nil
}

// ValidateCreate refuses an invalid new policy.
func (Policy) ValidateCreate(_ context.Context, p *bmov1alpha1.HostDeployPolicy) (admission.Warnings, error) {
	return warnings(p), validate(p)
}

// ValidateUpdate refuses to make a policy invalid. One that is going away may
// always be changed, or its finalizers could not be removed.
func (Policy) ValidateUpdate(_ context.Context, _, p *bmov1alpha1.HostDeployPolicy) (admission.Warnings, error) {
	if !p.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return warnings(p), validate(p)
}

// ValidateDelete lets every policy go.
func (Policy) ValidateDelete(context.Context, *bmov1alpha1.HostDeployPolicy) (admission.Warnings, error) {
	return nil, nil
}

// validate refuses invalid policies, and an empty list of names: a client written in Go
// drops it, and the policy then admits more.
func validate(p *bmov1alpha1.HostDeployPolicy) error {
	fault := policy.Compile(p).Err()
	if policy.EmptyNames(p) {
		fault = errors.Join(errEmptyNames, fault)
	}
	return brief(fault)
}

var errEmptyNames = errors.New("spec.hostClaimNamespaces.names is an empty list, which clients leave out when they write " +
	"the policy back: leave hostClaimNamespaces out to admit nobody, or names if the rest is to decide")

// warnings returns what the author of an accepted policy may not mean. An option that does not
// exist is no reason to refuse: the policy may be written for another version of the manager,
// and an upgrade must not lock it.
func warnings(p *bmov1alpha1.HostDeployPolicy) admission.Warnings {
	var found []string
	if policy.AdmitsAll(p) {
		found = append(found, "hostClaimNamespaces is empty: claims of every namespace may use the hosts of this one")
	}
	if nobody := policy.AdmitsNobody(p); nobody != "" {
		found = append(found, nobody)
	}
	return text.Warnings(slices.Values(append(found, policy.UnknownOptions(p)...)))
}
