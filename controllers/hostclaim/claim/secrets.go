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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
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

// look returns the name of the secret of one kind next to the host, empty when the claim needs none, and
// whether it is there as the host is to get it. No content is read for that. A host that stays off does
// not read its secrets: what changes meanwhile is copied when it is to be switched on. A payload that is
// new to the host, or for which it is switched on, never counts as copied.
func (r *Reconciler) look(ctx context.Context, s *scope, kind binding.SecretKind) (name string, there bool, err error) {
	name, content := binding.SecretName(s.claim, kind), binding.EmptyNetworkData()
	switch {
	case name != "":
		content, err = r.readSource(ctx, s, kind, false)
	case !s.hidesNetworkData(kind):
		return "", true, nil
	}
	if err != nil || !s.crossing() {
		return name, true, err
	}
	desired := binding.Copy(s.claim, s.host, kind, content)
	if !s.goesOnAsTold() {
		return desired.Name, false, nil
	}
	current, err := r.copied(ctx, desired)
	if err != nil {
		return desired.Name, false, nil //nolint:nilerr // it is reported when the copy is written
	}
	if !s.host.Spec.Online {
		desired.Annotations = nil
	}
	return desired.Name, secretcopy.UpToDate(current, desired), nil
}

// copied returns the metadata of a copy; it is empty if there is none.
func (r *Reconciler) copied(ctx context.Context, desired *corev1.Secret) (metav1.ObjectMeta, error) {
	r.Secrets.Ensure(desired.Namespace)
	return r.Secrets.Metadata(ctx, r.Live, client.ObjectKeyFromObject(desired))
}

// hidesNetworkData reports whether the claim gets empty network data, since otherwise
// the infrastructure's own would reach its config drive.
func (s *scope) hidesNetworkData(kind binding.SecretKind) bool {
	return kind == binding.NetworkData && s.crossing() &&
		s.host.Spec.PreprovisioningNetworkDataName != "" && !s.grant().Permits(infrav1.SharePreprovisioningNetworkDataAnnotation)
}

// readSource reads the part that is needed of a secret in the claim's namespace: live, or as it was when
// this version of it was last read, with the digest of its value. The watch
// starts before the read, so that no change is missed.
func (r *Reconciler) readSource(ctx context.Context, s *scope, kind binding.SecretKind, live bool) (secretkeys.Content, error) {
	key := client.ObjectKey{Namespace: s.claim.Namespace, Name: binding.SecretName(s.claim, kind)}
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		return secretkeys.Content{}, &secretError{kind, fmt.Sprintf("%s: no secret can be named %q; correct the reference",
			binding.SecretField(kind), key.Name)}
	}
	r.Secrets.Ensure(key.Namespace)
	secret, err := r.read(ctx, key, live)
	where := binding.SecretField(kind) + ": secret " + key.String()
	switch {
	case apierrors.IsNotFound(err):
		return secretkeys.Content{}, &secretError{kind, where + " does not exist; create it, or correct the reference"}
	case apierrors.IsForbidden(err):
		return secretkeys.Content{}, forbidden(kind, "get", key.Namespace, sourceSecretsRole)
	case err != nil:
		return secretkeys.Content{}, fmt.Errorf("read secret %s: %w", key, err)
	}
	content, err := binding.Extract(kind, secret)
	if err != nil {
		return content, &secretError{kind, where + " cannot be used: " + err.Error() + "; add the key to it"}
	}
	content.Digested = !live
	return content, nil
}

// read reads a secret live, or the outline of the version that was last read.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey, live bool) (*corev1.Secret, error) {
	if !live {
		return r.Secrets.Outline(ctx, r.Live, key)
	}
	secret := &corev1.Secret{}
	return secret, r.Live.Get(ctx, key, secret)
}

