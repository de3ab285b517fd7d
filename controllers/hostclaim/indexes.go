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

package hostclaim

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/lease"
)

// The field indexes of the cache that the reconciler reads by.
const (
	// ConsumerIndex finds hosts by the claim that they name, UID included.
	ConsumerIndex = "hostclaim.consumer"
	// MarkIndex finds hosts by the UID of the claim whose mark they carry without
	// naming it.
	MarkIndex = "hostclaim.mark"
	// MovedIndex finds hosts that may have been moved with a claim, by the
	// namespace and name of the claim that they name.
	MovedIndex = "hostclaim.moved"
	// SecretIndex finds claims by the secrets that concern them: those that
	// they name, as namespace/name, and their copies by name.
	SecretIndex = "hostclaim.secret"
	// HostNamespaceIndex finds claims by the namespace of their host.
	HostNamespaceIndex = "hostclaim.hostNamespace"
	// FactsIndex finds claims by the name of the HardwareData in which the facts
	// of their host are published.
	FactsIndex = "hostclaim.facts"
)

// AddIndexes declares the field indexes. Call it before the cache starts.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		field  string
		values client.IndexerFunc
	}{
		{&bmov1alpha1.BareMetalHost{}, ConsumerIndex, hostValues(lease.ConsumerKey)},
		{&bmov1alpha1.BareMetalHost{}, MarkIndex, hostValues(lease.MarkKey)},
		{&bmov1alpha1.BareMetalHost{}, MovedIndex, hostValues(lease.MovedKey)},
		{&bmov1alpha1.HostClaim{}, SecretIndex, secretValues},
		{&bmov1alpha1.HostClaim{}, HostNamespaceIndex, hostNamespaceValues},
		{&bmov1alpha1.HostClaim{}, FactsIndex, factsValues},
	} {
		if err := indexer.IndexField(ctx, index.object, index.field, index.values); err != nil {
			return fmt.Errorf("index %s: %w", index.field, err)
		}
	}
	return nil
}

// hostValues indexes hosts by a key; those without it are not found.
func hostValues(key func(*bmov1alpha1.BareMetalHost) string) client.IndexerFunc {
	return func(object client.Object) []string {
		host, ok := object.(*bmov1alpha1.BareMetalHost)
		if !ok || key(host) == "" {
			return nil
		}
		return []string{key(host)}
	}
}

func secretValues(object client.Object) []string {
	claim, ok := object.(*bmov1alpha1.HostClaim)
	if !ok {
		return nil
	}
	var out []string
	for _, kind := range lease.SecretKinds {
		if name := lease.SecretName(claim, kind); name != "" {
			out = append(out, claim.Namespace+"/"+name)
		}
		out = append(out, lease.CopyName(claim.UID, kind))
	}
	return out
}

func hostNamespaceValues(object client.Object) []string {
	claim, ok := object.(*bmov1alpha1.HostClaim)
	if !ok || claim.Status.BareMetalHost == nil {
		return nil
	}
	return []string{claim.Status.BareMetalHost.Namespace}
}

func factsValues(object client.Object) []string {
	return []string{lease.HardwareDataName(object.GetName())}
}
