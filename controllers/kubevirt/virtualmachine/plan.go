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

package virtualmachine

import (
	"slices"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/utils/ptr"
	virtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
)

// Step is what a virtual machine needs next.
type Step string

// The steps. Disk and boot Secret change only while a virtual machine is off.
const (
	Keep     Step = ""         // it is as the claim wants it
	SetPower Step = "SetPower" // its run strategy is not what the claim wants
	Stop     Step = "Stop"     // it runs, and is to lose its disk, or runs from another one
	Await    Step = "Await"    // it is on its way to be off
	Install  Step = "Install"  // it is to be on, and to get a disk with the image of the claim
	Wipe     Step = "Wipe"     // it is to lose its disk
	Erase    Step = "Erase"    // what it had before is to be deleted
)

// Next decides the next step. The instance is what runs of the virtual machine, as the API server has it; nil if nothing
// does. An image is written only to a virtual machine that is to be on: the Secrets that it boots with may come last.
func Next(claim *bmov1alpha1.HostClaim, vm *virtv1.VirtualMachine, instance *virtv1.VirtualMachineInstance) Step {
	wanted := settled(claim, vm) && (instance == nil || Boots(vm, instance))
	switch {
	case Unclean(vm):
		return Erase
	case wanted && RunStrategy(claim, vm) != ptr.Deref(vm.Spec.RunStrategy, ""):
		return SetPower
	case wanted:
		return Keep
	case ptr.Deref(vm.Spec.RunStrategy, "") != virtv1.RunStrategyHalted:
		return Stop
	case instance != nil:
		return Await
	case claim.Spec.Image != nil && claim.Spec.PoweredOn:
		return Install
	default:
		return Wipe
	}
}

// settled reports whether a virtual machine has the disk that the claim wants, or none if the claim wants none now.
func settled(claim *bmov1alpha1.HostClaim, vm *virtv1.VirtualMachine) bool {
	if Disk(vm) == "" {
		return claim.Spec.Image == nil || !claim.Spec.PoweredOn
	}
	return claim.Spec.Image != nil && !Rebuilds(claim, vm)
}

// Rebuilds reports whether the claim asks for another image by a new text. One that is taken away, or too long, asks for
// nothing: a mistake must not erase a disk.
func Rebuilds(claim *bmov1alpha1.HostClaim, vm *virtv1.VirtualMachine) bool {
	asked := claim.Annotations[infrav1.RebuildAnnotation]
	return asked != "" && utf8.RuneCountInString(asked) <= infrav1.MaxRebuildLength && asked != vm.Annotations[infrav1.RebuildAnnotation]
}

// RunStrategy is what the claim wants of a virtual machine as it is. One without a disk has nothing to run.
func RunStrategy(claim *bmov1alpha1.HostClaim, vm *virtv1.VirtualMachine) virtv1.VirtualMachineRunStrategy {
	if claim.Spec.PoweredOn && !hostclass.HeldOff(claim) && Disk(vm) != "" {
		return virtv1.RunStrategyAlways
	}
	return virtv1.RunStrategyHalted
}

// On reports whether an instance may run: of one whose Node does not answer, nothing is known.
func On(instance *virtv1.VirtualMachineInstance) bool {
	return instance != nil && instance.Status.Phase != virtv1.Succeeded && instance.Status.Phase != virtv1.Failed
}

// Runs reports whether an instance runs from the disk of a virtual machine.
func Runs(vm *virtv1.VirtualMachine, instance *virtv1.VirtualMachineInstance) bool {
	return instance != nil && instance.Status.Phase == virtv1.Running && Boots(vm, instance)
}

// Boots reports whether an instance is one of the virtual machine with the disk that it has now. KubeVirt may start one as
// the virtual machine was before.
func Boots(vm *virtv1.VirtualMachine, instance *virtv1.VirtualMachineInstance) bool {
	return Disk(vm) != "" && slices.ContainsFunc(instance.Spec.Volumes, func(volume virtv1.Volume) bool {
		return volume.Secret != nil && volume.Secret.SecretName == Disk(vm)
	})
}
