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
	"cmp"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
)

// Reasons of AvailableForProvisioning and Provisioned.
const (
	withoutImage = "WithoutImage"
	withImage    = "WithImage"
)

// answer is what a condition says.
type answer struct {
	status          metav1.ConditionStatus
	reason, message string
}

func yes(reason string) *answer { return &answer{status: metav1.ConditionTrue, reason: reason} }

// maxMessage is how much a condition says, in bytes. A longer one may be refused, with all of the status.
const maxMessage = 1024

func no(reason, format string, values ...any) *answer {
	return &answer{status: metav1.ConditionFalse, reason: reason, message: text.Shorten(fmt.Sprintf(format, values...), maxMessage)}
}

// set sets a condition about the claim as it is now.
func set(claim *bmov1alpha1.HostClaim, kind string, a *answer) {
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: kind, Status: a.status, Reason: a.reason, Message: a.message, ObservedGeneration: claim.Generation,
	})
}

// refusal is what the API server says of a request that it refuses for what is in it; nil for all other errors.
func refusal(err error, reason string) *answer {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge:
		return no(reason, "It is tried again, since the API server refuses a request: %s", err)
	default:
		return nil
	}
}

// report sets the conditions of the claim, unless it goes and never had a virtual machine.
func report(s *scope) {
	if s.bind == nil && s.vm == nil {
		return
	}
	claim := s.claim
	if s.bind != nil {
		claim.Status.PoweredOn = claim.Status.PoweredOn && !claim.DeletionTimestamp.IsZero() // until it is gone
		for _, kind := range [...]string{
			bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition, bmov1alpha1.AvailableForProvisioningCondition,
			bmov1alpha1.ProvisionedCondition, infrav1.ReadyCondition,
		} {
			set(claim, kind, s.bind)
		}
		return
	}
	claim.Status.PoweredOn = virtualmachine.On(s.instance)
	set(claim, bmov1alpha1.AssociatedCondition, yes(bmov1alpha1.BareMetalHostAssociatedReason))
	set(claim, infrav1.HardwareDataPublishedCondition, cmp.Or(s.publish, yes(infrav1.PublishedReason)))
	inStep := yes(bmov1alpha1.ConfigurationSyncedReason)
	inStep.message = s.verdict.Message // what became of the class
	problem := cmp.Or(s.publish, s.sync)
	set(claim, bmov1alpha1.SynchronizedCondition, cmp.Or(problem, inStep))
	waits := yes(withoutImage)
	if virtualmachine.Disk(s.vm) != "" {
		waits = no(withImage, "The virtual machine has a disk with an image")
	}
	set(claim, bmov1alpha1.AvailableForProvisioningCondition, waits)
	provisioned := provisionedAs(s)
	set(claim, bmov1alpha1.ProvisionedCondition, provisioned)
	set(claim, infrav1.ReadyCondition, cmp.Or(problem, readyAs(s, provisioned)))
}

// provisionedAs is the condition Provisioned: the image of the claim is on the disk.
func provisionedAs(s *scope) *answer {
	switch {
	case virtualmachine.Disk(s.vm) == "":
		return no(withoutImage, "The virtual machine has no image yet")
	case s.sync != nil && (s.sync.reason == infrav1.RebuildingReason || s.sync.reason == infrav1.ImageChangeIgnoredReason):
		return s.sync
	case virtualmachine.Rebuilds(s.claim, s.vm):
		return no(infrav1.RebuildingReason, "The virtual machine has another image yet")
	case s.complete:
		return yes(withImage)
	default:
		return no(infrav1.ProvisioningReason, "KubeVirt says %q of VirtualMachine %s: see its conditions, and its DataVolume if it has one",
			s.vm.Status.PrintableStatus, s.vm.Name)
	}
}

// readyAs is the condition Ready of a virtual machine of which nothing is to be mended: it runs, or is off on purpose.
func readyAs(s *scope, provisioned *answer) *answer {
	isOff := s.instance == nil && !s.claim.Spec.PoweredOn
	if provisioned.status == metav1.ConditionTrue && !isOff && !virtualmachine.Runs(s.vm, s.instance) {
		return no(infrav1.NotReadyReason, "KubeVirt says %q of VirtualMachine %s: see its conditions", s.vm.Status.PrintableStatus, s.vm.Name)
	}
	return provisioned
}
