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
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/hardware"
)

// WantsDrive reports whether the next step begins to write the server's disks and needs
// the secrets of its config drive.
func WantsDrive(o Observed) bool {
	p := &pass{Observed: o, Step: Step{Status: o.Host.Status, Server: o.Server}}
	return p.state() == bmov1alpha1.StateProvisioning && !has(o.Host, bmov1alpha1.PausedAnnotation) &&
		o.Host.DeletionTimestamp.IsZero() && p.begins()
}

// begins reports whether a provisioning host has not begun to be written.
func (p *pass) begins() bool {
	return p.Step.Server.Job.Operation != Provisioning && p.Status.ErrorType == "" && !p.canceled()
}

// provisioning writes the disks. After an error the host is deprovisioned, which
// waits as long as a next try would.
func (p *pass) provisioning() {
	job := &p.Step.Server.Job
	switch {
	case p.canceled():
		p.enter(bmov1alpha1.StateDeprovisioning)
		return
	case p.Status.ErrorType != "":
		if job.Failed && p.Now.Before(job.Ends) && (p.failing(Provisioning) || p.unusable()) {
			return
		}
		p.clearError()
		p.enter(bmov1alpha1.StateDeprovisioning)
		return
	case p.begins() && p.DriveProblem != "":
		p.fail(Provisioning, driveComplaint+p.DriveProblem)
		return
	case p.begins():
		*job = Job{Operation: Provisioning, Ends: p.Now.Add(p.delay(Provisioning)), Drive: p.Drive}
		p.dropReboots()
	}
	written := job.Drive
	if !p.done(Provisioning) {
		return
	}
	p.deployed(written)
}

// driveComplaint begins the error of a host whose secrets are not as they should
// be.
const driveComplaint = "could not make the config drive: "

// unusable reports whether the error of the host is about its config drive.
func (p *pass) unusable() bool {
	return strings.HasPrefix(p.Status.ErrorMessage, driveComplaint)
}

// deployed boots the server from what was written.
func (p *pass) deployed(drive configdrive.Contents) {
	server, spec, status := &p.Step.Server, p.Host.Spec, &p.Status.Provisioning
	server.Disk = Disk{Drive: drive, Wipes: server.Disk.Wipes}
	if spec.Image != nil {
		server.Disk.Image, status.Image = spec.Image.URL, *spec.Image
	}
	if spec.CustomDeploy != nil {
		server.Disk.CustomDeploy, status.CustomDeploy = spec.CustomDeploy.Method, spec.CustomDeploy.DeepCopy()
	}
	server.PoweredOn = true
	server.Boots++
	p.Status.ErrorCount = 0
	p.enter(bmov1alpha1.StateProvisioned)
}

func (p *pass) deprovisioning() {
	if p.Step.Server.Job.Operation != Deprovisioning {
		p.dropReboots()
	}
	if !p.done(Deprovisioning) {
		return
	}
	p.clean()
	p.Status.Provisioning.Image = bmov1alpha1.Image{}
	p.Status.Provisioning.CustomDeploy = nil
	p.Status.Provisioning.RootDeviceHints, p.Status.Provisioning.Firmware = nil, nil
	p.Status.ErrorCount = 0
	if p.Host.DeletionTimestamp.IsZero() {
		p.enter(bmov1alpha1.StateAvailable)
	} else {
		p.enter(bmov1alpha1.StatePoweringOffBeforeDelete)
	}
}

// clean wipes the disks if the host asks for it, and leaves the server off.
func (p *pass) clean() {
	server := &p.Step.Server
	if p.Host.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeDisabled {
		server.Disk = Disk{Wipes: server.Disk.Wipes + 1}
	}
	server.PoweredOn = p.Host.Spec.DisablePowerOff
}

