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

package binding

import (
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateUnknown is the StateName of a host that has none yet, or one that is
// not known.
const StateUnknown = "unknown"

// StateName names the provisioning state of a host for people and metrics: a word
// of baremetal-operator's list, and nothing else that might stand in its status.
func StateName(host *bmov1alpha1.BareMetalHost) string {
	if state := host.Status.Provisioning.State; slices.Contains(states[:], state) {
		return string(state)
	}
	return StateUnknown
}

// states are the provisioning states that baremetal-operator has names for.
var states = [...]bmov1alpha1.ProvisioningState{
	bmov1alpha1.StateUnmanaged,
	bmov1alpha1.StateRegistering,
	bmov1alpha1.StateMatchProfile,
	bmov1alpha1.StatePreparing,
	bmov1alpha1.StateReady,
	bmov1alpha1.StateAvailable,
	bmov1alpha1.StateProvisioning,
	bmov1alpha1.StateProvisioned,
	bmov1alpha1.StateExternallyProvisioned,
	bmov1alpha1.StateDeprovisioning,
	bmov1alpha1.StateInspecting,
	bmov1alpha1.StatePoweringOffBeforeDelete,
	bmov1alpha1.StateDeleting,
}

// Standstill returns why a host may not leave its state by itself; empty when it does.
func Standstill(host *bmov1alpha1.BareMetalHost) string {
	switch status := host.Status.OperationalStatus; {
	case !host.DeletionTimestamp.IsZero():
		return "it is being deleted"
	case paused(host):
		return "it is paused, and nothing happens to it until the infrastructure team unpauses it"
	case status == bmov1alpha1.OperationalStatusDetached:
		return "it is detached, and nothing happens to it until the infrastructure team attaches it again"
	case status == bmov1alpha1.OperationalStatusServicing:
		return "it is being serviced"
	case status == bmov1alpha1.OperationalStatusDelayed:
		return "it waits for its turn, as many hosts are worked on"
	case HasPayload(host) && !host.Spec.Online && available(host):
		return "the server is off, and nothing is written to it before spec.poweredOn of the claim is true"
	default:
		return ""
	}
}

// available reports whether a host waits to be provisioned.
func available(host *bmov1alpha1.BareMetalHost) bool {
	state := host.Status.Provisioning.State
	return state == bmov1alpha1.StateAvailable || state == bmov1alpha1.StateReady
}

// paused and detached report whether an annotation asks baremetal-operator to leave the host alone.
func paused(host *bmov1alpha1.BareMetalHost) bool {
	return metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation)
}

func detached(host *bmov1alpha1.BareMetalHost) bool {
	return metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.DetachedAnnotation)
}

// InError reports whether a host reports an error.
func InError(host *bmov1alpha1.BareMetalHost) bool {
	return host.Status.ErrorMessage != "" || host.Status.ErrorType != "" ||
		host.Status.OperationalStatus == bmov1alpha1.OperationalStatusError
}
