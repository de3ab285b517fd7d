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
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/networkdata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
)

// secret is one of the secrets that a template asks for.
type secret struct {
	name, key string
	// detached is set for a secret of ours whose owner reference was lost or is out of date.
	detached bool
	// namespace is that of the reference in the Metal3Data; empty means its own.
	namespace string
	// exists means that the secret is there and complete, and emptied that it is ours and
	// has lost its content.
	exists, emptied bool
	// content is set by render.
	content []byte
}

// complete reports whether all secrets exist: then nothing is rendered any more.
func (s *scope) complete() bool {
	return !slices.ContainsFunc(s.secrets, func(wanted *secret) bool { return !wanted.exists })
}

// readSecrets names the secrets and finds out which of them exist. They are read live, and again only when
// they have changed. The watch is started first, so that no change is missed.
func (r *Reconciler) readSecrets(ctx context.Context, s *scope) (conditions.Wait, error) {
	s.nameSecrets()
	r.Secrets.Ensure(s.data.Namespace)
	for _, wanted := range s.secrets {
		if wait, err := r.readSecret(ctx, s, wanted); err != nil || wait.Reason != "" {
			return wait, err
		}
	}
	return conditions.Wait{}, nil
}

// nameSecrets fills in the names of the secrets that the template asks for.
func (s *scope) nameSecrets() {
	refs := map[string]**corev1.SecretReference{
		secretkeys.MetaData: &s.data.Spec.MetaData, secretkeys.NetworkData: &s.data.Spec.NetworkData,
	}
	for _, wanted := range metadata.Wanted(s.template.Spec, s.metal3Machine.Name) {
		ref := refs[wanted.Key]
		if *ref == nil || (*ref).Name == "" {
			*ref = &corev1.SecretReference{Namespace: s.data.Namespace, Name: wanted.Secret}
		}
		s.secrets = append(s.secrets, &secret{name: (*ref).Name, namespace: (*ref).Namespace, key: wanted.Key})
	}
}

// belongs reports whether a secret is that of a Metal3Data, by its controller or, where that reference
// was lost, by the type of rendered secrets.
func belongs(found *corev1.Secret, data *infrav1.Metal3Data) bool {
	if owner := metav1.GetControllerOfNoCopy(found); owner != nil {
		return owner.UID == data.UID
	}
	return found.Type == infrav1.RenderedSecretType
}

// readSecret looks at one secret. One of another type without a controller was put there by a
// user: it is taken as it is if it has the key, and never written. One of another
// controller is waited for to go.
func (r *Reconciler) readSecret(ctx context.Context, s *scope, wanted *secret) (conditions.Wait, error) {
	if wanted.namespace != "" && wanted.namespace != s.data.Namespace {
		return waiting(infrav1.InvalidConfigurationReason,
			"spec.%s names secret %q of namespace %q: secrets are read and written in namespace %q only, leave the namespace out",
			wanted.key, wanted.name, wanted.namespace, s.data.Namespace), nil
	}
	found, err := r.Secrets.Outline(ctx, r.Live, types.NamespacedName{Namespace: s.data.Namespace, Name: wanted.name})
	switch {
	case apierrors.IsNotFound(err):
		return conditions.Wait{}, nil
	case apierrors.IsForbidden(err):
		return forbidden("get", s.data.Namespace), nil
	case err != nil:
		return conditions.Wait{}, fmt.Errorf("read secret %s: %w", wanted.name, err)
	}
	owner, ours := metav1.GetControllerOfNoCopy(found), belongs(found, s.data)
	if owner != nil && !ours {
		return waiting(infrav1.SecretNameTakenReason,
			"Secret %q belongs to %s %q: it must be deleted first", wanted.name, owner.Kind, owner.Name), nil
	}
	wanted.exists = len(found.Data[wanted.key]) > 0
	wanted.detached = ours && !util.HasExactOwnerRef(found.OwnerReferences, ownedBy(s.data))
	if !ours && !wanted.exists {
		return waiting(infrav1.SecretNameTakenReason,
			"Secret %q was not rendered and has no key %q: put one in, or delete the secret to have it rendered", wanted.name, wanted.key), nil
	}
	wanted.emptied = !wanted.exists
	return conditions.Wait{}, nil
}

// forbidden waits for rights on secrets; the watch of the namespace wakes the Metal3Data when
// they come.
func forbidden(verb, namespace string) conditions.Wait {
	return conditions.Wait{Reason: infrav1.SecretsForbiddenReason, Message: hostclaims.Forbidden(verb, namespace)}
}

