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
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/drive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

// Reconcile takes one step with one host. When the host has changed meanwhile, the
// step is taken back, and the newer version is on its way.
func (s *Simulator) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	host := &bmov1alpha1.BareMetalHost{}
	if err := s.hosts.Get(ctx, req.NamespacedName, host); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before, err := s.observe(ctx, host.DeepCopy())
	if err != nil {
		return ctrl.Result{}, err
	}
	step := life.Next(before)
	// The server is stored before the status, so that a test which reads that a host is
	// provisioned finds its disks written.
	s.book.store(req.NamespacedName, step.Server)
	if err := s.carryOut(ctx, host, step); err != nil {
		s.book.store(req.NamespacedName, before.Server)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, err
	}
	report(ctx, before, step)
	if step.Wake.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(step.Wake.Sub(s.clock.Now()), 1)}, nil
}

// observe gathers what the next step depends on.
func (s *Simulator) observe(ctx context.Context, host *bmov1alpha1.BareMetalHost) (life.Observed, error) {
	o := life.Observed{Host: host, Server: s.book.of(host), Now: s.clock.Now(), Delays: s.delays}
	if life.WantsDrive(o) {
		contents, err := drive.Read(ctx, s.live, host)
		var unusable *configdrive.Error
		switch {
		case errors.As(err, &unusable):
			o.DriveProblem = unusable.Error()
		case err != nil:
			return life.Observed{}, err
		}
		o.Drive = contents
	}
	if host.Status.Provisioning.State == bmov1alpha1.StatePreparing && host.Status.HardwareDetails == nil {
		data := &bmov1alpha1.HardwareData{}
		if err := s.live.Get(ctx, client.ObjectKeyFromObject(host), data); client.IgnoreNotFound(err) != nil {
			return life.Observed{}, fmt.Errorf("read HardwareData: %w", err)
		}
		o.Known = data.Spec.HardwareDetails
	}
	return o, nil
}

// report logs what a person in front of the rack would notice.
func report(ctx context.Context, before life.Observed, step life.Step) {
	logger, was, is := log.FromContext(ctx), before.Host.Status, step.Status
	if was.Provisioning.State != is.Provisioning.State {
		logger.Info("State", "from", was.Provisioning.State, "to", is.Provisioning.State)
	}
	if is.ErrorMessage != "" && is.ErrorMessage != was.ErrorMessage {
		logger.Info("Error", "type", is.ErrorType, "message", is.ErrorMessage)
	}
	if before.Server.PoweredOn != step.Server.PoweredOn {
		logger.Info("Power", "on", step.Server.PoweredOn)
	}
	if before.Server.Disk.Wipes != step.Server.Disk.Wipes {
		logger.Info("Disks wiped", "held", before.Server.Disk.Image)
	}
	if before.Server.Boots != step.Server.Boots {
		reportBoot(logger, before.Host, step.Server)
	}
}

// hardwareFinalizer is put by baremetal-operator on the HardwareData of a host.
const hardwareFinalizer = bmov1alpha1.BareMetalHostFinalizer + "/hardwareData"

// carryOut writes what a step asks for, metadata before status, all of it with the version of the
// host that the step was decided on.
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