// canceled reports whether what is on the disks, or is being written, is not asked for.
func (p *pass) canceled() bool {
	spec, status := p.Host.Spec, p.Status.Provisioning
	asked := spec.CustomDeploy != nil && spec.CustomDeploy.Method != ""
	deployed := status.CustomDeploy != nil && status.CustomDeploy.Method != ""
	switch {
	case asked && deployed && spec.CustomDeploy.Method != status.CustomDeploy.Method, !asked && deployed:
		return true
	case status.Image.URL != "":
		return spec.Image == nil || spec.Image.URL != status.Image.URL
	default:
		return !asked && (spec.Image == nil || spec.Image.URL == "")
	}
}

func (p *pass) discovered() {
	switch {
	case p.Host.HasBMCDetails():
		p.enter(bmov1alpha1.StateRegistering)
	default:
		p.Status.OperationalStatus = bmov1alpha1.OperationalStatusDiscovered
		p.enter(bmov1alpha1.StateUnmanaged)
	}
}

func (p *pass) registering() {
	if !p.done(Registration) {
		return
	}
	p.Status.Provisioning.ID = string(p.Host.UID)
	p.Status.HardwareProfile = "unknown"
	if name := p.Host.Spec.BMC.CredentialsName; name != "" {
		p.Status.GoodCredentials.Reference = &corev1.SecretReference{Namespace: p.Host.Namespace, Name: name}
		p.Status.TriedCredentials = p.Status.GoodCredentials
	}
	p.Status.ErrorCount = 0
	switch {
	case p.Host.Spec.ExternallyProvisioned:
		p.enter(bmov1alpha1.StateExternallyProvisioned)
	case p.Host.InspectionDisabled():
		p.enter(bmov1alpha1.StatePreparing)
	default:
		p.enter(bmov1alpha1.StateInspecting)
	}
}

// inspecting starts with taking off what asked for it, and every wish to reboot.
func (p *pass) inspecting() {
	if p.Host.InspectionDisabled() {
		p.enter(bmov1alpha1.StatePreparing)
		return
	}
	if p.Step.Server.Job.Operation != Inspection {
		p.drop(bmov1alpha1.InspectAnnotationPrefix)
		p.dropReboots()
	}
	if !p.done(Inspection) {
		return
	}
	p.Status.HardwareDetails = hardware.Of(p.Host)
	p.Publish = true
	p.Status.ErrorCount = 0
	p.enter(bmov1alpha1.StatePreparing)
}

func (p *pass) preparing() {
	if !p.done(Preparation) {
		return
	}
	if p.Status.HardwareDetails == nil && p.Host.InspectionDisabled() {
		p.Status.HardwareDetails = p.Known.DeepCopy()
	}
	p.clean()
	p.Status.ErrorCount = 0
	p.enter(bmov1alpha1.StateAvailable)
}

func (p *pass) available() {
	request, asked := p.Host.Annotations[bmov1alpha1.InspectAnnotationPrefix]
	switch {
	case p.Host.Spec.ExternallyProvisioned:
		p.enter(bmov1alpha1.StateExternallyProvisioned)
	//nolint:staticcheck // Deprecated, and still on hosts that were registered long ago.
	case asked && request != bmov1alpha1.InspectAnnotationValueDisabled:
		p.enter(bmov1alpha1.StateInspecting)
	case p.Host.NeedsProvisioning():
		p.clearError()
		p.enter(bmov1alpha1.StateProvisioning)
	default:
		p.managePower()
	}
}

func (p *pass) provisioned() {
	if p.canceled() {
		p.enter(bmov1alpha1.StateDeprovisioning)
		return
	}
	p.managePower()
}

func (p *pass) externallyProvisioned() {
	switch {
	case p.Host.Spec.ExternallyProvisioned:
		p.managePower()
	case p.Host.NeedsHardwareInspection():
		p.enter(bmov1alpha1.StateInspecting)
	default:
		p.enter(bmov1alpha1.StatePreparing)
	}
}

// poweringOff ends the life of a host whose server keeps running.
func (p *pass) poweringOff() {
	if !p.Host.Spec.DisablePowerOff {
		if !p.done(HardOff) {
			return
		}
		p.Step.Server.PoweredOn, p.Status.PoweredOn = false, false
	}
	p.enter(bmov1alpha1.StateDeleting)
}

func (p *pass) deleting() {
	p.DropFinalizer = true
}
