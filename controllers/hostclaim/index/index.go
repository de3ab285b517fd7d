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

package index

import (
	"context"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
)

// The field indexes of hosts.
const (
	// HostsByConsumer finds hosts by the claim that they name: namespace, name and
	// UID, as binding.ClaimKey gives them.
	HostsByConsumer = "host.consumer"
	// HostsByConsumerUID finds hosts by the UID of the claim that they name.
	HostsByConsumerUID = "host.consumerUID"
	// HostsByMovedClaim finds hosts that may have been moved with a claim, by the
	// namespace and name of the claim that they name.
	HostsByMovedClaim = "host.movedClaim"
)

// The field indexes of claims.
const (
	// ClaimsByUID finds the claim with a UID.
	ClaimsByUID = "claim.uid"
	// ClaimsBySecret finds claims by the secrets that concern them: those that they
	// name, as namespace/name, and their copies by name.
	ClaimsBySecret = "claim.secret"
	// ClaimsByHostNamespace finds claims by the namespace of their host.
	ClaimsByHostNamespace = "claim.hostNamespace"
	// ClaimsByFacts finds claims by the name of the HardwareData in which the facts
	// of their host are published.
	ClaimsByFacts = "claim.facts"
)

// Add declares the field indexes. Call it before the cache starts.
func Add(ctx context.Context, indexer client.FieldIndexer) error {
	for field, values := range hosts() {
		if err := indexer.IndexField(ctx, &bmov1alpha1.BareMetalHost{}, field, values); err != nil {
			return fmt.Errorf("index %s: %w", field, err)
		}
	}
	for field, values := range claims() {
		if err := indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, field, values); err != nil {
			return fmt.Errorf("index %s: %w", field, err)
		}
	}
	return nil
}

// hosts says by which values each index finds a host.
func hosts() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		HostsByConsumer:    by(one(binding.ConsumerKey)),
		HostsByConsumerUID: by(one(consumerUID)),
		HostsByMovedClaim:  by(one(binding.MovedKey)),
	}
}

// claims says by which values each index finds a claim.
func claims() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		ClaimsByUID:           by(one(func(claim *bmov1alpha1.HostClaim) string { return string(claim.UID) })),
		ClaimsBySecret:        by(secrets),
		ClaimsByHostNamespace: by(one(hostNamespace)),
		ClaimsByFacts:         by(one(func(claim *bmov1alpha1.HostClaim) string { return binding.HardwareDataName(claim.Name) })),
	}
}

// by indexes objects of one type; another one is not found.
func by[T client.Object](values func(T) []string) client.IndexerFunc {
	return func(object client.Object) []string {
		typed, ok := object.(T)
		if !ok {
			return nil
		}
		return slices.DeleteFunc(values(typed), func(value string) bool { return value == "" })
	}
}

// one is for an index by a single value.
func one[T client.Object](value func(T) string) func(T) []string {
	return func(object T) []string { return []string{value(object)} }
}

func consumerUID(host *bmov1alpha1.BareMetalHost) string {
	if binding.ConsumerKey(host) == "" {
		return ""
	}
	return string(host.Spec.ConsumerRef.UID)
}

func secrets(claim *bmov1alpha1.HostClaim) []string {
	out := binding.CopyNames(claim.UID)
	for _, kind := range binding.SecretKinds {
		if name := binding.SecretName(claim, kind); name != "" {
			out = append(out, claim.Namespace+"/"+name)
		}
	}
	return out
}

func hostNamespace(claim *bmov1alpha1.HostClaim) string {
	if claim.Status.BareMetalHost == nil {
		return ""
	}
	return claim.Status.BareMetalHost.Namespace
}
