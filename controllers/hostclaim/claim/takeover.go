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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get

// takeOver returns the host that CAPM3 has bound to the machine of the claim, or why the claim does not get it.
// No other host is bound to such a claim. A change of the host wakes it.
func (r *Reconciler) takeOver(ctx context.Context, s *scope) (candidate, binding.Wait, error) {
	claim, host := s.claim, &bmov1alpha1.BareMetalHost{}
	key := client.ObjectKey{Namespace: claim.Namespace, Name: claim.Annotations[infrav1.TakeOverAnnotation]}
	refused := func(message string) (candidate, binding.Wait, error) {
		return candidate{}, binding.Wait{Reason: infrav1.TakeOverRefusedReason, Message: message}, nil
	}
	switch err := r.Client.Get(ctx, key, host); {
	case apierrors.IsNotFound(err):
		return refused(fmt.Sprintf("There is no BareMetalHost %q in this namespace, which annotation %s names", key.Name, infrav1.TakeOverAnnotation))
	case err != nil:
		return candidate{}, binding.Wait{}, fmt.Errorf("read the host to be taken over: %w", err)
	}
	permitting, err := r.permitting(s, []string{claim.Namespace})
	if _, admitted := s.decision.Grants[claim.Namespace]; !admitted {
		return refused(noNamespace(claim.Namespace, selection.Criteria{InNamespace: claim.Namespace}, s.decision))
	}
	if len(permitting) == 0 {
		return refused(err.Error())
	}
	machine, err := r.consumer(ctx, claim)
	if apierrors.IsForbidden(err) {
		return refused("The hostclaim manager may not get Metal3Machines in this namespace: the administrator must grant that")
	}
	if err != nil {
		return candidate{}, binding.Wait{}, fmt.Errorf("read the machine of the claim: %w", err)
	}
	if err := binding.CheckTakeOver(claim, host, machine); err != nil {
		return refused(err.Error())
	}
	fits := func(now *bmov1alpha1.BareMetalHost) bool { return binding.CheckTakeOver(claim, now, machine) == nil }
	return candidate{host, fits}, binding.Wait{}, nil
}

// consumer reads the metadata of the machine that the claim names, live; empty if there is none.
func (r *Reconciler) consumer(ctx context.Context, claim *bmov1alpha1.HostClaim) (metav1.ObjectMeta, error) {
	machine := &metav1.PartialObjectMetadata{}
	machine.SetGroupVersionKind(infrav1.GroupVersion.WithKind(binding.MachineKind))
	if claim.Spec.ConsumerRef == nil {
		return machine.ObjectMeta, nil
	}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Spec.ConsumerRef.Name}, machine)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return metav1.ObjectMeta{}, nil
	}
	return machine.ObjectMeta, err
}
