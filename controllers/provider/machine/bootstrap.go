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

	corev1 "k8s.io/api/core/v1"
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

// observe finds out whether the user data exists, until the server has it. The secret
// is read live, and again only when it has changed.
func (b bootstrapSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	// The watch comes before the read, so that no change is missed.
	b.secrets.Ensure(s.machine.Namespace)
	facts := s.bootstrapRef()
	if s.observed.AsksForBootstrap() && facts.Invalid == "" {
		if err := b.readAll(ctx, s, &facts); err != nil {
			return failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
				fmt.Sprintf("Secret %q with the user data, or one with other data, cannot be read", facts.Secret), err)
		}
	}
	s.observed.Machine.Bootstrap = facts
	return progress.Outcome{}
}

// readAll reads the user data, if there is any yet, and looks at the other Secrets of the machine, which
// are handed out before that where a server is written anew.
func (b bootstrapSteps) readAll(ctx context.Context, s *scope, facts *machines.BootstrapFacts) (err error) {
	if facts.Secret != "" {
		if err := b.read(ctx, s, facts); err != nil {
			return err
		}
	}
	if facts.Invalid == "" {
		facts.Invalid, err = b.refusedData(ctx, s)
	}
	return err
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

func (b bootstrapSteps) read(ctx context.Context, s *scope, facts *machines.BootstrapFacts) error {
	namespace := s.machine.Namespace
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
		return nil
	}
	facts.Invalid = s.refuses(secret, secretkeys.UserData)
	return nil
}

// refusedData says why one of the other Secrets that the Metal3Machine names is not handed
// out; empty if none is refused. The hostclaim manager reports those that are missing.
func (b bootstrapSteps) refusedData(ctx context.Context, s *scope) (string, error) {
	spec := s.machine.Spec
	for _, named := range []struct {
		key string
		ref *corev1.SecretReference
	}{
		{secretkeys.MetaData, spec.MetaData},
		{secretkeys.NetworkData, spec.NetworkData},
		{corev1.DockerConfigJsonKey, &corev1.SecretReference{Name: machines.PullSecret(s.observed.Machine)}},
	} {
		if named.ref == nil || named.ref.Name == "" {
			continue
		}
		if why := machines.ForeignSecret(s.machine.Namespace, named.ref); why != "" {
			return why, nil
		}
		secret, err := b.secrets.Outline(ctx, b.live, client.ObjectKey{Namespace: s.machine.Namespace, Name: named.ref.Name})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		if why := s.refuses(secret, named.key); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// refuses says why a Secret does not leave the namespace as what a key stands for. Annotations
// of a Machine become those of its Metal3Machine, so that this one does not count as naming a
// pull secret.
func (s *scope) refuses(secret *corev1.Secret, key string) string {
	userData := s.machine.Spec.UserData
	named := key == secretkeys.MetaData || key == secretkeys.NetworkData || key == secretkeys.UserData && userData != nil && userData.Name != ""
	return machines.ExporterOf(s.owner).Refuses(secret, key, named)
}

// forbidden names the right that is missing, and how to give it.
func forbidden(verb, namespace string) string {
	return fmt.Sprintf("The provider may not %s secrets in namespace %q: create a RoleBinding in that namespace "+
		"from its service account to the ClusterRole capm3-tenant-secrets", verb, namespace)
}
