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
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/copies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
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

// look returns the name of the secret of one kind next to the host, empty when the claim needs
// none, and whether it is there as the host is to get it. No content is read for that. A host that stays
// off does not read its secrets: what changes meanwhile is copied when it is to be switched on. What a
// host is first told, or is switched on for, is never taken to be there.
func (r *Reconciler) look(ctx context.Context, s *scope, kind binding.SecretKind) (name string, there bool, err error) {
	name, content := binding.SecretName(s.claim, kind), binding.EmptyNetworkData()
	switch {
	case name != "":
		content, err = r.readSource(ctx, s, kind, r.outline)
	case !s.hidesNetworkData(kind):
		return "", true, nil
	}
	if err != nil || !s.crossing() {
		return name, true, err
	}
	name = binding.CopyName(s.claim.UID, kind)
	return name, s.goesOnAsTold() && r.copied(ctx, s, kind, content), nil
}

// hidesNetworkData reports whether the claim gets empty network data, since otherwise
// the infrastructure's own would reach its config drive.
func (s *scope) hidesNetworkData(kind binding.SecretKind) bool {
	return kind == binding.NetworkData && s.crossing() &&
		s.host.Spec.PreprovisioningNetworkDataName != "" && !s.grant().SharesPreprovisioningNetworkData()
}

// readSource reads the part that is needed of a secret in the claim's namespace. The watch
// starts before the read, so that no change is missed.
func (r *Reconciler) readSource(ctx context.Context, s *scope, kind binding.SecretKind, read readSecret) (binding.Content, error) {
	key := client.ObjectKey{Namespace: s.claim.Namespace, Name: binding.SecretName(s.claim, kind)}
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		return binding.Content{}, &secretError{kind, fmt.Sprintf("%s: no secret can be named %q; correct the reference",
			binding.SecretField(kind), key.Name)}
	}
	r.Secrets.Ensure(key.Namespace)
	where := binding.SecretField(kind) + ": secret " + key.String()
	secret, err := read(ctx, key)
	switch {
	case apierrors.IsNotFound(err):
		return binding.Content{}, &secretError{kind, where + " does not exist; create it, or correct the reference"}
	case apierrors.IsForbidden(err):
		return binding.Content{}, forbidden(kind, "get", key.Namespace, sourceSecretsRole)
	case err != nil:
		return binding.Content{}, fmt.Errorf("read secret %s: %w", key, err)
	}
	content, err := binding.Extract(kind, secret)
	if err != nil {
		return binding.Content{}, &secretError{kind, where + " cannot be used: " + err.Error() + "; add the key to it"}
	}
	return content, nil
}

// readSecret is outline or whole.
type readSecret func(context.Context, client.ObjectKey) (*corev1.Secret, error)

// outline reads what a secret is, once for each version of it.
func (r *Reconciler) outline(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	return r.Secrets.Outline(ctx, r.Live, key)
}

// whole reads a secret live.
func (r *Reconciler) whole(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, r.Live.Get(ctx, key, secret)
}

// copied reports whether the copy of a secret is next to the host, with this content if the host is on.
func (r *Reconciler) copied(ctx context.Context, s *scope, kind binding.SecretKind, content binding.Content) bool {
	r.Secrets.Ensure(s.host.Namespace)
	copied, err := r.outline(ctx, client.ObjectKey{Namespace: s.host.Namespace, Name: binding.CopyName(s.claim.UID, kind)})
	if err != nil || !binding.IsCopy(copied, s.claim, kind) || copied.Labels[infrav1.SecretHostUIDLabel] != string(s.host.UID) {
		return false // what is wrong is told when the copy is written
	}
	has, err := binding.Extract(kind, copied)
	return !s.host.Spec.Online || err == nil && equality.Semantic.DeepEqual(has, content)
}

// copying is a copy that is to be written; current is nil where there is none.
type copying struct {
	kind             binding.SecretKind
	current, desired *corev1.Secret
}

// provided brings the secrets of the claim to the host, and returns what the host is then told; nil
// while the claim waits for its turn. None is copied before all are there and can be used.
func (r *Reconciler) provided(ctx context.Context, s *scope) (*binding.Payload, error) {
	names, due := secretNames{}, []binding.SecretKind(nil)
	for _, kind := range binding.SecretKinds {
		name, there, err := r.look(ctx, s, kind)
		if err != nil {
			r.Metrics.secretUndone(kind, err)
			return nil, s.secretProblem(err)
		}
		names[kind] = name
		if !there {
			due = append(due, kind)
		}
	}
	if copied, err := r.bringCopies(ctx, s, due); err != nil || !copied {
		return nil, err
	}
	return names.payload(s.claim, s.host.Namespace), nil
}

