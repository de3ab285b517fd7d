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

package hostclaims

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
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
)

var errSecretTaken = errors.New("the name of the copied Secret is taken")

// Refuses returns why a Secret must not leave its namespace under a key; empty if it may.
type Refuses func(secret *corev1.Secret, key string) string

// CopySecrets copies the secrets of the machine next to its claim, and keeps the copies up to date. The wait
// is why copies are missing; it is empty in the machine's own namespace, where nothing is copied.
func (c *Client) CopySecrets(
	ctx context.Context, claim *bmov1alpha1.HostClaim, wanted []claims.Copy, refuses Refuses,
) (missing conditions.Wait, err error) {
	if claim == nil {
		return missing, nil
	}
	var errs []error
	for _, copied := range wanted {
		if copied.Source == "" {
			continue
		}
		wait, err := c.copySecret(ctx, claim, copied, refuses)
		if missing.Reason == "" {
			missing = wait
		}
		errs = append(errs, err)
	}
	return missing, errors.Join(errs...)
}

// copySecret makes one copy, or brings it up to date. A source that is gone, or may not be read or handed out
// any more, after the claim was given its copy changes nothing: the server has it.
func (c *Client) copySecret(ctx context.Context, claim *bmov1alpha1.HostClaim, wanted claims.Copy, refuses Refuses) (conditions.Wait, error) {
	source := &corev1.Secret{}
	err := c.clients.Live.Get(ctx, client.ObjectKey{Namespace: c.machine.Namespace, Name: wanted.Source}, source)
	switch {
	case wanted.NamedBy(claim) && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)):
		return conditions.Wait{}, nil
	case apierrors.IsNotFound(err):
		return uncopied("Secret %q does not exist in namespace %q: create it", wanted.Source, c.machine.Namespace), nil
	case apierrors.IsForbidden(err):
		return conditions.Wait{Reason: infrav1.SecretsForbiddenReason, Message: Forbidden("get", c.machine.Namespace)}, nil
	case err != nil:
		return conditions.Wait{}, &Failure{uncopied("Secret %q cannot be read", wanted.Source), err}
	}
	content, err := wanted.Content(source)
	if err != nil {
		return uncopied("Secret %q cannot be used: %s", wanted.Source, err), nil
	}
	switch why := refuses(source, content.Key); {
	case why != "" && claims.Read(claim).Deployment != nil:
		return conditions.Wait{}, nil
	case why != "":
		return uncopied("%s", why), nil
	}
	return c.writeCopy(ctx, claim, wanted, content)
}

// Forbidden names the right that is missing in a namespace, and how to give it.
func Forbidden(verb, namespace string) string {
	return fmt.Sprintf("The provider may not %s secrets in namespace %q: create a RoleBinding in that namespace "+
		"from its service account to the ClusterRole capm3-tenant-secrets", verb, namespace)
}

// uncopied returns why a copy cannot be made; a watch on what is missing wakes the machine.
func uncopied(message string, args ...any) conditions.Wait {
	return conditions.Wait{Reason: infrav1.SecretNotCopiedReason, Message: fmt.Sprintf(message, args...)}
}

// writeCopy makes a copy, or updates one, which may have been made for the machine that had the claim before. It
// compares the hash on the copy, so contents are sent and never fetched.
func (c *Client) writeCopy(
	ctx context.Context, claim *bmov1alpha1.HostClaim, wanted claims.Copy, content secretkeys.Content,
) (conditions.Wait, error) {
	desired := wanted.DesiredCopy(claim, content)
	current, err := secretcopy.Metadata(ctx, c.client, client.ObjectKeyFromObject(desired))
	ours := claims.CopyOf(&current, claim)
	taken := uncopied("Secret %q cannot be copied next to the HostClaim: a secret of the name of the copy, which ends in %s, "+
		"belongs to something else in namespace %q there: delete it", wanted.Source, wanted.Suffix, claim.Namespace)
	switch {
	case err != nil:
	case !secretcopy.Exists(current):
		err = c.createCopy(ctx, claim, desired)
	case !ours && current.Labels[infrav1.OriginKey] == claim.Labels[infrav1.OriginKey]:
		return taken, nil
	case !ours: // its events wake those of its origin only
		err = errSecretTaken
	case !secretcopy.UpToDate(current, desired):
		ctrl.LoggerFrom(ctx).Info("Updating a copied Secret", "Secret", klog.KObj(desired))
		err = secretcopy.Write(ctx, c.client, current, desired, infrav1.MachineFieldOwner)
	}
	switch {
	case err == nil:
		return conditions.Wait{}, nil
	case errors.Is(err, errSecretTaken):
		return conditions.Wait{}, &Failure{taken, err}
	default:
		return conditions.Wait{}, &Failure{uncopied("Secret %q cannot be copied next to the HostClaim", wanted.Source), err}
	}
}

// createCopy makes a copy where none is seen. A secret of that name which is not ours is never taken over, and
// no event reports its deletion: the pass fails, and is repeated with a growing delay.
func (c *Client) createCopy(ctx context.Context, claim *bmov1alpha1.HostClaim, desired *corev1.Secret) error {
	ctrl.LoggerFrom(ctx).Info("Copying a Secret", "Secret", klog.KObj(desired))
	err := secretcopy.Write(ctx, c.client, metav1.ObjectMeta{}, desired, infrav1.MachineFieldOwner)
	if !apierrors.IsConflict(err) {
		return err
	}
	current, readErr := secretcopy.Metadata(ctx, c.live, client.ObjectKeyFromObject(desired))
	switch {
	case readErr != nil:
		return readErr
	case !secretcopy.Exists(current) || claims.CopyOf(&current, claim):
		return err // the cache was late
	default:
		return errSecretTaken
	}
}

// dropCopies deletes the copies that a claim named before it was reserved. One that was adopted meanwhile may
// have copies of the same names for another machine. What a manager that was killed before leaves goes with
// the claim, or when the next machine has copies of those names.
func (c *Client) dropCopies(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	for _, name := range claims.CopiesOf(claim) {
		copied, err := secretcopy.Metadata(ctx, c.client, client.ObjectKey{Namespace: claim.Namespace, Name: name})
		if err == nil && claims.CopyOf(&copied, claim) && copied.Labels[infrav1.OriginKey] == claim.Labels[infrav1.OriginKey] {
			err = secretcopy.Delete(ctx, c.client, copied)
		}
		if err != nil {
			return &Failure{Err: err, Wait: conditions.Wait{
				Reason: infrav1.DeletionFailedReason, Message: "The Secrets that were copied next to the HostClaim cannot be deleted",
			}}
		}
	}
	return nil
}
