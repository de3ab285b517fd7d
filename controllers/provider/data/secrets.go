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

package data

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/networkdata"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
)

// secret is one of the secrets that a template asks for.
type secret struct {
	name, key string
	// detached is set for a secret of ours whose owner reference was lost or is out of date.
	detached bool
	// namespace is what the reference of the Metal3Data says; empty means its own.
	namespace string
	// exists says that the secret is there and complete, and emptied that it is ours and
	// has lost its content.
	exists, emptied bool
	// content is set by render.
	content []byte
}

// complete says whether all secrets exist: then nothing is rendered any more.
func (s *scope) complete() bool {
	for _, wanted := range s.secrets {
		if !wanted.exists {
			return false
		}
	}
	return true
}

// secretSteps see to the secrets with the rendered documents. Secrets are read live, and
// again only when they have changed.
type secretSteps struct {
	client client.Client
	live   client.Reader
	watch  *secretwatch.Watch
}

// observe names the secrets and finds out which of them exist. The
// watch is started first, so that no change is missed.
func (t secretSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	s.nameSecrets()
	t.watch.Ensure(s.data.Namespace)
	var out progress.Outcome
	for _, wanted := range s.secrets {
		out = out.And(t.observeOne(ctx, s, wanted))
	}
	return out
}

// nameSecrets fills in the names of the secrets that the template asks for.
func (s *scope) nameSecrets() {
	refs := map[string]**corev1.SecretReference{
		metadata.SecretKey: &s.data.Spec.MetaData, networkdata.SecretKey: &s.data.Spec.NetworkData,
	}
	for _, wanted := range data.Wanted(s.template.Spec, s.metal3Machine.Name) {
		ref := refs[wanted.Key]
		if *ref == nil || (*ref).Name == "" {
			*ref = s.secretRef(wanted.Secret)
		}
		s.secrets = append(s.secrets, &secret{name: (*ref).Name, namespace: (*ref).Namespace, key: wanted.Key})
	}
}

// belongs reports whether a secret is that of a Metal3Data: its controller tells or, where that reference
// was lost, the type that rendered secrets have.
func belongs(found *corev1.Secret, data *infrav1.Metal3Data) bool {
	if owner := metav1.GetControllerOfNoCopy(found); owner != nil {
		return owner.UID == data.UID
	}
	return found.Type == infrav1.RenderedSecretType
}

// observeOne looks at one secret. One of another type without a controller was put there by a
// user: it is taken as it is if it has the key, and never written. One of another
// controller is waited for to go.
func (t secretSteps) observeOne(ctx context.Context, s *scope, wanted *secret) progress.Outcome {
	if wanted.namespace != "" && wanted.namespace != s.data.Namespace {
		return progress.Waiting(infrav1.InvalidConfigurationReason, fmt.Sprintf(
			"spec.%s names secret %q of namespace %q: secrets are read and written in namespace %q only, leave the namespace out",
			wanted.key, wanted.name, wanted.namespace, s.data.Namespace))
	}
	found, err := t.watch.Outline(ctx, t.live, types.NamespacedName{Namespace: s.data.Namespace, Name: wanted.name})
	switch {
	case apierrors.IsNotFound(err):
		return progress.Outcome{}
	case apierrors.IsForbidden(err):
		return forbidden("get", s.data.Namespace)
	case err != nil:
		return progress.Failed(fmt.Errorf("read secret %s: %w", wanted.name, err))
	}
	owner := metav1.GetControllerOfNoCopy(found)
	ours := belongs(found, s.data)
	if owner != nil && !ours {
		return progress.Waiting(infrav1.SecretNameTakenReason, fmt.Sprintf(
			"Secret %q belongs to %s %q: it must be deleted first", wanted.name, owner.Kind, owner.Name))
	}
	wanted.exists = len(found.Data[wanted.key]) > 0
	wanted.detached = ours && !util.HasExactOwnerRef(found.OwnerReferences, ownedBy(s.data))
	if !ours && !wanted.exists {
		return progress.Waiting(infrav1.SecretNameTakenReason, fmt.Sprintf(
			"Secret %q was not rendered and has no key %q: put one in, or delete the secret to have it rendered", wanted.name, wanted.key))
	}
	wanted.emptied = !wanted.exists
	return progress.Outcome{}
}

// forbidden waits for rights on secrets; the watch of the namespace tells when
// they come.
func forbidden(verb, namespace string) progress.Outcome {
	return progress.Waiting(infrav1.SecretsForbiddenReason, fmt.Sprintf(
		"No right to %s secrets in namespace %q: bind ClusterRole capm3-tenant-secrets there to the provider's service account",
		verb, namespace))
}