// render fills in the content of the secrets, for a host that is known, once pools have given the addresses.
func (r *Reconciler) render(ctx context.Context, s *scope) (conditions.Wait, error) {
	if wait, err := r.readHost(ctx, s); err != nil || wait.Reason != "" {
		return wait, err
	}
	if wait, err := r.planAddresses(ctx, s); err != nil || wait.Reason != "" {
		return wait, err
	}
	if wait, err := r.askPools(ctx, s); err != nil || wait.Reason != "" {
		return wait, err
	}
	if wait, err := r.readAddresses(ctx, s); err != nil {
		return wait, err
	}
	var problem error
	for _, wanted := range s.secrets {
		content, err := networkdata.Document(wanted.key, s.template.Spec, s.facts())
		wanted.content, problem = content, errors.Join(problem, err)
	}
	var unfit networkdata.PoolError
	switch {
	case problem == nil:
		return conditions.Wait{}, nil
	case errors.As(problem, &unfit) && !s.handedOut():
		return r.renew(ctx, s, unfit.Address, problem)
	}
	return cannotRender(problem), nil
}

// handedOut reports whether a server may know the addresses: a secret holds them, or held them
// once.
func (s *scope) handedOut() bool {
	status := s.metal3Machine.Status
	return s.metal3Machine.Spec.ProviderID != "" || slices.ContainsFunc(s.secrets, func(wanted *secret) bool {
		named := func(ref *corev1.SecretReference) bool { return ref != nil && ref.Name == wanted.name }
		return wanted.exists || named(status.MetaData) || named(status.NetworkData)
	})
}

// cannotRender waits for what is wrong with template, machine, host or pool to
// be mended; each of them is watched.
func cannotRender(err error) conditions.Wait {
	if metadata.IsInterfaceNotFound(err) {
		return conditions.Wait{Reason: infrav1.InterfaceNotFoundReason, Message: err.Error()}
	}
	return conditions.Wait{Reason: infrav1.RenderingFailedReason, Message: err.Error()}
}

// writeSecrets writes the secrets that are missing.
func (r *Reconciler) writeSecrets(ctx context.Context, s *scope) (conditions.Wait, error) {
	for _, wanted := range s.secrets {
		verb, err := "patch", error(nil)
		if wanted.detached {
			err = r.attachSecret(ctx, s, wanted.name)
		}
		if err == nil && !wanted.exists {
			verb, err = "create and patch", r.writeSecret(ctx, desiredSecret(s, wanted), wanted.emptied)
		}
		switch {
		case apierrors.IsForbidden(err):
			return forbidden(verb, s.data.Namespace), nil
		case apierrors.IsAlreadyExists(err):
			return conditions.Wait{}, patch.Conflict("secret %s exists already", wanted.name)
		case err != nil:
			return conditions.Wait{}, fmt.Errorf("write secret %s: %w", wanted.name, err)
		}
	}
	return conditions.Wait{}, nil
}

// attachSecret puts the owner reference of a secret back.
func (r *Reconciler) attachSecret(ctx context.Context, s *scope, name string) error {
	found := &corev1.Secret{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: s.data.Namespace, Name: name}, found)
	if err == nil && belongs(found, s.data) {
		err = patch.Restore(ctx, r.Client, found, []metav1.OwnerReference{ownedBy(s.data)})
	}
	return client.IgnoreNotFound(err)
}

// writeSecret makes a secret, or fills ours that was emptied. One that the watch does not show
// yet is not overwritten: a user may have put it there.
func (r *Reconciler) writeSecret(ctx context.Context, desired *corev1.Secret, emptied bool) error {
	ctrl.LoggerFrom(ctx).Info("Writing rendered secret", "Secret", klog.KObj(desired))
	if emptied {
		return patch.Apply(ctx, r.Client, desired, infrav1.DataFieldOwner)
	}
	err := r.Client.Create(ctx, desired, client.FieldOwner(infrav1.DataFieldOwner))
	if err == nil {
		r.Secrets.Read(desired)
	}
	return err
}

// ownedBy makes the Metal3Data the controller of what is made for it.
func ownedBy(data *infrav1.Metal3Data) metav1.OwnerReference {
	return patch.ControlledBy(data, infrav1.GroupVersion.WithKind(dataKind))
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

// deleteSecrets deletes our secrets, so that they are not in the way of the
// next Metal3Data of that machine name. Where the rights have gone first, as in
// a namespace that is being deleted, the garbage collector does it.
func (r *Reconciler) deleteSecrets(ctx context.Context, s *scope) (conditions.Wait, error) {
	for _, name := range secretsOf(s.data) {
		found, err := r.Secrets.Outline(ctx, r.Live, types.NamespacedName{Namespace: s.data.Namespace, Name: name})
		if err == nil && belongs(found, s.data) {
			err = r.Client.Delete(ctx, found, client.Preconditions{UID: &found.UID})
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return waiting(infrav1.DeletionFailedReason, "Secret %q cannot be deleted", name), err
		}
	}
	return conditions.Wait{}, nil
}
