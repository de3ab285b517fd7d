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
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// pass is one step in the making.
type pass struct {
	Observed
	Step
}

// Next takes one step. A step that changes nothing comes with the moment at
// which it will.
func Next(o Observed) Step {
	p := &pass{Observed: o, Step: Step{Status: *o.Host.Status.DeepCopy(), Server: o.Server}}
	if has(o.Host, bmov1alpha1.PausedAnnotation) {
		return p.Step
	}
	if o.Host.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(o.Host, bmov1alpha1.BareMetalHostFinalizer) {
		p.AddFinalizer = true
		return p.Step
	}
	if handle, found := handlers[p.state()]; found && !p.takeAnnotations() && !p.startDeletion() && !p.detach() {
		handle(p)
	}
	p.conclude()
	return p.Step
}

// handlers are what happens in each state.
var handlers = map[bmov1alpha1.ProvisioningState]func(*pass){
	bmov1alpha1.StateNone:                    (*pass).discovered,
	bmov1alpha1.StateUnmanaged:               (*pass).discovered,
	bmov1alpha1.StateRegistering:             (*pass).registering,
	bmov1alpha1.StateInspecting:              (*pass).inspecting,
	bmov1alpha1.StatePreparing:               (*pass).preparing,
	bmov1alpha1.StateMatchProfile:            (*pass).preparing,
	bmov1alpha1.StateAvailable:               (*pass).available,
	bmov1alpha1.StateReady:                   (*pass).available,
	bmov1alpha1.StateProvisioning:            (*pass).provisioning,
	bmov1alpha1.StateProvisioned:             (*pass).provisioned,
	bmov1alpha1.StateExternallyProvisioned:   (*pass).externallyProvisioned,
	bmov1alpha1.StateDeprovisioning:          (*pass).deprovisioning,
	bmov1alpha1.StatePoweringOffBeforeDelete: (*pass).poweringOff,
	bmov1alpha1.StateDeleting:                (*pass).deleting,
}

// state is the state that the step starts from or has come to.
func (p *pass) state() bmov1alpha1.ProvisioningState {
	return p.Status.Provisioning.State
}

// enter goes to another state, with the times of the history as they fall.
func (p *pass) enter(state bmov1alpha1.ProvisioningState) {
	now := metav1.NewTime(p.Now)
	if left := p.history(p.state()); left != nil && !left.Start.IsZero() && left.End.IsZero() {
		left.End = now
	}
	if entered := p.history(state); entered != nil {
		*entered = bmov1alpha1.OperationMetric{Start: now}
	}
	p.Status.Provisioning.State = state
	p.Status.Provisioning.BootMode = p.Host.BootMode()
	p.Step.Server.Job = Job{}
}

// history is the metric of a state, nil where there is none.
func (p *pass) history(state bmov1alpha1.ProvisioningState) *bmov1alpha1.OperationMetric {
	switch history := &p.Status.OperationHistory; state {
	case bmov1alpha1.StateRegistering:
		return &history.Register
	case bmov1alpha1.StateInspecting:
		return &history.Inspect
	case bmov1alpha1.StateProvisioning:
		return &history.Provision
	case bmov1alpha1.StateDeprovisioning:
		return &history.Deprovision
	default:
		return nil
	}
}

// conclude fills in what follows from the rest of the status.
func (p *pass) conclude() {
	p.setConditions()
	if !p.Step.Server.Job.Ends.IsZero() && p.Wake.IsZero() {
		p.Wake = p.Step.Server.Job.Ends
	}
	slices.Sort(p.DropAnnotations)
}

// delay is how long something takes on this host.
func (p *pass) delay(operation Operation) time.Duration {
	own, err := ParseDelays(p.Host.Annotations[DelayAnnotation])
	if d, found := own[operation]; err == nil && found {
		return d
	}
	return p.Delays[operation]
}

func has(host *bmov1alpha1.BareMetalHost, annotation string) bool {
	_, found := host.Annotations[annotation]
	return found
}

// drop has an annotation removed from the host.
func (p *pass) drop(annotation string) bool {
	if !has(p.Host, annotation) {
		return false
	}
	p.DropAnnotations = append(p.DropAnnotations, annotation)
	return true
}
