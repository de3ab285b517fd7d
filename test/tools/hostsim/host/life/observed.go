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
	"maps"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
)

// Annotations of a BareMetalHost by which a test or an operator of the simulator
// speaks to its server.
const (
	// FailAnnotation lists operations that fail on this host, with commas: an
	// Operation, or power for all that switch it on or off.
	FailAnnotation = "hostsim.metal3.io/fail"
	// DelayAnnotation sets delays of this host, as ParseDelays reads them.
	DelayAnnotation = "hostsim.metal3.io/delay"
)

// Observed is everything that the next step may depend on.
type Observed struct {
	// Host is never changed.
	Host *bmov1alpha1.BareMetalHost
	// Server is the machine behind the host.
	Server Server
	// Drive is what WantsDrive asked for, and DriveProblem why it is unusable.
	Drive        configdrive.Contents
	DriveProblem string
	// Known is what a HardwareData has of a host that is not inspected; nil if there is none.
	Known *bmov1alpha1.HardwareDetails
	Now   time.Time
	// Delays are those of all hosts; DelayAnnotation goes over them.
	Delays Delays
}

// Server is a machine in its rack, of which the status of its host only reports.
type Server struct {
	PoweredOn bool
	// Boots counts how often it was switched on with something on its disks.
	Boots int
	Disk  Disk
	Job   Job
}

// Disk is what the disks of a server hold. It survives everything but a wipe.
type Disk struct {
	// Image is the URL of the image, CustomDeploy the method that was used instead.
	Image, CustomDeploy string
	// Drive is the config drive that was written beside the image.
	Drive configdrive.Contents
	// Wipes counts how often the disks were cleaned.
	Wipes int
}

// Empty reports whether no image and no data is on the disks.
func (d Disk) Empty() bool {
	d.Wipes = 0
	return d == Disk{}
}

// Job is what a server is busy with; its zero value is nothing.
type Job struct {
	Operation Operation
	// Ends is when it is done or, after a failure, tried again.
	Ends time.Time
	// Failed is true if it has failed and waits for its next try.
	Failed bool
	// Drive is the config drive that is being written.
	Drive configdrive.Contents
}

// Step is what comes next.
type Step struct {
	Status bmov1alpha1.BareMetalHostStatus
	Server Server
	// AddFinalizer and DropFinalizer ask for a change of the host's finalizers.
	AddFinalizer, DropFinalizer bool
	// DropAnnotations lists annotations of the host that are dealt with.
	DropAnnotations []string
	// Publish asks for a new HardwareData with the hardware of Status.
	Publish bool
	// Wake is when to look again if the host does not change; zero is never.
	Wake time.Time
}

// Restored is the server behind a host that is seen for the first time: after a restart of the
// simulator it is as the status of its host.
func Restored(host *bmov1alpha1.BareMetalHost) Server {
	server := Server{PoweredOn: host.Status.PoweredOn, Disk: Disk{Image: host.Status.Provisioning.Image.URL}}
	if deployed := host.Status.Provisioning.CustomDeploy; deployed != nil {
		server.Disk.CustomDeploy = deployed.Method
	}
	return server
}

// verdict is status and reason of a condition.
type verdict struct {
	status metav1.ConditionStatus
	reason string
}

func yes(reason string) verdict { return verdict{metav1.ConditionTrue, reason} }
func no(reason string) verdict  { return verdict{metav1.ConditionFalse, reason} }

// progressReasons are those of the states that lead to another one.
var progressReasons = map[bmov1alpha1.ProvisioningState]string{
	bmov1alpha1.StateRegistering:             bmov1alpha1.RegisteringReason,
	bmov1alpha1.StateInspecting:              bmov1alpha1.InspectingReason,
	bmov1alpha1.StateMatchProfile:            bmov1alpha1.InspectingReason,
	bmov1alpha1.StatePreparing:               bmov1alpha1.PreparingReason,
	bmov1alpha1.StateProvisioning:            bmov1alpha1.ProvisioningReason,
	bmov1alpha1.StateDeprovisioning:          bmov1alpha1.DeprovisioningReason,
	bmov1alpha1.StatePoweringOffBeforeDelete: bmov1alpha1.PoweringOffBeforeDeleteReason,
	bmov1alpha1.StateDeleting:                bmov1alpha1.DeletingReason,
}

// setConditions derives the conditions from the rest of the status.
func (p *pass) setConditions() {
	verdicts := p.verdicts()
	for _, kind := range slices.Sorted(maps.Keys(verdicts)) {
		v := verdicts[kind]
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
			Type: kind, Status: v.status, Reason: v.reason,
			ObservedGeneration: p.Host.Generation, LastTransitionTime: metav1.NewTime(p.Now),
		})
	}
}

func (p *pass) verdicts() map[string]verdict {
	out := map[string]verdict{
		bmov1alpha1.ManageableCondition:               yes(bmov1alpha1.ManageableReason),
		bmov1alpha1.AvailableForProvisioningCondition: no(bmov1alpha1.NotAvailableReason),
		bmov1alpha1.ProvisionedCondition:              no(bmov1alpha1.NotProvisionedReason),
		bmov1alpha1.ReadyCondition:                    no(bmov1alpha1.NotProvisionedReason),
		bmov1alpha1.ProgressingCondition:              no(bmov1alpha1.NotProgressingReason),
		bmov1alpha1.HealthyCondition:                  yes(bmov1alpha1.HealthyReason),
	}
	if reason, moving := progressReasons[p.state()]; moving {
		out[bmov1alpha1.ProgressingCondition] = yes(reason)
	}
	switch p.state() {
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged:
		out[bmov1alpha1.ManageableCondition] = no(bmov1alpha1.NotManagedReason)
		out[bmov1alpha1.HealthyCondition] = verdict{metav1.ConditionUnknown, bmov1alpha1.UnknownHealthReason}
	case bmov1alpha1.StateRegistering:
		out[bmov1alpha1.ManageableCondition] = no(bmov1alpha1.RegisteringReason)
		out[bmov1alpha1.HealthyCondition] = verdict{metav1.ConditionUnknown, bmov1alpha1.UnknownHealthReason}
		if p.Status.OperationalStatus == bmov1alpha1.OperationalStatusError {
			out[bmov1alpha1.ManageableCondition] = no(bmov1alpha1.RegistrationFailedReason)
		}
	case bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
		out[bmov1alpha1.AvailableForProvisioningCondition] = yes(bmov1alpha1.AvailableReason)
	case bmov1alpha1.StateProvisioned, bmov1alpha1.StateExternallyProvisioned:
		out[bmov1alpha1.ProvisionedCondition] = yes(bmov1alpha1.ProvisionedReason)
		out[bmov1alpha1.ReadyCondition] = yes(bmov1alpha1.ProvisionedReason)
	default:
	}
	p.trouble(out)
	return out
}

// trouble lets the operational status win over the state.
func (p *pass) trouble(out map[string]verdict) {
	switch p.Status.OperationalStatus {
	case bmov1alpha1.OperationalStatusError:
		out[bmov1alpha1.ReadyCondition] = no(bmov1alpha1.ErrorReason)
		if p.Status.ErrorType == bmov1alpha1.PowerManagementError {
			out[bmov1alpha1.ManageableCondition] = no(bmov1alpha1.PowerFailureReason)
		}
	case bmov1alpha1.OperationalStatusDetached:
		out[bmov1alpha1.ReadyCondition] = no(bmov1alpha1.DetachedReason)
		out[bmov1alpha1.ProgressingCondition] = no(bmov1alpha1.DetachedReason)
	default:
	}
}
