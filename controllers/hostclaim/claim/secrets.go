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

package claim

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/copies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// The ClusterRoles that a RoleBinding in a namespace must refer to.
const (
	sourceSecretsRole = "hostclaim-source-secrets"
	hostSecretsRole   = "hostclaim-host-secrets" //nolint:gosec // The name of a role.
)

// secretReasons are the reasons of Synchronized False by kind of secret.
var secretReasons = map[binding.SecretKind]string{
	binding.UserData:    bmov1alpha1.BadUserDataSecretReason,
	binding.MetaData:    bmov1alpha1.BadMetaDataSecretReason,
	binding.NetworkData: bmov1alpha1.BadNetworkDataSecretReason,
	binding.OCIAuth:     infrav1.OCIAuthSecretSyncFailureReason,
}

// secretError is something about a secret that a person must mend.
type secretError struct {
	kind    binding.SecretKind
	message string
}

func (p *secretError) Error() string {
	return p.message
}

// secretNames are the names of the secrets next to the host; empty where there
// is none.
type secretNames map[binding.SecretKind]string

// payload returns image and references as the host gets them.
func (n secretNames) payload(claim *bmov1alpha1.HostClaim, namespace string) *binding.Payload {
	ref := func(kind binding.SecretKind) *corev1.SecretReference {
		if n[kind] == "" {
			return nil
		}
		return &corev1.SecretReference{Namespace: namespace, Name: n[kind]}
	}
	image := claim.Spec.Image.DeepCopy()
	if image != nil && n[binding.OCIAuth] != "" {
		name := n[binding.OCIAuth]
		image.OCIAuthSecretName = &name
	}
	return &binding.Payload{
		Image:        image,
		CustomDeploy: claim.Spec.CustomDeploy.DeepCopy(),
		UserData:     ref(binding.UserData),
		MetaData:     ref(binding.MetaData),
		NetworkData:  ref(binding.NetworkData),
	}
}

// provide sees to it that the secret of one kind is next to the host, and
// returns its name there; empty when the claim needs none. What a host is first told, or is
// switched on for, is read live; else a copy is written again when the watch shows a change.
func (r *synchronizer) provide(ctx context.Context, s *scope, kind binding.SecretKind, grant policy.Grant) (string, error) {
	source := binding.SecretName(s.claim, kind)
	if source == "" && !s.hidesNetworkData(kind, grant) {
		return "", nil
	}
	if s.crossing() && s.goesOnAsTold() && r.inStep(s, kind) {
		return binding.CopyName(s.claim.UID, kind), nil
	}
	content, version := binding.EmptyNetworkData(), ""
	if source != "" {
		var err error
		if content, version, err = r.readSource(ctx, s, kind); err != nil {
			return "", err
		}
	}
	if !s.crossing() {
		return source, nil
	}
	copied, err := r.ensureCopy(ctx, s, kind, content)
	if err != nil {
		return "", err
	}
	p, _ := r.shown(s, kind)
	p.sourceVersion, p.copiedVersion = version, copied.ResourceVersion
	r.comparisons.note(keyOf(s.claim), kind, comparison{pair: p})
	return copied.Name, nil
}

// hidesNetworkData says that the claim gets empty network data, since otherwise
// the infrastructure's own would reach its config drive.
func (s *scope) hidesNetworkData(kind binding.SecretKind, grant policy.Grant) bool {
	return kind == binding.NetworkData && s.crossing() &&
		s.host.Spec.PreprovisioningNetworkDataName != "" && !grant.SharesPreprovisioningNetworkData()
}

// readSource reads the part that is needed of a secret in the claim's
// namespace, and its version. The watch starts before the read, so that no change is missed.
func (r *synchronizer) readSource(ctx context.Context, s *scope, kind binding.SecretKind) (binding.Content, string, error) {
	key := client.ObjectKey{Namespace: s.claim.Namespace, Name: binding.SecretName(s.claim, kind)}
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		return binding.Content{}, "", &secretError{kind, fmt.Sprintf("%s: no secret can be named %q; correct the reference",
			binding.SecretField(kind), key.Name)}
	}
	r.secrets.Ensure(key.Namespace)
	where := binding.SecretField(kind) + ": secret " + key.String()
	secret, err := r.readSecret(ctx, key, s.crossing() || kind == binding.OCIAuth)
	switch {
	case apierrors.IsNotFound(err):
		return binding.Content{}, "", &secretError{kind, where + " does not exist; create it, or correct the reference"}
	case apierrors.IsForbidden(err):
		return binding.Content{}, "", forbidden(kind, "get", key.Namespace, sourceSecretsRole)
	case err != nil:
		return binding.Content{}, "", fmt.Errorf("read secret %s: %w", key, err)
	}
	content, err := binding.Extract(kind, secret)
	if err != nil {
		return binding.Content{}, "", &secretError{kind, where + " cannot be used: " + err.Error() + "; add the key to it"}
	}
	return content, secret.ResourceVersion, nil
}

// readSecret reads a secret live; if its content is not needed, once for each version of it.
func (r *synchronizer) readSecret(ctx context.Context, key client.ObjectKey, content bool) (*corev1.Secret, error) {
	if !content {
		return r.secrets.Outline(ctx, r.live, key) //nolint:wrapcheck // the caller tells the errors apart
	}
	secret := &corev1.Secret{}
	return secret, r.live.Get(ctx, key, secret)
}

