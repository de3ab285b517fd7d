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

// Package selection parses what a claim asks of its host, selects a host by that, and explains why
// none fits.
//
// Parse reads the hostSelector and the failure domain of a claim, within bounds; the webhooks refuse
// by it what the hostclaim manager would not understand. Select stops at the first host that fits;
// Explain looks at all of them, and is only for a claim that found nothing. The package performs no
// IO, uses no randomness and asks no policy.
package selection

import (
	"cmp"
	"iter"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Misfit is why a host does not answer a claim, worded so that a number can
// stand before it: "in use". Empty means that it does answer.
type Misfit string

// Misfits that do not depend on the claim, in the order in which they are
// looked for: a host that has several counts as the first.
const (
	InUse                 Misfit = "in use"
	BeingDeleted          Misfit = "being deleted"
	Paused                Misfit = "paused"
	Detached              Misfit = "detached"
	Unhealthy             Misfit = "marked unhealthy"
	Reserved              Misfit = "reserved"
	ExternallyProvisioned Misfit = "externally provisioned"
	InError               Misfit = "in error"
	NotAvailable          Misfit = "not available"
	InspectionRequested   Misfit = "about to be inspected"
	HoldingData           Misfit = "holding an image or data"
)

// Select returns the first host that fits, or false. With a failure domain that is a preference, hosts of that domain
// come first.
func Select(c Criteria, hosts iter.Seq[*bmov1alpha1.BareMetalHost]) (found *bmov1alpha1.BareMetalHost, ok bool) {
	for host := range hosts {
		if Fits(c, host) != "" {
			continue
		}
		if !c.Soft || c.FailureDomain == "" || host.Labels[infrav1.FailureDomainLabel] == c.FailureDomain {
			return host, true
		}
		found = cmp.Or(found, host)
	}
	return found, found != nil
}

// Fits returns why a host does not answer a claim; empty when it does. It does not ask whether
// policy admits the claim to the namespace of the host.
func Fits(c Criteria, host *bmov1alpha1.BareMetalHost) Misfit {
	if misfit := Free(host); misfit != "" {
		return misfit
	}
	return Suits(c, host)
}

// Suits is the part of Fits that depends on the claim: why a host that is free does
// not answer it; empty when it does.
func Suits(c Criteria, host *bmov1alpha1.BareMetalHost) Misfit {
	if c.InNamespace != "" && host.Namespace != c.InNamespace {
		return Misfit("outside namespace " + c.InNamespace)
	}
	for i := range c.Requirements { // a copy of each would be made for every host
		if r := &c.Requirements[i]; !r.Matches(labels.Set(host.Labels)) {
			return Misfit(r.Lack)
		}
	}
	if c.FailureDomain != "" && !c.Soft && host.Labels[infrav1.FailureDomainLabel] != c.FailureDomain {
		return Misfit("outside failure domain " + c.FailureDomain)
	}
	return ""
}

// Free returns why a host can answer no claim at all; empty when it can answer some.
func Free(host *bmov1alpha1.BareMetalHost) Misfit {
	for _, check := range checks {
		if check.holds(host) {
			return check.misfit
		}
	}
	return ""
}

// checks are the reasons of Free, first come first counted.
var checks = [...]struct {
	misfit Misfit
	holds  func(*bmov1alpha1.BareMetalHost) bool
}{
	{InUse, func(h *bmov1alpha1.BareMetalHost) bool { return h.Spec.ConsumerRef != nil }},
	{BeingDeleted, func(h *bmov1alpha1.BareMetalHost) bool { return !h.DeletionTimestamp.IsZero() }},
	{Paused, func(h *bmov1alpha1.BareMetalHost) bool {
		return metav1.HasAnnotation(h.ObjectMeta, bmov1alpha1.PausedAnnotation)
	}},
	{Detached, detached},
	{Unhealthy, func(h *bmov1alpha1.BareMetalHost) bool {
		return metav1.HasAnnotation(h.ObjectMeta, infrav1.UnhealthyAnnotation) || metav1.HasAnnotation(h.ObjectMeta, infrav1.DeprecatedUnhealthyAnnotation)
	}},
	{Reserved, func(h *bmov1alpha1.BareMetalHost) bool { return h.Labels[infrav1.NodeReuseLabel] != "" }},
	{ExternallyProvisioned, func(h *bmov1alpha1.BareMetalHost) bool { return h.Spec.ExternallyProvisioned }},
	{InError, func(h *bmov1alpha1.BareMetalHost) bool {
		return h.Status.ErrorMessage != "" || h.Status.OperationalStatus == bmov1alpha1.OperationalStatusError
	}},
	{NotAvailable, func(h *bmov1alpha1.BareMetalHost) bool {
		state := h.Status.Provisioning.State
		return (state != bmov1alpha1.StateAvailable && state != bmov1alpha1.StateReady) ||
			h.Status.OperationalStatus == bmov1alpha1.OperationalStatusServicing
	}},
	{InspectionRequested, func(h *bmov1alpha1.BareMetalHost) bool {
		value, found := h.Annotations[bmov1alpha1.InspectAnnotationPrefix]
		//nolint:staticcheck // Deprecated, and still on hosts that were registered long ago.
		return found && value != bmov1alpha1.InspectAnnotationValueDisabled
	}},
	{HoldingData, holdingData},
}

func detached(h *bmov1alpha1.BareMetalHost) bool {
	return metav1.HasAnnotation(h.ObjectMeta, bmov1alpha1.DetachedAnnotation) ||
		h.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached
}

// holdingData reports whether an image or data is on the host or waits for it: the client that put it
// on the host has not let go of it.
func holdingData(h *bmov1alpha1.BareMetalHost) bool {
	return h.Spec.Image != nil || h.Spec.CustomDeploy != nil ||
		h.Spec.UserData != nil || h.Spec.MetaData != nil || h.Spec.NetworkData != nil ||
		h.Status.Provisioning.Image.URL != "" || h.Status.Provisioning.CustomDeploy != nil ||
		metav1.HasAnnotation(h.ObjectMeta, infrav1.UncleanedAnnotation)
}