// render fills in the secrets that are missing.
func (a addressSteps) render(ctx context.Context, s *scope) progress.Outcome {
	if s.complete() {
		return progress.Outcome{}
	}
	var problems []error
	for _, wanted := range s.secrets {
		var err error
		wanted.content, err = data.Render(wanted.key, s.template.Spec, s.facts())
		problems = append(problems, err)
	}
	err := errors.Join(problems...)
	var unfit networkdata.PoolError
	switch {
	case err == nil:
		return progress.Outcome{}
	case errors.As(err, &unfit) && !s.handedOut():
		return a.renew(ctx, s, unfit.Address, err)
	default:
		return cannotRender(err)
	}
}

// handedOut says that a server may know the addresses: a secret tells them, or did so once.
func (s *scope) handedOut() bool {
	status := s.metal3Machine.Status
	return s.metal3Machine.Spec.ProviderID != "" || slices.ContainsFunc(s.secrets, func(wanted *secret) bool {
		named := func(ref *corev1.SecretReference) bool { return ref != nil && ref.Name == wanted.name }
		return wanted.exists || named(status.MetaData) || named(status.NetworkData)
	})
}

// cannotRender waits for what is wrong with template, machine, host or pool to
// be mended; each of them is watched.
func cannotRender(err error) progress.Outcome {
	if facts.IsInterfaceNotFound(err) {
		return progress.Waiting(infrav1.InterfaceNotFoundReason, err.Error())
	}
	return progress.Waiting(infrav1.RenderingFailedReason, err.Error())
}

// apply writes the secrets that are missing.
func (t secretSteps) apply(ctx context.Context, s *scope) progress.Outcome {
	for _, wanted := range s.secrets {
		if wanted.detached {
			if out := t.attach(ctx, s, wanted.name); !out.Done() {
				return out
			}
		}
		if wanted.exists {
			continue
		}
		desired := desiredSecret(s, wanted)
		ctrl.LoggerFrom(ctx).Info("Writing rendered secret", "Secret", klog.KObj(desired))
		err := t.write(ctx, desired, wanted.emptied)
		switch {
		case apierrors.IsAlreadyExists(err):
			return progress.Failed(progress.ErrStale)
		case apierrors.IsForbidden(err):
			return forbidden("create and patch", s.data.Namespace)
		case err != nil:
			return progress.Failed(fmt.Errorf("apply secret %s: %w", wanted.name, err))
		}
		wanted.exists = true
	}
	return progress.Outcome{}
}

// attach puts the owner reference of a secret back.
func (t secretSteps) attach(ctx context.Context, s *scope, name string) progress.Outcome {
	found := &corev1.Secret{}
	err := t.live.Get(ctx, types.NamespacedName{Namespace: s.data.Namespace, Name: name}, found)
	if err == nil && belongs(found, s.data) {
		err = apply.Restore(ctx, t.client, found, []metav1.OwnerReference{ownedBy(s.data)})
	}
	if apierrors.IsForbidden(err) {
		return forbidden("patch", s.data.Namespace)
	}
	return progress.Failed(client.IgnoreNotFound(err))
}

// ownedBy makes the Metal3Data the controller of what is made for it.
func ownedBy(data *infrav1.Metal3Data) metav1.OwnerReference {
	return apply.ControlledBy(data, infrav1.GroupVersion.WithKind(dataKind))
}

// write makes a secret, or fills ours that was emptied. One that the watch does not show
// yet is not overwritten: a user may have put it there.
func (t secretSteps) write(ctx context.Context, desired *corev1.Secret, emptied bool) error {
	if emptied {
		return apply.Object(ctx, t.client, desired, infrav1.DataFieldOwner)
	}
	err := t.client.Create(ctx, desired, client.FieldOwner(infrav1.DataFieldOwner))
	if err == nil {
		t.watch.Read(desired)
	}
	return err
}

// desiredSecret is a rendered secret, whole.
func desiredSecret(s *scope, wanted *secret) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       s.data.Namespace,
			Name:            wanted.name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: s.machine.Spec.ClusterName},
			OwnerReferences: []metav1.OwnerReference{ownedBy(s.data)},
		},
		Type: infrav1.RenderedSecretType,
		Data: map[string][]byte{wanted.key: wanted.content},
	}
}

// release deletes our secrets, so that they are not in the way of the
// next Metal3Data of that machine name. Where the rights have gone first, as in
// a namespace that is being deleted, the garbage collector does it.
func (t secretSteps) release(ctx context.Context, s *scope) progress.Outcome {
	for _, name := range secretsOf(s.data) {
		found, err := t.watch.Outline(ctx, t.live, types.NamespacedName{Namespace: s.data.Namespace, Name: name})
		if err == nil && belongs(found, s.data) {
			err = t.client.Delete(ctx, found, client.Preconditions{UID: &found.UID})
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return progress.FailedBecause(infrav1.DeletionFailedReason, fmt.Sprintf("Secret %q cannot be deleted", name), err)
		}
	}
	return progress.Outcome{}
}
