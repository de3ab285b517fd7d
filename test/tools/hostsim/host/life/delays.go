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
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Operation is something that a server needs time for and that can fail.
type Operation string

// The operations of a server. Retry is no operation but the time until a failed
// one is tried again; it doubles with every failure.
const (
	Registration   Operation = "registration"
	Inspection     Operation = "inspection"
	Preparation    Operation = "preparation"
	Provisioning   Operation = "provisioning"
	Deprovisioning Operation = "deprovisioning"
	PowerOn        Operation = "power-on"
	SoftOff        Operation = "soft-off"
	HardOff        Operation = "hard-off"
	Retry          Operation = "retry"
)

// power stands for all operations that switch a server on or off.
const power = "power"

func powerOperations() []Operation {
	return []Operation{PowerOn, SoftOff, HardOff}
}

func operations() []Operation {
	return append([]Operation{Registration, Inspection, Preparation, Provisioning, Deprovisioning, Retry}, powerOperations()...)
}

// Delays are how long each operation takes; one that is missing takes no time.
type Delays map[Operation]time.Duration

// DefaultDelays are short enough to watch and long enough to see.
func DefaultDelays() Delays {
	return Delays{
		Registration: time.Second, Inspection: 2 * time.Second, Preparation: time.Second,
		Provisioning: 3 * time.Second, Deprovisioning: 3 * time.Second,
		PowerOn: time.Second, SoftOff: 2 * time.Second, HardOff: time.Second, Retry: 10 * time.Second,
	}
}

// ParseDelays reads a list such as "provisioning=10s,power=500ms", where power
// stands for power-on, soft-off and hard-off, and all for everything. Later words
// win.
func ParseDelays(text string) (Delays, error) {
	delays := Delays{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		duration, err := time.ParseDuration(value)
		if err != nil || duration < 0 {
			return nil, fmt.Errorf("delay %q is not of the form operation=duration", word)
		}
		named := named(name)
		if len(named) == 0 {
			return nil, fmt.Errorf("delay %q: there is no operation %q, only all, %s and %v", word, name, power, operations())
		}
		for _, operation := range named {
			delays[operation] = duration
		}
	}
	return delays, nil
}

func named(name string) []Operation {
	switch {
	case name == "all":
		return operations()
	case name == power:
		return powerOperations()
	case slices.Contains(operations(), Operation(name)):
		return []Operation{Operation(name)}
	default:
		return nil
	}
}

// With returns the delays with others put over them.
func (d Delays) With(others Delays) Delays {
	out := maps.Clone(d)
	if out == nil {
		out = Delays{}
	}
	maps.Copy(out, others)
	return out
}

// maxDoublings bounds the time between two tries.
const maxDoublings = 9

// done drives a job of the server and reports whether it has just ended well. A job
// that fails is tried again after a while, or at once when FailAnnotation does not
// name it any more; meanwhile the host is in error.
func (p *pass) done(operation Operation) bool {
	job := &p.Step.Server.Job
	if job.Operation != operation {
		*job = Job{Operation: operation, Ends: p.Now.Add(p.delay(operation))}
	}
	if job.Failed && p.failing(operation) && p.Now.Before(job.Ends) {
		return false
	}
	if job.Failed {
		p.clearError()
		*job = Job{Operation: operation, Ends: p.Now.Add(p.delay(operation)), Drive: job.Drive}
	}
	if p.Now.Before(job.Ends) {
		return false
	}
	if p.failing(operation) {
		p.fail(operation, p.complaint(operation))
		return false
	}
	*job = Job{}
	p.clearError()
	return true
}

// failing reports whether FailAnnotation names an operation.
func (p *pass) failing(operation Operation) bool {
	words := strings.Split(strings.ReplaceAll(p.Host.Annotations[FailAnnotation], " ", ""), ",")
	return slices.Contains(words, string(operation)) ||
		slices.Contains(powerOperations(), operation) && slices.Contains(words, power)
}

// fail puts the host into error.
func (p *pass) fail(operation Operation, message string) {
	p.Status.OperationalStatus = bmov1alpha1.OperationalStatusError
	p.Status.ErrorType, p.Status.ErrorMessage = errorTypes[operation], message
	p.Status.ErrorCount++
	wait := p.delay(Retry) << min(p.Status.ErrorCount-1, maxDoublings)
	p.Step.Server.Job = Job{Operation: operation, Failed: true, Ends: p.Now.Add(max(wait, time.Millisecond))}
}

// clearError takes the error off the host; how many there were is forgotten only
// when a state is left.
func (p *pass) clearError() {
	p.Status.OperationalStatus = bmov1alpha1.OperationalStatusOK
	p.Status.ErrorType, p.Status.ErrorMessage = "", ""
}

var errorTypes = map[Operation]bmov1alpha1.ErrorType{
	Registration:   bmov1alpha1.RegistrationError,
	Inspection:     bmov1alpha1.InspectionError,
	Preparation:    bmov1alpha1.PreparationError,
	Provisioning:   bmov1alpha1.ProvisioningError,
	Deprovisioning: bmov1alpha1.ProvisioningError,
	PowerOn:        bmov1alpha1.PowerManagementError,
	SoftOff:        bmov1alpha1.PowerManagementError,
	HardOff:        bmov1alpha1.PowerManagementError,
}

// complaint is an error text as provisioners write them: it holds the address of
// the BMC.
func (p *pass) complaint(operation Operation) string {
	return fmt.Sprintf("%s of node %s failed: HTTP POST %s/Actions returned code 500, the BMC did not accept the request",
		operation, p.Status.Provisioning.ID, p.Host.Spec.BMC.Address)
}
