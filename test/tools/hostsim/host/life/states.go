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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/hardware"
)

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