// provided copies the secrets of the claim next to the host, and returns what is then written to
// the host; nil while the claim waits for its turn. None is copied before all exist and can be
// used.
func (r *Reconciler) provided(ctx context.Context, s *scope) (*binding.Payload, error) {
	names, due := secretNames{}, []binding.SecretKind(nil)
	for _, kind := range binding.SecretKinds {
		name, there, err := r.look(ctx, s, kind)
		if err != nil {
			return nil, r.undone(s, kind, err)
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

// undone counts and notes why a secret is not next to the host.
func (r *Reconciler) undone(s *scope, kind binding.SecretKind, err error) error {
	r.Metrics.secret(kind, err)
	return s.secretProblem(err)
}

// copying is a copy that is to be written over the current one.
type copying struct {
	kind    binding.SecretKind
	current metav1.ObjectMeta
	desired *corev1.Secret
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
				return false, r.undone(s, kind, err)
			}
			if !secretcopy.UpToDate(c.current, c.desired) {
				due = append(due, c)
				bytes += secretcopy.Size(c.desired)
			}
		}
		wait = r.Budget.Take(keyOf(s.claim), bytes, now)
	}
	if wait > 0 {
		s.wakeAt(now.Add(wait))
		s.waitsForSync(binding.Wait{Reason: infrav1.SecretCopiesLimitedReason, Message: fmt.Sprintf("Claims of this namespace had more than %d MiB of "+
			"secrets copied next to hosts; this one gets its own in turn, %d KiB a second. Smaller user data, or data that changes less often, goes faster",
			secretcopy.Burst>>20, secretcopy.PerSecond>>10)})
		return false, nil
	}
	for _, c := range due {
		if err := r.writeCopy(ctx, c); err != nil {
			return false, r.undone(s, c.kind, err)
		}
	}
	return true, nil
}

// compare reads a secret live, and the metadata of its copy. A secret of that name that is not our copy is
// not touched.
func (r *Reconciler) compare(ctx context.Context, s *scope, kind binding.SecretKind) (c copying, err error) {
	content := binding.EmptyNetworkData()
	if binding.SecretName(s.claim, kind) != "" {
		if content, err = r.readSource(ctx, s, kind, true); err != nil {
			return c, err
		}
	}
	c = copying{kind: kind, desired: binding.Copy(s.claim, s.host, kind, content)}
	c.current, err = r.copied(ctx, c.desired)
	switch {
	case apierrors.IsForbidden(err):
		return c, forbidden(kind, "get", c.desired.Namespace, hostSecretsRole)
	case err != nil:
		return c, fmt.Errorf("read the copied secret: %w", err)
	case secretcopy.Exists(c.current) && !binding.IsCopy(&c.current, s.claim, kind):
		return c, &secretError{kind, "a secret that is not ours has the name of the copy next to the host; " +
			"the infrastructure team must remove it"}
	}
	return c, nil
}

// writeCopy brings the secret next to the host.
func (r *Reconciler) writeCopy(ctx context.Context, c copying) error {
	err := secretcopy.Write(ctx, r.Client, c.current, c.desired, infrav1.HostClaimManagerFieldOwner)
	switch {
	case apierrors.IsForbidden(err):
		return forbidden(c.kind, "patch", c.desired.Namespace, hostSecretsRole)
	case err != nil:
		return fmt.Errorf("write the copied secret: %w", err)
	}
	r.Secrets.Read(c.desired)
	r.Metrics.secret(c.kind, nil)
	ctrl.LoggerFrom(ctx).Info("Copied a secret next to the host", "Secret", klog.KObj(c.desired), "kind", string(c.kind))
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

// frozenNotes returns notes for the owner of a claim about what no longer reaches its server:
// new secrets after the policy was revoked, and secrets that were changed too late.
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
	return slices.ContainsFunc(binding.SecretKinds[:], func(kind binding.SecretKind) bool {
		if binding.SecretName(s.claim, kind) == "" {
			return false
		}
		content, err := r.readSource(ctx, s, kind, false)
		if err != nil {
			return false
		}
		desired := binding.Copy(s.claim, s.host, kind, content)
		current, err := r.copied(ctx, desired)
		hash := current.Annotations[infrav1.ContentHashAnnotation]
		return err == nil && hash != "" && hash != desired.Annotations[infrav1.ContentHashAnnotation]
	})
}
