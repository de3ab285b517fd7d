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

// Package kubevirt plays KubeVirt and its Containerized Data Importer: DataVolumes appear and have their image at once,
// and VirtualMachines run, or are off, as their run strategy is. It knows run strategies Always and Halted.
package kubevirt

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	virtv1 "kubevirt.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// finalizer is that of KubeVirt on a VirtualMachine.
const finalizer = "kubevirt.io/virtualMachineControllerFinalize"

// Reconciler plays one VirtualMachine.
type Reconciler struct {
	// Client reads Secrets from the API server.
	Client client.Client
}

// AddToScheme adds the kinds that are played.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, virtv1.AddToScheme, cdiv1.AddToScheme)
	return builder.AddToScheme(scheme)
}

// ClientOptions are those of a manager that plays.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

// SetupWithManager has a VirtualMachine be played when it, its DataVolume or its VirtualMachineInstance changes.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("kubevirt").For(&virtv1.VirtualMachine{}).Owns(&cdiv1.DataVolume{}).
		Owns(&virtv1.VirtualMachineInstance{}).Complete(r)
}

// Reconcile takes a VirtualMachine to what its spec says.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vm := &virtv1.VirtualMachine{}
	if err := r.Client.Get(ctx, req.NamespacedName, vm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := vm.DeepCopy()
	if !vm.DeletionTimestamp.IsZero() {
		if err := r.stop(ctx, vm); err != nil {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(vm, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.patch(ctx, vm, before))
	}
	if controllerutil.AddFinalizer(vm, finalizer) {
		return ctrl.Result{}, r.patch(ctx, vm, before)
	}
	imported, err := r.importAll(ctx, vm)
	if err != nil {
		return ctrl.Result{}, err
	}
	runs := vm.Spec.RunStrategy != nil && *vm.Spec.RunStrategy == virtv1.RunStrategyAlways && imported
	if runs {
		err = r.start(ctx, vm)
	} else {
		err = r.stop(ctx, vm)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	observe(vm, imported, runs)
	if equality.Semantic.DeepEqual(before.Status, vm.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Client.Status().Patch(ctx, vm, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (r *Reconciler) patch(ctx context.Context, vm, before *virtv1.VirtualMachine) error {
	return r.Client.Patch(ctx, vm, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// observe sets the status that KubeVirt would report. It tells which generation it has seen only of what runs.
func observe(vm *virtv1.VirtualMachine, imported, runs bool) {
	vm.Status.Created, vm.Status.Ready = runs, runs
	switch {
	case !imported:
		vm.Status.PrintableStatus = virtv1.VirtualMachineStatusProvisioning
	case !runs:
		vm.Status.PrintableStatus = virtv1.VirtualMachineStatusStopped
	default:
		vm.Status.PrintableStatus, vm.Status.DesiredGeneration = virtv1.VirtualMachineStatusRunning, vm.Generation
	}
}

// start has an instance run as the VirtualMachine is now, unless one runs already.
func (r *Reconciler) start(ctx context.Context, vm *virtv1.VirtualMachine) error {
	if err := r.needSecrets(ctx, vm); err != nil {
		return err
	}
	instance := &virtv1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: vm.Namespace, Name: vm.Name, Labels: vm.Spec.Template.ObjectMeta.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, virtv1.VirtualMachineGroupVersionKind)},
		},
		Spec:   *vm.Spec.Template.Spec.DeepCopy(),
		Status: virtv1.VirtualMachineInstanceStatus{Phase: virtv1.Running},
	}
	return client.IgnoreAlreadyExists(r.Client.Create(ctx, instance))
}

func (r *Reconciler) stop(ctx context.Context, vm *virtv1.VirtualMachine) error {
	instance := &virtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: vm.Namespace, Name: vm.Name}}
	return client.IgnoreNotFound(r.Client.Delete(ctx, instance))
}

// importAll creates the DataVolumes of a VirtualMachine, and reports whether all have their image.
func (r *Reconciler) importAll(ctx context.Context, vm *virtv1.VirtualMachine) (all bool, err error) {
	all = true
	for _, template := range vm.Spec.DataVolumeTemplates {
		volume := &cdiv1.DataVolume{}
		key := client.ObjectKey{Namespace: vm.Namespace, Name: template.Name}
		err := r.Client.Get(ctx, key, volume)
		switch {
		case apierrors.IsNotFound(err):
			all = false
			volume.ObjectMeta = *template.ObjectMeta.DeepCopy()
			volume.Namespace, volume.Spec = vm.Namespace, template.Spec
			volume.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(vm, virtv1.VirtualMachineGroupVersionKind)}
			if err := r.Client.Create(ctx, volume); client.IgnoreAlreadyExists(err) != nil {
				return false, fmt.Errorf("create DataVolume %s: %w", key, err)
			}
		case err != nil:
			return false, fmt.Errorf("read DataVolume %s: %w", key, err)
		case volume.Status.Phase != cdiv1.Succeeded:
			all = false
			before := volume.DeepCopy()
			volume.Status.Phase = cdiv1.Succeeded
			if err := r.Client.Status().Patch(ctx, volume, client.MergeFrom(before)); err != nil {
				return false, fmt.Errorf("write the status of DataVolume %s: %w", key, err)
			}
		}
	}
	return all, nil
}

// needSecrets returns an error if a Secret that a VirtualMachine boots with does not exist.
func (r *Reconciler) needSecrets(ctx context.Context, vm *virtv1.VirtualMachine) error {
	for _, volume := range vm.Spec.Template.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		key := client.ObjectKey{Namespace: vm.Namespace, Name: volume.Secret.SecretName}
		if err := r.Client.Get(ctx, key, &corev1.Secret{}); err != nil {
			return fmt.Errorf("read what the VirtualMachine boots with: %w", err)
		}
	}
	return nil
}
