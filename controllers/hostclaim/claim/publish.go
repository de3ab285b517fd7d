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
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// publish shows the tenant the facts of its host, as far as policy lets them
// out, in a HardwareData of the claim's namespace.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if s.step != binding.Keep {
		return nil
	}
	current, found, err := r.published(ctx, s.claim)
	if err != nil {
		s.hardware = s.claim.Status.HardwareData
		return err
	}
	if found {
		s.hardware = refTo(current)
	}
	hash, reported := binding.HardwareHash(s.host)
	switch {
	case !s.grant().Admitted: // what is published stays as it is, nothing new goes out
		s.waits.publish = because(infrav1.PolicyRevokedReason,
			"No HostDeployPolicy admits this namespace to the host any more; its facts are no longer updated")
		return nil
	case !reported:
		s.waits.publish = because(infrav1.HardwareDataMissingReason,
			"The host has not reported its hardware; it is published as soon as it does")
		return nil
	case found && sameFacts(current, facts(s, s.host)) && binding.FactsHash(current) == hash:
		return nil
	}
	host, err := r.withHardware(ctx, s)
	if err != nil {
		return err
	}
	if desired := facts(s, host); found {
		err = r.updateHardwareData(ctx, s, desired)
	} else {
		err = r.createHardwareData(ctx, s, desired)
	}
	return err
}

// refTo refers to published facts.
func refTo(data *bmov1alpha1.HardwareData) *bmov1alpha1.ObjectReference {
	return &bmov1alpha1.ObjectReference{Namespace: data.Namespace, Name: data.Name}
}

// facts are those of a host as the tenant may see them.
func facts(s *scope, host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareData {
	grant := s.grant()
	return binding.HardwareData(s.claim, host,
		grant.Published(host.Labels, infrav1.PublishLabelsAnnotation), grant.Published(host.Annotations, infrav1.PublishAnnotationsAnnotation))
}

// sameFacts compares all that is published but the hardware itself.
func sameFacts(a, b *bmov1alpha1.HardwareData) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

// withHardware returns the host with its hardware, which hosts from the cache lack.
func (r *Reconciler) withHardware(ctx context.Context, s *scope) (*bmov1alpha1.BareMetalHost, error) {
	if s.host.Status.HardwareDetails != nil {
		return s.host, nil
	}
	host := &bmov1alpha1.BareMetalHost{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.host), host); err != nil {
		return nil, fmt.Errorf("read the hardware of the host: %w", err)
	}
	if !binding.Owned(host, s.claim) || host.Status.HardwareDetails == nil {
		return nil, patch.Conflict("the host has no hardware any more")
	}
	return host, nil
}

// published reads the HardwareData of the claim from the cache, which holds only
// those that carry our label, without the hardware: to compare and to delete, never
// to patch.
func (r *Reconciler) published(ctx context.Context, claim *bmov1alpha1.HostClaim) (*bmov1alpha1.HardwareData, bool, error) {
	data := &bmov1alpha1.HardwareData{}
	key := client.ObjectKey{Namespace: claim.Namespace, Name: binding.HardwareDataName(claim.Name)}
	err := r.Client.Get(ctx, key, data)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read HardwareData %s: %w", key, err)
	}
	return data, err == nil && binding.IsPublished(data, claim), nil
}

// createHardwareData publishes for the first time. baremetal-operator keeps
// HardwareData under the names of hosts, so that such a name is left alone.
func (r *Reconciler) createHardwareData(ctx context.Context, s *scope, desired *bmov1alpha1.HardwareData) error {
	key := client.ObjectKeyFromObject(desired)
	switch err := r.Client.Get(ctx, key, &bmov1alpha1.BareMetalHost{}); {
	case err == nil:
		s.waits.publish = binding.Wait{Reason: infrav1.HardwareDataNameTakenReason, Message: fmt.Sprintf(
			"BareMetalHost %s has the name under which the facts would be published; rename the claim", key.Name)}
		return nil
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("look for a BareMetalHost %s: %w", key, err)
	}
	err := r.Client.Create(ctx, desired)
	if apierrors.IsAlreadyExists(err) {
		return r.updateHardwareData(ctx, s, desired)
	}
	if err != nil {
		return fmt.Errorf("publish HardwareData: %w", err)
	}
	s.hardware = refTo(desired)
	return nil
}

// updateHardwareData brings our own object up to date, as the API server has it. A
// foreign one of that name is left alone.
func (r *Reconciler) updateHardwareData(ctx context.Context, s *scope, desired *bmov1alpha1.HardwareData) error {
	current := &bmov1alpha1.HardwareData{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(desired), current); err != nil {
		return goneIsConflict("read HardwareData", err)
	}
	if !binding.IsPublished(current, s.claim) {
		s.hardware = nil
		s.waits.publish = binding.Wait{Reason: infrav1.HardwareDataNameTakenReason, Message: fmt.Sprintf(
			"HardwareData %s exists and was not made for this claim; remove it", current.Name)}
		return nil
	}
	s.hardware = refTo(current)
	updated := current.DeepCopy()
	updated.Labels, updated.Annotations = desired.Labels, desired.Annotations
	updated.OwnerReferences, updated.Spec = desired.OwnerReferences, desired.Spec
	if equality.Semantic.DeepEqual(updated, current) {
		return nil
	}
	if err := r.Client.Patch(ctx, updated, patch.Locked(current)); err != nil {
		return fmt.Errorf("update HardwareData: %w", err)
	}
	return nil
}

// withdraw deletes the published facts of a claim that goes.
func (r *Reconciler) withdraw(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	data, found, err := r.published(ctx, claim)
	if err != nil || !found {
		return err
	}
	if err := r.Client.Delete(ctx, data, client.Preconditions{UID: &data.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("withdraw HardwareData: %w", err)
	}
	return nil
}