// bringCopies writes the copies of these kinds, once all that they are made of was read, and no
// more than may be copied for a namespace at a time.
func (r *Reconciler) bringCopies(ctx context.Context, s *scope, kinds []binding.SecretKind) (copied bool, err error) {
	if len(kinds) == 0 {
		return true, nil
	}
	now := r.Clock.Now()
	wait := r.Budget.Wait(keyOf(s.claim), now)
	var due []copying
	if wait == 0 {
		bytes := 0
		for _, kind := range kinds {
			c, err := r.compare(ctx, s, kind)
			if err != nil {
				r.Metrics.secretUndone(kind, err)
				return false, s.secretProblem(err)
			}
			if c.desired != c.current {
				due = append(due, c)
				bytes += copies.Size(c.desired)
			}
		}
		wait = r.Budget.Take(keyOf(s.claim), bytes, now)
	}
	if wait > 0 {
		s.wakeAt(now.Add(wait))
		s.waitsForSync(binding.Wait{Reason: infrav1.SecretCopiesLimitedReason, Message: fmt.Sprintf("Claims of this namespace had more than %d MiB of "+
			"secrets copied next to hosts; this one gets its own in turn, %d KiB a second. Smaller user data, or data that changes less often, goes faster",
			copies.Burst>>20, copies.PerSecond>>10)})
		return false, nil
	}
	for _, c := range due {
		if err := r.writeCopy(ctx, c); err != nil {
			r.Metrics.secretUndone(c.kind, err)
			return false, s.secretProblem(err)
		}
	}
	return true, nil
}

// compare reads a secret and its copy; the two of the result are the same if nothing is to be
// written. A secret of that name that is not our copy is not touched.
func (r *Reconciler) compare(ctx context.Context, s *scope, kind binding.SecretKind) (copying, error) {
	content := binding.EmptyNetworkData()
	if binding.SecretName(s.claim, kind) != "" {
		var err error
		if content, err = r.readSource(ctx, s, kind, r.whole); err != nil {
			return copying{}, err
		}
	}
	r.Secrets.Ensure(s.host.Namespace)
	c := copying{kind: kind, desired: binding.Copy(s.claim, s.host, kind, content)}
	key := client.ObjectKeyFromObject(c.desired)
	if version, known := r.Secrets.Version(key); known && version == "" {
		return c, nil
	}
	current, err := r.whole(ctx, key)
	switch {
	case apierrors.IsForbidden(err):
		return c, forbidden(kind, "get", key.Namespace, hostSecretsRole)
	case apierrors.IsNotFound(err):
		return c, nil
	case err != nil:
		return c, fmt.Errorf("read the copied secret: %w", err)
	case !binding.IsCopy(current, s.claim, kind):
		return c, &secretError{kind, "a secret that is not ours has the name of the copy next to the host; " +
			"the infrastructure team must remove it"}
	}
	c.current = current
	if current.Type != c.desired.Type {
		return c, nil
	}
	updated := current.DeepCopy()
	updated.Labels, updated.Annotations = c.desired.Labels, c.desired.Annotations
	updated.OwnerReferences, updated.Data = c.desired.OwnerReferences, c.desired.Data
	if c.desired = updated; equality.Semantic.DeepEqual(updated, current) {
		c.desired = current
		r.Secrets.Read(current)
	}
	return c, nil
}

// writeCopy creates a copy, or writes what differs. The type of a secret cannot be changed, so
// that a copy of another type makes way for a new one.
func (r *Reconciler) writeCopy(ctx context.Context, c copying) error {
	verb, err := "patch", error(nil)
	if c.current != nil && c.current.Type != c.desired.Type {
		verb, err = "delete", r.deleteSecret(ctx, c.current)
		c.current = nil
	}
	switch {
	case err != nil:
	case c.current == nil:
		verb, err = "create", r.Client.Create(ctx, c.desired)
	default:
		err = r.Client.Patch(ctx, c.desired, patch.Locked(c.current))
	}
	switch {
	case apierrors.IsForbidden(err):
		return forbidden(c.kind, verb, c.desired.Namespace, hostSecretsRole)
	case apierrors.IsAlreadyExists(err):
		return patch.Conflict("the watch did not show the copied secret yet")
	case err != nil:
		return fmt.Errorf("%s the copied secret: %w", verb, err)
	}
	r.Secrets.Read(c.desired)
	r.Metrics.secretDone(c.kind)
	ctrl.LoggerFrom(ctx).Info("Copied a secret next to the host", "Secret", klog.KObj(c.desired), "kind", string(c.kind))
	return nil
}

// deleteSecret deletes exactly the secret that was read.
func (r *Reconciler) deleteSecret(ctx context.Context, secret *corev1.Secret) error {
	uid := secret.UID
	return client.IgnoreNotFound(r.Client.Delete(ctx, secret, client.Preconditions{UID: &uid}))
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
func (r *Reconciler) frozenNotes(ctx context.Context, s *scope) []string {
	switch {
	case !s.grant().Admitted:
		return []string{"No HostDeployPolicy admits this namespace to the host any more; the server keeps running"}
	case s.crossing() && r.rotated(ctx, s):
		return []string{"A secret was changed after provisioning had started; the server keeps what it was given"}
	default:
		return nil
	}
}

// rotated reports whether a secret differs from its copy, which stays as the server got it. One of the
// two that is gone, cannot be read, or cannot be used any more, is no difference: the server does not need it.
func (r *Reconciler) rotated(ctx context.Context, s *scope) bool {
	r.Secrets.Ensure(s.claim.Namespace)
	r.Secrets.Ensure(s.host.Namespace)
	return slices.ContainsFunc(binding.SecretKinds[:], func(kind binding.SecretKind) bool {
		if binding.SecretName(s.claim, kind) == "" {
			return false
		}
		copied, err := r.outline(ctx, client.ObjectKey{Namespace: s.host.Namespace, Name: binding.CopyName(s.claim.UID, kind)})
		if err != nil {
			return false
		}
		has, unusable := binding.Extract(kind, copied)
		content, err := r.readSource(ctx, s, kind, r.outline)
		return err == nil && unusable == nil && !equality.Semantic.DeepEqual(content.Data, has.Data)
	})
}
