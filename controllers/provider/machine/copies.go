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
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// errSecretTaken is the error of a pass that found a foreign secret in its way.
var errSecretTaken = errors.New("the name of the copied Secret is taken")

// secretCopies are the copies next to a claim in another cluster.
type secretCopies struct{ *claimClient }

// copySecrets brings the secrets of the machine next to a claim in another
// cluster, and keeps the copies up to date.
func (c *claimClient) copySecrets(ctx context.Context, p *planned) progress.Outcome {
	var all progress.Outcome
	for _, wanted := range p.plan.Copies {
		if wanted.Source != "" && p.claim != nil {
			all = all.And(secretCopies{c}.copySecret(ctx, p.scope, wanted))
		}
	}
	return all
}

// copySecret makes one copy, or brings it up to date. A source that is gone, or may not
// be read or handed out any more, after the claim was given its copy changes nothing: the server has it.
func (c secretCopies) copySecret(ctx context.Context, s *scope, wanted claims.Copy) progress.Outcome {
	source := &corev1.Secret{}
	err := c.live.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: wanted.Source}, source)
	switch {
	case wanted.NamedBy(s.claim) && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)):
		return progress.Outcome{}
	case apierrors.IsNotFound(err):
		return uncopied(infrav1.SecretNotCopiedReason, fmt.Sprintf(
			"Secret %q does not exist in namespace %q: create it", wanted.Source, s.machine.Namespace))
	case apierrors.IsForbidden(err):
		return uncopied(infrav1.SecretsForbiddenReason, forbidden("get", s.machine.Namespace))
	case err != nil:
		return failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason, fmt.Sprintf("Secret %q cannot be read", wanted.Source), err)
	}
	content, err := wanted.Content(source)
	if err != nil {
		return uncopied(infrav1.SecretNotCopiedReason, fmt.Sprintf("Secret %q cannot be used: %s", wanted.Source, err))
	}
	switch why := s.refuses(source, content.Key); {
	case why != "" && s.observed.Claim.Deployment != nil:
		return progress.Outcome{}
	case why != "":
		return uncopied(infrav1.SecretNotCopiedReason, why)
	}
	return c.writeCopy(ctx, s.claim, wanted, content)
}

// uncopied says why a copy cannot be made; a watch on what is missing wakes us.
func uncopied(reason, message string) progress.Outcome {
	return waiting(infrav1.Metal3DataReadyCondition, reason, message)
}

// writeCopy makes or updates a copy. The hash on a copy says what it holds, so that
// contents are sent and never fetched.
func (c secretCopies) writeCopy(ctx context.Context, claim *bmov1alpha1.HostClaim, wanted claims.Copy, content secretkeys.Content) progress.Outcome {
	desired := wanted.DesiredCopy(claim, content)
	current := &metav1.PartialObjectMetadata{TypeMeta: desired.TypeMeta}
	err := c.writer.Get(ctx, client.ObjectKeyFromObject(desired), current)
	switch {
	case apierrors.IsNotFound(err):
		return c.createCopy(ctx, claim, wanted, desired)
	case err != nil:
		return copyFailed(wanted, err)
	case !claims.CopyOf(current, claim) && current.Labels[infrav1.OriginKey] == claim.Labels[infrav1.OriginKey]:
		return uncopied(infrav1.SecretNotCopiedReason, nameOfCopyTaken(wanted, claim.Namespace))
	case !claims.CopyOf(current, claim): // its events wake those of its origin only
		return copyInTheWay(wanted, claim.Namespace)
	case current.Labels[infrav1.OriginKey] != desired.Labels[infrav1.OriginKey]:
		return c.dropCopy(ctx, wanted, current)
	case current.Annotations[infrav1.ContentHashAnnotation] == desired.Annotations[infrav1.ContentHashAnnotation]:
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Updating a copied Secret", "Secret", klog.KObj(desired))
	before := &corev1.Secret{TypeMeta: desired.TypeMeta, ObjectMeta: current.ObjectMeta}
	after := before.DeepCopy()
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, infrav1.ContentHashAnnotation, desired.Annotations[infrav1.ContentHashAnnotation])
	after.Data = desired.Data
	return copyFailed(wanted, c.writer.Patch(ctx, after, patch.Locked(before)))
}

