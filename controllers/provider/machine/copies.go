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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// errSecretTaken is the error of a pass that found a foreign secret in its way.
var errSecretTaken = errors.New("the name of the copied Secret is taken")

// copySecrets brings the secrets of the machine next to a claim in another
// cluster, and keeps the copies up to date. The claim does not name them before
// all of them are there.
func (p claimSteps) copySecrets(ctx context.Context, s *scope) progress.Outcome {
	if s.claim == nil || s.plan.Claim == nil {
		return progress.Outcome{}
	}
	var all progress.Outcome
	for _, c := range s.plan.Copies {
		if c.Source != "" {
			all = all.And(p.copySecret(ctx, s, c))
		}
	}
	if !all.Done() && s.observed.Claim.Deployment == nil {
		s.plan.Claim.Deployment, s.plan.Claim.PoweredOn = nil, false
	}
	return all
}

// copySecret sees to one copy. A source that is gone, or may not be read any more,
// after the claim was given its copy changes nothing: the server has it.
func (p claimSteps) copySecret(ctx context.Context, s *scope, c claims.Copy) progress.Outcome {
	source := &corev1.Secret{}
	err := p.live.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: c.Source}, source)
	switch {
	case s.observed.Claim.Deployment != nil && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)):
		return progress.Outcome{}
	case apierrors.IsNotFound(err):
		return s.uncopied(infrav1.SecretNotCopiedReason, fmt.Sprintf(
			"Secret %q does not exist in namespace %q: create it", c.Source, s.machine.Namespace))
	case apierrors.IsForbidden(err):
		return s.uncopied(infrav1.SecretsForbiddenReason, forbidden("get", s.machine.Namespace))
	case err != nil:
		return s.failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason, fmt.Sprintf("Secret %q cannot be read", c.Source), err)
	}
	value, found := c.Value(source.Data)
	if !found {
		return s.uncopied(infrav1.SecretNotCopiedReason, fmt.Sprintf("Secret %q needs the key %q", c.Source, c.Key))
	}
	return s.writeCopy(ctx, c, value)
}

// uncopied notes why a copy cannot be made; a watch on what is missing wakes us.
func (s *scope) uncopied(reason, message string) progress.Outcome {
	s.problems = append(s.problems, machines.Wait{Condition: infrav1.Metal3DataReadyCondition, Reason: reason, Message: message})
	return progress.Waiting(reason, message)
}

// writeCopy makes or updates a copy. What it holds is told from the hash on it, so
// that contents are sent and never fetched.
func (s *scope) writeCopy(ctx context.Context, c claims.Copy, value []byte) progress.Outcome {
	desired := c.DesiredCopy(s.claim, value)
	current := &metav1.PartialObjectMetadata{TypeMeta: desired.TypeMeta}
	err := s.site.client.Get(ctx, client.ObjectKeyFromObject(desired), current)
	switch {
	case apierrors.IsNotFound(err):
		return s.createCopy(ctx, c, desired)
	case err != nil:
		return s.copyFailed(c, err)
	case !claims.CopyOf(current, s.claim) && current.Labels[infrav1.OriginKey] == s.claim.Labels[infrav1.OriginKey]:
		return s.uncopied(infrav1.SecretNotCopiedReason, taken(c, s.claim.Namespace))
	case !claims.CopyOf(current, s.claim): // its events wake those of its origin only: we come back
		return s.failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason, taken(c, s.claim.Namespace), errSecretTaken)
	case current.Annotations[infrav1.ContentHashAnnotation] == desired.Annotations[infrav1.ContentHashAnnotation]:
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Updating a copied Secret", "Secret", klog.KObj(desired))
	before := &corev1.Secret{TypeMeta: desired.TypeMeta, ObjectMeta: current.ObjectMeta}
	after := before.DeepCopy()
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, infrav1.ContentHashAnnotation, desired.Annotations[infrav1.ContentHashAnnotation])
	after.Data = desired.Data
	err = s.site.client.Patch(ctx, after, apply.Locked(before))
	if err != nil {
		return s.copyFailed(c, err)
	}
	return progress.Outcome{}
}

// createCopy makes a copy where none is seen. A secret of that name which is not
// ours is never taken over, and nothing tells when it goes: we come back.
func (s *scope) createCopy(ctx context.Context, c claims.Copy, desired *corev1.Secret) progress.Outcome {
	ctrl.LoggerFrom(ctx).Info("Copying a Secret", "Secret", klog.KObj(desired))
	key := client.ObjectKeyFromObject(desired)
	err := s.site.client.Create(ctx, desired, client.FieldOwner(infrav1.MachineFieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return s.copyFailed(c, err)
		}
		return progress.Outcome{}
	}
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if read := s.site.live.Get(ctx, key, current); read != nil {
		return s.copyFailed(c, read)
	}
	if claims.CopyOf(current, s.claim) {
		return progress.Failed(progress.ErrStale)
	}
	return s.failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason, taken(c, s.claim.Namespace), errSecretTaken)
}

func (s *scope) copyFailed(c claims.Copy, err error) progress.Outcome {
	return s.failed(infrav1.Metal3DataReadyCondition, infrav1.SecretNotCopiedReason,
		fmt.Sprintf("Secret %q cannot be copied next to the HostClaim", c.Source), err)
}

func taken(c claims.Copy, namespace string) string {
	return fmt.Sprintf("Secret %q cannot be copied next to the HostClaim: a secret of the name of the copy, which ends in %s, "+
		"belongs to something else in namespace %q there: delete it", c.Source, c.Suffix, namespace)
}
