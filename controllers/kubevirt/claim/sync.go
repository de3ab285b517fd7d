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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	virtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
)

// secretsRole is the ClusterRole that a RoleBinding in the namespace of a claim must refer to.
const secretsRole = "hostclaim-kubevirt-secrets" //nolint:gosec // The name of a role.

// publish publishes what data templates may ask of the virtual machine.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	desired, current := virtualmachine.Hardware(s.claim, s.vm), &bmov1alpha1.HardwareData{}
	key := client.ObjectKeyFromObject(desired)
	err := r.Client.Get(ctx, key, current) // the cache has those with the label of a claim
	if apierrors.IsNotFound(err) {
		if err = r.Client.Create(ctx, desired); apierrors.IsAlreadyExists(err) {
			err = r.Live.Get(ctx, key, current)
		} else {
			current = desired
		}
	}
	if err != nil {
		return fmt.Errorf("publish HardwareData %s: %w", key, err)
	}
	if !metav1.IsControlledBy(current, s.claim) {
		s.publish = no(infrav1.HardwareDataNameTakenReason, "HardwareData %s was not made for this claim: delete the claim", key.Name)
		return nil
	}
	s.claim.Status.HardwareData = &bmov1alpha1.ObjectReference{Namespace: key.Namespace, Name: key.Name}
	updated := current.DeepCopy()
	updated.Labels, updated.Annotations, updated.Spec = desired.Labels, desired.Annotations, desired.Spec
	if equality.Semantic.DeepEqual(updated, current) {
		return nil
	}
	return r.Client.Patch(ctx, updated, patch.Locked(current))
}

// stopping is the text of reason Rebuilding.
const stopping = "The virtual machine is switched off, to get or lose a disk"

// synchronize takes the virtual machine one step closer to what the claim wants. Each step is a write of the virtual
// machine, which wakes the claim for the next one.
func (r *Reconciler) synchronize(ctx context.Context, s *scope) error {
	switch step := virtualmachine.Next(s.claim, s.vm, s.instance); step {
	case virtualmachine.Await:
		s.sync = no(infrav1.RebuildingReason, stopping)
		return nil
	case virtualmachine.Erase:
		return r.erase(ctx, s)
	case virtualmachine.Install:
		return r.install(ctx, s)
	case virtualmachine.Stop:
		return r.stop(ctx, s)
	case virtualmachine.Wipe:
		return r.patchMachine(ctx, s, virtualmachine.Clear)
	case virtualmachine.SetPower:
		return r.patchMachine(ctx, s, func(vm *virtv1.VirtualMachine) {
			vm.Spec.RunStrategy = ptr.To(virtualmachine.RunStrategy(s.claim, vm))
		})
	default:
		s.sync = ignored(s)
		return nil
	}
}

// stop switches a virtual machine off, to get or lose a disk, if all is there that it needs then. One that is held off
// does not wait for that.
func (r *Reconciler) stop(ctx context.Context, s *scope) error {
	if s.claim.Spec.Image != nil && s.claim.Spec.PoweredOn && !hostclass.HeldOff(s.claim) {
		if _, _, err := r.prepare(ctx, s); err != nil || s.sync != nil {
			return err
		}
	}
	err := r.patchMachine(ctx, s, func(vm *virtv1.VirtualMachine) { vm.Spec.RunStrategy = ptr.To(virtv1.RunStrategyHalted) })
	if err == nil {
		s.sync = no(infrav1.RebuildingReason, stopping)
	}
	return err
}

// ignored is said of an image that was changed and is not written, since that would erase the data of the virtual machine.
func ignored(s *scope) *answer {
	if s.claim.Spec.Image == nil || s.claim.Spec.Image.URL == virtualmachine.Image(s.vm) {
		return nil
	}
	return no(infrav1.ImageChangeIgnoredReason, "image has changed since it was written to the disk: change it back, or have it written, "+
		"which erases the disk, by another text of annotation %s", infrav1.RebuildAnnotation)
}

func (r *Reconciler) patchMachine(ctx context.Context, s *scope, change func(*virtv1.VirtualMachine)) error {
	desired := s.vm.DeepCopy()
	change(desired)
	if err := r.Client.Patch(ctx, desired, patch.Locked(s.vm)); err != nil {
		return fmt.Errorf("write VirtualMachine %s: %w", s.vm.Name, err)
	}
	s.vm = desired
	return nil
}

// install gives a virtual machine that is off its disk, and what it boots with.
func (r *Reconciler) install(ctx context.Context, s *scope) error {
	secret, desired, err := r.prepare(ctx, s)
	if err != nil || s.sync != nil {
		return err
	}
	if err := patch.Apply(ctx, r.Client, secret, FieldOwner); err != nil {
		why := string(apierrors.ReasonForError(err)) // the rest may show what is in it
		if apierrors.IsForbidden(err) {
			why = err.Error() + "; if the right is missing, bind the account of the kubevirt manager to ClusterRole " + secretsRole
		}
		s.sync = no(bmov1alpha1.BadUserDataSecretReason, "Secret %s, which the virtual machine is to boot with, cannot be written: %s",
			secret.Name, why)
		return fmt.Errorf("write Secret %s: %s", secret.Name, why)
	}
	s.complete = false // that was the disk before
	return r.patchMachine(ctx, s, func(vm *virtv1.VirtualMachine) { *vm = *desired })
}

