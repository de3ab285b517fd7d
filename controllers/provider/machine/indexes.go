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

package machine

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

const (
	// SecretIndex is the name of the field index on Metal3Machines by the names of
	// the secrets that they name, and, where copies are kept next to a claim in another
	// cluster, all that the server gets.
	SecretIndex = "hostclaim.secret"
	// BootstrapIndex is the name of the field index on Machines by the name of
	// their bootstrap secret.
	BootstrapIndex = "spec.bootstrap.dataSecretName"
)

// SetupIndexes adds the field indexes that the watches of this package need,
// besides those of claimreader and by Cluster.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object  client.Object
		field   string
		extract client.IndexerFunc
	}{
		{&infrav1.Metal3Machine{}, SecretIndex, bySecret},
		{&clusterv1.Machine{}, BootstrapIndex, byBootstrapSecret},
	} {
		if err := indexer.IndexField(ctx, index.object, index.field, index.extract); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.field, err)
		}
	}
	return nil
}

func bySecret(o client.Object) []string {
	machine, ok := o.(*infrav1.Metal3Machine)
	if !ok {
		return nil
	}
	refs := []*corev1.SecretReference{machine.Spec.UserData, machine.Spec.MetaData, machine.Spec.NetworkData}
	if machine.Annotations[infrav1.EffectiveIdentityAnnotation] != "" {
		refs = append(refs, machine.Status.UserData, machine.Status.MetaData, machine.Status.NetworkData)
	}
	refs = append(refs, &corev1.SecretReference{Name: machine.Annotations[infrav1.PullSecretAnnotation]})
	var names []string
	for _, ref := range refs {
		if ref != nil && ref.Name != "" && !slices.Contains(names, ref.Name) {
			names = append(names, ref.Name)
		}
	}
	return names
}

func byBootstrapSecret(o client.Object) []string {
	machine, ok := o.(*clusterv1.Machine)
	if !ok || machine.Spec.Bootstrap.DataSecretName == nil {
		return nil
	}
	return nonEmpty(*machine.Spec.Bootstrap.DataSecretName)
}

func nonEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
