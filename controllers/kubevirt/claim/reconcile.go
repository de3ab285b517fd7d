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

// Package claim reconciles the HostClaims of classes of virtual machines: it gives a claim a VirtualMachine of KubeVirt,
// keeps the two in step, and deletes the VirtualMachine when the claim goes. docs/host-classes.md has the contract.
//
// The VirtualMachine is in the namespace of the claim, so that the quotas of the cluster count, and its name follows from
// the claim, so that it is found again. What it needs next is decided by package virtualmachine.
//
// A claim is woken by itself, its VirtualMachine, its HardwareData, its class, the labels of its namespace, and a Secret
// that it names. Nothing is polled.
package claim

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	virtv1 "kubevirt.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/classes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
)

// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims,verbs=get;list;watch;patch;delete;release
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims/status,verbs=get;patch
// +kubebuilder:rbac:groups=metal3.io,resources=hostclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=metal3.io,resources=hardwaredata,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachines/finalizers,verbs=update
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachineinstances,verbs=get
// +kubebuilder:rbac:groups=cdi.kubevirt.io,resources=datavolumes,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Reconciler reconciles HostClaims. It keeps nothing between two passes.
type Reconciler struct {
	// Client reads from caches and writes as FieldOwner.
	Client client.Client
	// Live reads from the API server: what must not be concluded from a cache, and Secrets, which are never cached.
	Live client.Reader
	// Secrets wakes claims when Secrets of their namespaces change.
	Secrets SecretWatch
}

// SecretWatch is the part of secretwatch.Watch that the reconciler uses.
type SecretWatch interface {
	Ensure(namespace string)
	Release(ctx context.Context, cached client.Reader, namespace string, users ...secretwatch.User) error
}

// FieldOwner is the field owner of the kubevirt manager.
const FieldOwner = "kubevirt-manager"

// scope is what one pass knows.
type scope struct {
	claim   *bmov1alpha1.HostClaim
	class   *hostclaimv1.HostClaimClass // nil if it does not exist
	verdict hostclass.Verdict

	vm       *virtv1.VirtualMachine         // as last read or written; nil while there is none
	instance *virtv1.VirtualMachineInstance // what runs of it, as the API server has it; nil if nothing does
	complete bool                           // the image is on its disk

	// Why the claim has no virtual machine, why its hardware is not published, and what is to be mended of the virtual
	// machine, or on its way; nil if nothing.
	bind, publish, sync *answer
}

// Reconcile brings one HostClaim a step closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &bmov1alpha1.HostClaim{}
	if err := r.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.Secrets.Release(ctx, r.Client, req.Namespace,
			secretwatch.User{List: &bmov1alpha1.HostClaimList{}, Which: client.MatchingFields{claimsOfClasses: req.Namespace}})
	}
	if annotations.HasPaused(claim) {
		return ctrl.Result{}, nil
	}
	s := &scope{claim: claim}
	var err error
	if s.verdict, s.class, err = classes.Judge(ctx, r.Client, virtualmachine.Controller(), claim); err != nil || !s.verdict.Answers {
		return ctrl.Result{}, err
	}
	before := claim.DeepCopy()
	if claim.DeletionTimestamp.IsZero() {
		err = r.reconcileNormal(ctx, s)
	} else {
		err = r.reconcileDelete(ctx, s)
	}
	if err == nil || refusal(err, infrav1.WriteRefusedReason) != nil { // of all other errors nothing is known
		report(s)
		err = errors.Join(err, r.patchStatus(ctx, before, s.claim))
	}
	return ctrl.Result{}, err
}

// patchStatus writes the status if it has changed, on the version that the last write has left.
func (r *Reconciler) patchStatus(ctx context.Context, before, claim *bmov1alpha1.HostClaim) error {
	if equality.Semantic.DeepEqual(before.Status, claim.Status) {
		return nil
	}
	base := claim.DeepCopy()
	base.Status = before.Status
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, claim, patch.Locked(base)))
}

