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
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

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
	// Known is what a HardwareData says of a host that is not inspected; nil if
	// there is none.
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

// Empty says that no image and no data is on the disks.
func (d Disk) Empty() bool {
	d.Wipes = 0
	return d == Disk{}
}

// Job is what a server is busy with; its zero value is nothing.
type Job struct {
	Operation Operation
	// Ends is when it is done or, after a failure, tried again.
	Ends time.Time
	// Failed says that it has failed and waits for its next try.
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

// Restored is the server behind a host that is seen for the first time: after a
// restart of the simulator it is as its host says.
func Restored(host *bmov1alpha1.BareMetalHost) Server {
	server := Server{PoweredOn: host.Status.PoweredOn, Disk: Disk{Image: host.Status.Provisioning.Image.URL}}
	if deployed := host.Status.Provisioning.CustomDeploy; deployed != nil {
		server.Disk.CustomDeploy = deployed.Method
	}
	return server
}
