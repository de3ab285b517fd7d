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

package life

import (
	"encoding/json"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// managePower keeps a resting server on or off as its host asks. A reboot is an
// off that lasts as long as something asks for it: a one-shot wish is granted, and
// taken off the host, once the server is seen to be off.
func (p *pass) managePower() {
	server := &p.Step.Server
	if p.Status.PoweredOn != server.PoweredOn {
		p.Status.PoweredOn = server.PoweredOn
		p.powerSettled()
		return
	}
	if !server.PoweredOn && p.drop(bmov1alpha1.RebootAnnotationPrefix) {
		return
	}
	hard, reboot := p.rebootAsked()
	if p.Host.Spec.DisablePowerOff {
		p.rebootInPlace(reboot)
		return
	}
	want := p.Host.Spec.Online && !reboot
	if want == server.PoweredOn {
		server.Job = Job{}
		p.powerSettled()
		return
	}
	if !p.done(powerOperation(want, hard || p.Status.ErrorCount > 0)) {
		return
	}
	p.switchTo(want)
	p.Status.PoweredOn = want
}

// powerSettled ends the error of a server that is as it should be, or has moved.
func (p *pass) powerSettled() {
	if p.Status.ErrorType == bmov1alpha1.PowerManagementError {
		p.clearError()
		p.Status.ErrorCount = 0
	}
}

// rebootInPlace serves hosts that must never be off: one wish, one reboot.
func (p *pass) rebootInPlace(reboot bool) {
	switch server := &p.Step.Server; {
	case p.Host.Spec.Online && !server.PoweredOn:
		if p.done(PowerOn) {
			p.switchTo(true)
			p.Status.PoweredOn = true
		}
	case reboot && has(p.Host, bmov1alpha1.RebootAnnotationPrefix) && p.done(HardOff):
		p.drop(bmov1alpha1.RebootAnnotationPrefix)
		p.switchTo(true)
	}
}

// switchTo is what the hardware does.
func (p *pass) switchTo(on bool) {
	server := &p.Step.Server
	server.PoweredOn = on
	if on && !server.Disk.Empty() {
		server.Boots++
	}
	p.Status.ErrorCount = 0
}

func powerOperation(on, hard bool) Operation {
	switch {
	case on:
		return PowerOn
	case hard:
		return HardOff
	default:
		return SoftOff
	}
}

// rebootAsked reports whether any annotation asks for a reboot that this state
// allows, and whether one of them wants it hard. A host without an operating
// system of ours is rebooted only by force.
func (p *pass) rebootAsked() (hard, asked bool) {
	byForce := p.state() != bmov1alpha1.StateProvisioned && p.state() != bmov1alpha1.StateExternallyProvisioned
	for key, value := range p.Host.Annotations {
		if !isReboot(key) {
			continue
		}
		var arguments bmov1alpha1.RebootAnnotationArguments
		if json.Unmarshal([]byte(value), &arguments) != nil {
			arguments = bmov1alpha1.RebootAnnotationArguments{}
		}
		if byForce && !arguments.Force {
			continue
		}
		asked = true
		hard = hard || arguments.Mode == bmov1alpha1.RebootModeHard
	}
	return hard, asked
}

func isReboot(annotation string) bool {
	return annotation == bmov1alpha1.RebootAnnotationPrefix || strings.HasPrefix(annotation, bmov1alpha1.RebootAnnotationPrefix+"/")
}

// dropReboots takes off every wish to reboot, held ones too.
func (p *pass) dropReboots() {
	for key := range p.Host.Annotations {
		if isReboot(key) {
			p.drop(key)
		}
	}
}

// takeAnnotations takes over what the host was given by annotation, one thing at a
// time.
func (p *pass) takeAnnotations() bool {
	return p.Host.Status.LastUpdated.IsZero() && p.takeStatus() || p.takeHardware()
}

// takeStatus restores the status that a host brought from another cluster.
func (p *pass) takeStatus() bool {
	var status bmov1alpha1.BareMetalHostStatus
	text, found := p.Host.Annotations[bmov1alpha1.StatusAnnotation]
	if !found || json.Unmarshal([]byte(text), &status) != nil {
		return false
	}
	p.drop(bmov1alpha1.StatusAnnotation)
	p.Status = status
	p.Step.Server = Restored(&bmov1alpha1.BareMetalHost{Status: status})
	return true
}

// takeHardware takes over the facts that an administrator wrote.
func (p *pass) takeHardware() bool {
	var details bmov1alpha1.HardwareDetails
	text, found := p.Host.Annotations[bmov1alpha1.HardwareDetailsAnnotation]
	if !found || p.Status.HardwareDetails != nil && !p.Host.InspectionDisabled() ||
		json.Unmarshal([]byte(text), &details) != nil {
		return false
	}
	p.drop(bmov1alpha1.HardwareDetailsAnnotation)
	p.Status.HardwareDetails = &details
	return true
}

// startDeletion brings a host that is being deleted on its way out.
func (p *pass) startDeletion() bool {
	if p.Host.DeletionTimestamp.IsZero() {
		return false
	}
	next, leaves := wayOut[p.state()]
	switch {
	case p.state() == bmov1alpha1.StateDeleting:
		return false
	case p.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached:
		if p.detachment().DeleteAction == bmov1alpha1.DetachedDeleteActionDelay {
			return false
		}
		next = bmov1alpha1.StateDeleting
	case !leaves:
		next = bmov1alpha1.StatePoweringOffBeforeDelete
	}
	if next == p.state() {
		return false
	}
	p.enter(next)
	return true
}

// wayOut is where deletion leads; other states power the server off.
var wayOut = map[bmov1alpha1.ProvisioningState]bmov1alpha1.ProvisioningState{
	bmov1alpha1.StateNone:                    bmov1alpha1.StateDeleting,
	bmov1alpha1.StateUnmanaged:               bmov1alpha1.StateDeleting,
	bmov1alpha1.StateRegistering:             bmov1alpha1.StateDeleting,
	bmov1alpha1.StateProvisioning:            bmov1alpha1.StateDeprovisioning,
	bmov1alpha1.StateProvisioned:             bmov1alpha1.StateDeprovisioning,
	bmov1alpha1.StateDeprovisioning:          bmov1alpha1.StateDeprovisioning,
	bmov1alpha1.StatePoweringOffBeforeDelete: bmov1alpha1.StatePoweringOffBeforeDelete,
}

// detach takes a host out of management, where its state allows it, and back.
func (p *pass) detach() bool {
	detached := p.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached
	if has(p.Host, bmov1alpha1.DetachedAnnotation) && p.state() != bmov1alpha1.StateDeleting {
		if detached || resting[p.state()] || p.detachment().Force {
			p.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
			return true
		}
		return false
	}
	if !detached || p.state() == bmov1alpha1.StateDeleting {
		return false
	}
	p.Status.OperationalStatus = bmov1alpha1.OperationalStatusOK
	if p.Status.ErrorType != "" {
		p.Status.OperationalStatus = bmov1alpha1.OperationalStatusError
	}
	return true
}

// detachment reads the arguments of the annotation; what cannot be read is empty.
func (p *pass) detachment() bmov1alpha1.DetachedAnnotationArguments {
	var arguments bmov1alpha1.DetachedAnnotationArguments
	if json.Unmarshal([]byte(p.Host.Annotations[bmov1alpha1.DetachedAnnotation]), &arguments) != nil {
		return bmov1alpha1.DetachedAnnotationArguments{}
	}
	return arguments
}

// resting are the states in which nothing is in the middle of anything.
var resting = map[bmov1alpha1.ProvisioningState]bool{
	bmov1alpha1.StateAvailable: true, bmov1alpha1.StateReady: true,
	bmov1alpha1.StateProvisioned: true, bmov1alpha1.StateExternallyProvisioned: true,
}