// prepare returns what a virtual machine boots with once it has its next disk, and how it is then.
func (r *Reconciler) prepare(ctx context.Context, s *scope) (secret *corev1.Secret, desired *virtv1.VirtualMachine, err error) {
	p, why := parameters(s)
	if s.sync = why; why != nil {
		return nil, nil, nil
	}
	var boot virtualmachine.Boot
	if boot, s.sync, err = r.boot(ctx, s.claim); err != nil || s.sync != nil {
		return nil, nil, err
	}
	secret, key, err := virtualmachine.BootSecret(s.vm, boot)
	if err != nil {
		s.sync = no(secretReasons[key], "Secret %s cannot be used: %s", references(s.claim)[key].Name, err)
		return nil, nil, nil
	}
	desired = s.vm.DeepCopy()
	if err := virtualmachine.Deploy(desired, s.claim, p); err != nil {
		return nil, nil, err
	}
	desired.Spec.RunStrategy = ptr.To(virtualmachine.RunStrategy(s.claim, desired))
	return secret, desired, nil
}

// erase deletes the disks that a virtual machine had before, and what it booted with.
func (r *Reconciler) erase(ctx context.Context, s *scope) error {
	disk := virtualmachine.Disk(s.vm)
	if _, err := r.deleteDisks(ctx, s.claim, disk); err != nil {
		return err
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.Live.List(ctx, secrets, client.InNamespace(s.claim.Namespace),
		client.MatchingLabels{virtualmachine.ClaimLabel: string(s.claim.UID)}); err != nil {
		return fmt.Errorf("list the Secrets of the virtual machine: %w", err)
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if secret.Name == disk {
			continue
		}
		if err := r.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Secret %s: %w", secret.Name, err)
		}
	}
	return r.patchMachine(ctx, s, virtualmachine.Cleaned)
}

// secretReasons are the reasons of Synchronized by what the Secret is for.
var secretReasons = map[string]string{
	secretkeys.UserData:    bmov1alpha1.BadUserDataSecretReason,
	secretkeys.MetaData:    bmov1alpha1.BadMetaDataSecretReason,
	secretkeys.NetworkData: bmov1alpha1.BadNetworkDataSecretReason,
}

func references(claim *bmov1alpha1.HostClaim) map[string]*corev1.SecretReference {
	return map[string]*corev1.SecretReference{
		secretkeys.UserData: claim.Spec.UserData, secretkeys.MetaData: claim.Spec.MetaData, secretkeys.NetworkData: claim.Spec.NetworkData,
	}
}

// boot reads what the claim names for the first boot, or reports what is to be mended. The watch starts before, so that
// no change is missed.
func (r *Reconciler) boot(ctx context.Context, claim *bmov1alpha1.HostClaim) (virtualmachine.Boot, *answer, error) {
	r.Secrets.Ensure(claim.Namespace)
	boot := virtualmachine.Boot{}
	for _, key := range [...]string{secretkeys.UserData, secretkeys.MetaData, secretkeys.NetworkData} {
		reference := references(claim)[key]
		if reference == nil || reference.Name == "" {
			continue
		}
		if problem := check(claim, key, reference); problem != nil {
			return nil, problem, nil
		}
		secret := &corev1.Secret{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: reference.Name}, secret)
		switch {
		case apierrors.IsNotFound(err):
			return nil, no(secretReasons[key], "Secret %s does not exist: create it, or correct the reference", reference.Name), nil
		case apierrors.IsForbidden(err):
			return nil, no(secretReasons[key], "The kubevirt manager may not read Secrets in namespace %s: bind its account to ClusterRole %s there",
				claim.Namespace, secretsRole), nil
		case err != nil:
			return nil, nil, fmt.Errorf("read Secret %s: %w", reference.Name, err)
		}
		content, err := secretkeys.Extract(key, secret)
		if err != nil {
			return nil, no(secretReasons[key], "Secret %s cannot be used: %s; add the key to it", reference.Name, err), nil
		}
		boot[key] = content.Value
	}
	return boot, nil, nil
}

// check returns what is wrong with a reference to a Secret.
func check(claim *bmov1alpha1.HostClaim, key string, reference *corev1.SecretReference) *answer {
	switch {
	case reference.Namespace != "" && reference.Namespace != claim.Namespace:
		return no(secretReasons[key], "Secret %s is in namespace %s: create it in the namespace of the claim", reference.Name, reference.Namespace)
	case len(validation.IsDNS1123Subdomain(reference.Name)) > 0:
		return no(secretReasons[key], "No Secret can be named %q: correct the reference", reference.Name)
	default:
		return nil
	}
}
