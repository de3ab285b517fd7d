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

package host

import (
	"context"
	"encoding/json"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

// hardwareFinalizer is put by baremetal-operator on the HardwareData of a host.
const hardwareFinalizer = bmov1alpha1.BareMetalHostFinalizer + "/hardwareData"

// carryOut writes what a step says, metadata before status, all of it with the
// version of the host that the step was decided on.
func (s *Simulator) carryOut(ctx context.Context, host *bmov1alpha1.BareMetalHost, step life.Step) error {
	if step.DropFinalizer {
		if err := s.withdrawHardware(ctx, host); err != nil {
			return err
		}
	}
	if err := s.writeMetadata(ctx, host, step); err != nil || step.AddFinalizer || step.DropFinalizer {
		return err
	}
	if step.Publish {
		if err := s.publishHardware(ctx, host, step.Status.HardwareDetails); err != nil {
			return err
		}
	}
	return s.writeStatus(ctx, host, step.Status)
}

func (s *Simulator) writeMetadata(ctx context.Context, host *bmov1alpha1.BareMetalHost, step life.Step) error {
	before := host.DeepCopy()
	if step.AddFinalizer {
		controllerutil.AddFinalizer(host, bmov1alpha1.BareMetalHostFinalizer)
	}
	if step.DropFinalizer {
		controllerutil.RemoveFinalizer(host, bmov1alpha1.BareMetalHostFinalizer)
	}
	for _, key := range step.DropAnnotations {
		delete(host.Annotations, key)
	}
	if equality.Semantic.DeepEqual(before, host) {
		return nil
	}
	if err := s.hosts.Patch(ctx, host, locked(before)); err != nil {
		return fmt.Errorf("write the metadata of the host: %w", err)
	}
	return nil
}

// writeStatus writes the status if it has changed. The first one is written whole,
// since its zero values are required too and a difference would not have them.
func (s *Simulator) writeStatus(ctx context.Context, host *bmov1alpha1.BareMetalHost, status bmov1alpha1.BareMetalHostStatus) error {
	if equality.Semantic.DeepEqual(host.Status, status) {
		return nil
	}
	before := host.DeepCopy()
	now := metav1.NewTime(s.clock.Now())
	host.Status, host.Status.LastUpdated = status, &now
	patch := locked(before)
	if before.Status.LastUpdated.IsZero() {
		text, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": host.ResourceVersion}, "status": host.Status,
		})
		if err != nil {
			return err
		}
		patch = client.RawPatch(types.MergePatchType, text)
	}
	if err := s.hosts.Status().Patch(ctx, host, patch); err != nil {
		return fmt.Errorf("write the status of the host: %w", err)
	}
	return nil
}

// publishHardware makes the HardwareData of a host anew.
func (s *Simulator) publishHardware(ctx context.Context, host *bmov1alpha1.BareMetalHost, details *bmov1alpha1.HardwareDetails) error {
	if err := s.withdrawHardware(ctx, host); err != nil {
		return err
	}
	data := &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: host.Namespace, Name: host.Name, Finalizers: []string{hardwareFinalizer},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(host, bmov1alpha1.GroupVersion.WithKind("BareMetalHost")),
			},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: details},
	}
	if err := s.hosts.Create(ctx, data); err != nil {
		return fmt.Errorf("publish HardwareData: %w", err)
	}
	return nil
}

// withdrawHardware deletes the HardwareData of a host, if there is one.
func (s *Simulator) withdrawHardware(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	data := &bmov1alpha1.HardwareData{}
	if err := s.live.Get(ctx, client.ObjectKeyFromObject(host), data); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := data.DeepCopy()
	if controllerutil.RemoveFinalizer(data, hardwareFinalizer) {
		if err := s.hosts.Patch(ctx, data, locked(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("let go of HardwareData: %w", err)
		}
	}
	return client.IgnoreNotFound(s.hosts.Delete(ctx, data))
}

// locked is a merge patch that fails if the object has changed meanwhile.
func locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}
