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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
)

// bootstrapSteps observe the user data of a machine.
type bootstrapSteps struct {
	// live reads past the cache: Secrets are in none.
	live    client.Reader
	secrets *secretwatch.Watch
}

// observe finds out whether the user data exists, until the claim names it. The secret
// is read live, and again only when it has changed.
func (b bootstrapSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	// The watch comes before the read, so that no change is missed.
	b.secrets.Ensure(s.machine.Namespace)
	facts := s.bootstrapRef()
	if s.observed.Claim.Deployment == nil && facts.Secret != "" && facts.Invalid == "" {
		if err := b.read(ctx, s.machine.Namespace, &facts); err != nil {
			return failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
				fmt.Sprintf("Secret %q with the user data cannot be read", facts.Secret), err)
		}
	}
	s.observed.Machine.Bootstrap = facts
	return progress.Outcome{}
}

// bootstrapRef says which secret holds the user data. What the Metal3Machine
// names wins over the bootstrap data of the Machine.
func (s *scope) bootstrapRef() machines.BootstrapFacts {
	ref := s.machine.Spec.UserData
	switch {
	case ref == nil || ref.Name == "":
		return machines.BootstrapFacts{Secret: ptr.Deref(s.owner.Spec.Bootstrap.DataSecretName, "")}
	case ref.Namespace != "" && ref.Namespace != s.machine.Namespace:
		return machines.BootstrapFacts{Secret: ref.Name, Invalid: fmt.Sprintf(
			"spec.userData.namespace is %q: only secrets of namespace %q can be used", ref.Namespace, s.machine.Namespace)}
	default:
		return machines.BootstrapFacts{Secret: ref.Name}
	}
}

func (b bootstrapSteps) read(ctx context.Context, namespace string, facts *machines.BootstrapFacts) error {
	secret, err := b.secrets.Outline(ctx, b.live, client.ObjectKey{Namespace: namespace, Name: facts.Secret})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		facts.Forbidden = forbidden("get", namespace)
		return nil
	case err != nil:
		return err
	}
	facts.Found = true
	if _, found := secretkeys.Value(secretkeys.UserData, secret.Data); !found {
		facts.Invalid = fmt.Sprintf("Secret %q has no user data: it needs the key %q", facts.Secret, secretkeys.Bootstrap)
	}
	return nil
}

// forbidden names the right that is missing, and how to give it.
func forbidden(verb, namespace string) string {
	return fmt.Sprintf("The provider may not %s secrets in namespace %q: create a RoleBinding in that namespace "+
		"from its service account to the ClusterRole capm3-tenant-secrets", verb, namespace)
}