// reconcileNormal gives the claim a virtual machine, then keeps that in step.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) error {
	if virtualmachine.Controller().Holds(s.claim) && reservation.Holds(s.claim) { // a new virtual machine is as good, and its data is erased
		return client.IgnoreNotFound(r.Client.Delete(ctx, s.claim, client.Preconditions{UID: &s.claim.UID, ResourceVersion: &s.claim.ResourceVersion}))
	}
	if err := r.give(ctx, s); err != nil || s.bind != nil {
		return told(&s.bind, infrav1.BindRefusedReason, err)
	}
	if err := r.observe(ctx, s); err != nil {
		return told(&s.sync, infrav1.WriteRefusedReason, err)
	}
	if err := r.publish(ctx, s); err != nil || s.publish != nil {
		return told(&s.publish, infrav1.WriteRefusedReason, err)
	}
	return told(&s.sync, infrav1.WriteRefusedReason, r.synchronize(ctx, s))
}

// told returns the error, and has the claim say what the API server refuses, unless it says something else already.
func told(as **answer, reason string, err error) error {
	if *as == nil {
		*as = refusal(err, reason)
	}
	return err
}

// give finds the virtual machine of the claim, or makes it.
func (r *Reconciler) give(ctx context.Context, s *scope) error {
	if !virtualmachine.Controller().Holds(s.claim) {
		if _, s.bind = parameters(s); s.bind != nil {
			return nil
		}
		if err := r.take(ctx, s.claim); err != nil {
			return err
		}
	}
	vm, err := r.find(ctx, s.claim)
	switch {
	case err != nil:
		return err
	case vm != nil && !virtualmachine.Is(vm, s.claim):
		s.bind = no(bmov1alpha1.NoBareMetalHostReason, "VirtualMachine %s was not made for this claim: delete the claim", vm.Name)
		return nil
	case vm != nil:
		s.vm = vm
	case s.claim.Status.BareMetalHost != nil:
		s.bind = no(bmov1alpha1.MissingBareMetalHostReason, "VirtualMachine %s is gone, with its data: delete the claim, or its Machine",
			s.claim.Status.BareMetalHost.Name)
		return nil
	default:
		if err := r.create(ctx, s); err != nil || s.bind != nil {
			return err
		}
	}
	s.claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: s.vm.Namespace, Name: s.vm.Name}
	return nil
}

// create makes the virtual machine.
func (r *Reconciler) create(ctx context.Context, s *scope) error {
	p, why := parameters(s)
	if s.bind = why; why != nil {
		return nil
	}
	vm := virtualmachine.New(s.claim, p)
	if err := r.Client.Create(ctx, vm); err != nil {
		return fmt.Errorf("create VirtualMachine %s: %w", vm.Name, err)
	}
	s.vm = vm
	return nil
}

// take puts the finalizer on the claim as it was judged: before all else. A virtual machine is not moved with its claim,
// which therefore stays where it is.
func (r *Reconciler) take(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	desired := claim.DeepCopy()
	controllerutil.AddFinalizer(desired, virtualmachine.Controller().Finalizer)
	metav1.SetMetaDataAnnotation(&desired.ObjectMeta, infrav1.BlockMoveAnnotation, FieldOwner)
	return r.patchClaim(ctx, claim, desired)
}

func (r *Reconciler) patchClaim(ctx context.Context, claim, desired *bmov1alpha1.HostClaim) error {
	if err := r.Client.Patch(ctx, desired, patch.Locked(claim)); err != nil {
		return fmt.Errorf("write the metadata of the claim: %w", err)
	}
	claim.ObjectMeta = desired.ObjectMeta
	return nil
}

// find reads the virtual machine of the claim; nil if there is none, which is concluded from the API server.
func (r *Reconciler) find(ctx context.Context, claim *bmov1alpha1.HostClaim) (*virtv1.VirtualMachine, error) {
	key, vm := client.ObjectKey{Namespace: claim.Namespace, Name: virtualmachine.Name(claim)}, &virtv1.VirtualMachine{}
	err := r.Client.Get(ctx, key, vm)
	if apierrors.IsNotFound(err) {
		err = r.Live.Get(ctx, key, vm)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, fmt.Errorf("read VirtualMachine %s: %w", key, err)
	}
	return vm, nil
}

// observe reads what runs of the virtual machine, and whether its disk has the image.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	key, instance := client.ObjectKeyFromObject(s.vm), &virtv1.VirtualMachineInstance{}
	switch err := r.Live.Get(ctx, key, instance); {
	case err == nil:
		s.instance = instance
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read VirtualMachineInstance %s: %w", key, err)
	}
	if len(s.vm.Spec.DataVolumeTemplates) == 0 {
		s.complete = virtualmachine.Runs(s.vm, s.instance) // it has pulled its image
		return nil
	}
	volume := &cdiv1.DataVolume{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.vm.Namespace, Name: virtualmachine.Disk(s.vm)}, volume)
	s.complete = err == nil && volume.Status.Phase == cdiv1.Succeeded
	return client.IgnoreNotFound(err)
}