// ensureCopy brings the copy of a secret next to the host up to date, and
// returns it. A secret of that name that is not our copy is not touched.
// The type of a secret cannot be changed, so that a copy of another type makes way
// for a new one.
func (r *synchronizer) ensureCopy(ctx context.Context, s *scope, kind binding.SecretKind, content binding.Content) (*corev1.Secret, error) {
	r.secrets.Ensure(s.host.Namespace)
	desired := binding.Copy(s.claim, s.host, kind, content)
	if version, known := r.secrets.Version(client.ObjectKeyFromObject(desired)); known && version == "" {
		if err := r.client.Create(ctx, desired); !apierrors.IsAlreadyExists(err) {
			return desired, r.writeCopy(ctx, kind, "create", desired, err)
		}
	}
	current := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), current)
	switch {
	case apierrors.IsForbidden(err):
		return nil, forbidden(kind, "get", desired.Namespace, hostSecretsRole)
	case apierrors.IsNotFound(err):
		return desired, r.writeCopy(ctx, kind, "create", desired, r.client.Create(ctx, desired))
	case err != nil:
		return nil, fmt.Errorf("read the copied secret: %w", err)
	case !binding.IsCopy(current, s.claim, kind):
		return nil, &secretError{kind, "a secret that is not ours has the name of the copy next to the host; " +
			"the infrastructure team must remove it"}
	}
	return r.updateCopy(ctx, kind, current, desired)
}

// updateCopy writes what differs of a copy.
func (r *synchronizer) updateCopy(ctx context.Context, kind binding.SecretKind, current, desired *corev1.Secret) (*corev1.Secret, error) {
	if current.Type != desired.Type {
		if err := r.writeCopy(ctx, kind, "delete", desired, r.deleteSecret(ctx, current)); err != nil {
			return nil, err
		}
		return desired, r.writeCopy(ctx, kind, "create", desired, r.client.Create(ctx, desired))
	}
	updated := current.DeepCopy()
	updated.Labels, updated.Annotations = desired.Labels, desired.Annotations
	updated.OwnerReferences, updated.Data = desired.OwnerReferences, desired.Data
	if equality.Semantic.DeepEqual(updated, current) {
		return current, nil
	}
	return updated, r.writeCopy(ctx, kind, "patch", desired, r.client.Patch(ctx, updated, apply.Locked(current)))
}

// deleteSecret deletes exactly the secret that was read.
func (r *synchronizer) deleteSecret(ctx context.Context, secret *corev1.Secret) error {
	uid := secret.UID
	return client.IgnoreNotFound(r.client.Delete(ctx, secret, client.Preconditions{UID: &uid}))
}

// writeCopy tells missing rights, which a person must mend, from other errors.
func (r *synchronizer) writeCopy(ctx context.Context, kind binding.SecretKind, verb string, secret *corev1.Secret, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return forbidden(kind, verb, secret.Namespace, hostSecretsRole)
	case err != nil:
		return fmt.Errorf("%s the copied secret: %w", verb, err)
	}
	r.metrics.secretDone(kind)
	if verb != "delete" {
		ctrl.LoggerFrom(ctx).Info("Copied a secret next to the host", "Secret", klog.KObj(secret), "kind", string(kind))
	}
	return nil
}

// forbidden names the right that is missing and who gives it.
func forbidden(kind binding.SecretKind, verb, namespace, role string) *secretError {
	return &secretError{kind, missingRight(verb, namespace, role)}
}

func missingRight(verb, namespace, role string) string {
	return fmt.Sprintf("the hostclaim manager may not %s secrets in namespace %s; "+
		"create a RoleBinding there of ClusterRole %s to its service account", verb, namespace, role)
}

// frozenNotes tell the owner of a claim what no longer reaches its server: new
// secrets after the policy was revoked, and secrets that were changed too late.
func (r *synchronizer) frozenNotes(ctx context.Context, s *scope) []string {
	switch {
	case !s.grant().Admitted:
		return []string{"No HostDeployPolicy admits this namespace to the host any more; the server keeps running"}
	case s.crossing() && r.rotated(ctx, s):
		return []string{"A secret was changed after provisioning had started; the server keeps what it was given"}
	default:
		return nil
	}
}

// deleteCopies removes every secret that was copied for the claim to a namespace
// of hosts. With a host, which must still name the claim, it also removes the copies that the host
// owns, for whatever claim.
func (r *releaser) deleteCopies(ctx context.Context, claim *bmov1alpha1.HostClaim, namespace string, host *bmov1alpha1.BareMetalHost) progress.Outcome {
	sweeper, own := copies.Sweeper{Live: r.live, Writer: r.client}, namespace == claim.Namespace
	var err error
	if !own {
		r.secrets.Ensure(namespace) // what comes after the list is seen by the watch
		err = sweeper.OfClaim(ctx, claim.UID, namespace)
	}
	if err == nil && host != nil {
		err = sweeper.NextTo(ctx, host)
	}
	switch {
	case apierrors.IsForbidden(err) && own:
		// Nothing was copied for this claim, so the manager needs no rights on
		// secrets in its namespace.
		return progress.Outcome{}
	case apierrors.IsForbidden(err):
		return progress.Waiting(infrav1.SecretsForbiddenReason, missingRight("delete", namespace, hostSecretsRole))
	}
	return progress.Failed(err)
}