// dropCopy deletes what was copied for the machine that had the claim before, since neither its
// type nor its keys need be those of the copy for this one.
func (c secretCopies) dropCopy(ctx context.Context, wanted claims.Copy, copied client.Object) progress.Outcome {
	ctrl.LoggerFrom(ctx).Info("Deleting a Secret that was copied for another machine", "Secret", klog.KObj(copied))
	if err := c.deleteCopy(ctx, copied); err != nil {
		return copyFailed(wanted, err)
	}
	return progress.Failed(progress.ErrStale)
}

// deleteCopy deletes exactly the copy that was read.
func (c secretCopies) deleteCopy(ctx context.Context, copied client.Object) error {
	uid := copied.GetUID()
	return client.IgnoreNotFound(c.writer.Delete(ctx, copied, client.Preconditions{UID: &uid}))
}

// drop deletes the copies of these names next to a claim that needs them no more. The claim is
// as it was: one that was adopted meanwhile may have copies of the same names for another machine. What a
// manager that was killed before leaves goes with the claim, or when the next machine has copies of those names.
func (c secretCopies) drop(ctx context.Context, claim *bmov1alpha1.HostClaim, names []string) progress.Outcome {
	for _, name := range names {
		copied := &metav1.PartialObjectMetadata{}
		copied.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := c.writer.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: name}, copied)
		if err == nil && claims.CopyOf(copied, claim) && copied.Labels[infrav1.OriginKey] == claim.Labels[infrav1.OriginKey] {
			err = c.deleteCopy(ctx, copied)
		}
		if client.IgnoreNotFound(err) != nil {
			return failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason,
				"The Secrets that were copied next to the HostClaim cannot be deleted", err)
		}
	}
	return progress.Outcome{}
}

// createCopy makes a copy where none is seen. A secret of that name which is not
// ours is never taken over, and no event says when it goes.
func (c secretCopies) createCopy(
	ctx context.Context, claim *bmov1alpha1.HostClaim, wanted claims.Copy, desired *corev1.Secret,
) progress.Outcome {
	ctrl.LoggerFrom(ctx).Info("Copying a Secret", "Secret", klog.KObj(desired))
	key := client.ObjectKeyFromObject(desired)
	err := c.writer.Create(ctx, desired, client.FieldOwner(infrav1.MachineFieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		return copyFailed(wanted, err)
	}
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if read := c.reader.Get(ctx, key, current); read != nil {
		return copyFailed(wanted, read)
	}
	if claims.CopyOf(current, claim) {
		return progress.Failed(progress.ErrStale)
	}
	return copyInTheWay(wanted, claim.Namespace)
}

// copyFailed is the outcome for a copy whose write ended so; a nil error means that it
// was made.
func copyFailed(wanted claims.Copy, err error) progress.Outcome {
	if err == nil {
		return progress.Outcome{}
	}
	return failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason,
		fmt.Sprintf("Secret %q cannot be copied next to the HostClaim", wanted.Source), err)
}

// copyInTheWay is the outcome for a foreign secret that has the name of a copy, and of
// which no event comes: the pass fails, and is repeated with a growing delay.
func copyInTheWay(wanted claims.Copy, namespace string) progress.Outcome {
	return failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason, nameOfCopyTaken(wanted, namespace), errSecretTaken)
}

func nameOfCopyTaken(wanted claims.Copy, namespace string) string {
	return fmt.Sprintf("Secret %q cannot be copied next to the HostClaim: a secret of the name of the copy, which ends in %s, "+
		"belongs to something else in namespace %q there: delete it", wanted.Source, wanted.Suffix, namespace)
}