// parameters are those of the class for the claim, or why it gets no virtual machine.
func parameters(s *scope) (virtualmachine.Parameters, *answer) {
	if s.verdict.Reason != "" {
		return virtualmachine.Parameters{}, no(s.verdict.Reason, "%s", s.verdict.Message)
	}
	p, err := virtualmachine.ParametersOf(s.class.Spec.Parameters)
	if err != nil {
		return p, no(infrav1.ClassNotAcceptedReason, "%s", err)
	}
	arguments, err := hostclass.Arguments(s.claim)
	if err == nil {
		p, err = p.With(arguments)
	}
	if err != nil {
		return p, no(infrav1.InvalidClassArgumentsReason, "%s", err)
	}
	if err := virtualmachine.Check(s.claim); err != nil {
		return p, no(infrav1.UnsupportedByClassReason, "%s", err)
	}
	if err := virtualmachine.CheckImage(s.claim, p); err != nil {
		return p, no(infrav1.ImageRefusedReason, "%s", err)
	}
	return p, nil
}

// reconcileDelete deletes the virtual machine with all that belongs to it, and lets the claim go once it is gone. The
// API server keeps it, by foreground deletion, until its disks and its Secret are gone; one that was deleted in
// another way may leave disks, which are waited for.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) error {
	if !virtualmachine.Controller().Holds(s.claim) {
		return nil
	}
	return told(&s.bind, bmov1alpha1.HostClaimDeletionFailedReason, r.release(ctx, s))
}

func (r *Reconciler) release(ctx context.Context, s *scope) error {
	key, vm := client.ObjectKey{Namespace: s.claim.Namespace, Name: virtualmachine.Name(s.claim)}, &virtv1.VirtualMachine{}
	err := r.Live.Get(ctx, key, vm)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read VirtualMachine %s: %w", key, err)
	}
	if err == nil && (virtualmachine.Is(vm, s.claim) || s.claim.Status.BareMetalHost != nil) {
		if vm.DeletionTimestamp.IsZero() {
			if err := r.delete(ctx, vm); err != nil {
				return err
			}
		}
		s.bind = no(bmov1alpha1.HostClaimDeletingReason, "VirtualMachine %s is being deleted, with its disks", vm.Name)
		return nil
	}
	left, err := r.deleteDisks(ctx, s.claim, "")
	if err != nil {
		return err
	}
	if left > 0 {
		s.bind = no(bmov1alpha1.HostClaimDeletingReason, "%d DataVolumes of the virtual machine are being deleted", left)
		return nil
	}
	desired := s.claim.DeepCopy()
	controllerutil.RemoveFinalizer(desired, virtualmachine.Controller().Finalizer)
	delete(desired.Annotations, infrav1.BlockMoveAnnotation)
	s.bind = no(bmov1alpha1.HostClaimDeletingReason, "The virtual machine is gone; finalizers of others hold the claim")
	return client.IgnoreNotFound(r.patchClaim(ctx, s.claim, desired))
}

// deleteDisks deletes the DataVolumes of a claim, but for that of a name, and returns how many there were, or are.
func (r *Reconciler) deleteDisks(ctx context.Context, claim *bmov1alpha1.HostClaim, keep string) (left int, err error) {
	volumes := &cdiv1.DataVolumeList{}
	if err := r.Live.List(ctx, volumes, client.InNamespace(claim.Namespace), client.MatchingLabels{virtualmachine.ClaimLabel: string(claim.UID)}); err != nil {
		return 0, fmt.Errorf("list the DataVolumes of the claim: %w", err)
	}
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		if volume.Name == keep {
			continue
		}
		left++
		if volume.DeletionTimestamp.IsZero() {
			if err := r.delete(ctx, volume); err != nil {
				return 0, err
			}
		}
	}
	return left, nil
}

// delete deletes an object once all that it owns is gone.
func (r *Reconciler) delete(ctx context.Context, o client.Object) error {
	err := r.Client.Delete(ctx, o, client.Preconditions{UID: ptr.To(o.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %T %s: %w", o, o.GetName(), err)
	}
	return nil
}
