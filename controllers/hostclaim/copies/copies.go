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

package copies

import (
	"context"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
)

// Sweeper deletes copies.
type Sweeper struct {
	// Live reads from the API server, since secrets are in no cache.
	Live client.Reader
	// Writer deletes.
	Writer client.Writer
}

// OfClaim deletes the copies that were made for a claim in a namespace.
func (s Sweeper) OfClaim(ctx context.Context, claim types.UID, namespace string) error {
	return s.delete(ctx, namespace, infrav1.SecretClaimUIDLabel, claim, anyOwner)
}

// NextTo deletes all copies that a host owns, for all claims.
// The host must name a claim that it is about to be taken from. Copies of another
// claim are what a manager left that wrote while it was no leader any more.
func (s Sweeper) NextTo(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return s.delete(ctx, host.Namespace, infrav1.SecretHostUIDLabel, host.UID, func(o metav1.ObjectMeta) bool {
		return slices.ContainsFunc(o.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == host.UID })
	})
}

func anyOwner(metav1.ObjectMeta) bool { return true }

// delete removes the copies that a label and a function select.
func (s Sweeper) delete(ctx context.Context, namespace, label string, value types.UID, selects func(metav1.ObjectMeta) bool) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := s.Live.List(ctx, secrets, client.InNamespace(namespace), client.MatchingLabels{label: string(value)})
	if err != nil {
		return fmt.Errorf("list the copied secrets: %w", err)
	}
	for i := range secrets.Items {
		secret := secrets.Items[i].ObjectMeta
		if !isCopy(secret) || !selects(secret) {
			continue
		}
		if err := secretcopy.Delete(ctx, s.Writer, secret); err != nil {
			return fmt.Errorf("delete the copied secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// isCopy reports whether a secret has all marks of a copy of ours.
func isCopy(o metav1.ObjectMeta) bool {
	return o.Labels[infrav1.SecretClaimUIDLabel] != "" && o.Labels[infrav1.SecretKindLabel] != ""
}
