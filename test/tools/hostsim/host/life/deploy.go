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

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
)

// WantsDrive says that the next step begins to write the server's disks, so that
// the secrets of its config drive are to be read now.
func WantsDrive(o Observed) bool {
	p := &pass{Observed: o, Step: Step{Status: o.Host.Status, Server: o.Server}}
	return p.state() == bmov1alpha1.StateProvisioning && !has(o.Host, bmov1alpha1.PausedAnnotation) &&
		o.Host.DeletionTimestamp.IsZero() && p.begins()
}

// begins says that a provisioning host has not begun to be written.
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

// unusable says that the error of the host is about its config drive.
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

// canceled says that what is on the disks, or is being written, is not asked for.
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
