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

package model

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// operatorName is the field manager of baremetal-operator.
const operatorName = "baremetal-operator"

// operate lets baremetal-operator bring one host a step further.
func (w *World) operate() bool {
	v, found := w.pick(store.Hosts, func(v *store.Version) bool { return w.operable(v) })
	if !found {
		return false
	}
	if v.Deleting() {
		return edit(w, operatorName, v, "", func(h *bmov1alpha1.BareMetalHost) { h.Finalizers = nil })
	}
	if restored, done := w.restoreStatus(v); done {
		return restored
	}
	if state := hostOf(v).Status.Provisioning.State; inspectionAsked(hostOf(v)) && state == bmov1alpha1.StateInspecting {
		return edit(w, operatorName, v, "", func(h *bmov1alpha1.BareMetalHost) {
			delete(h.Annotations, bmov1alpha1.InspectAnnotationPrefix)
		})
	}
	if annotated(hostOf(v), bmov1alpha1.RebootAnnotationPrefix) {
		return edit(w, operatorName, v, "", func(h *bmov1alpha1.BareMetalHost) {
			delete(h.Annotations, bmov1alpha1.RebootAnnotationPrefix)
		})
	}
	return edit(w, operatorName, v, "status", func(h *bmov1alpha1.BareMetalHost) { w.advanceHost(h) })
}

// restoreStatus brings the status of a host back from its annotation, or takes off an
// annotation that is not needed.
func (w *World) restoreStatus(v *store.Version) (restored, done bool) {
	host := hostOf(v)
	text, found := host.Annotations[bmov1alpha1.StatusAnnotation]
	switch {
	case binding.WithoutStatus(host) && !found:
		w.fail(MovesWhole, "host %s has no status, and is inspected like a new one", v.Key)
		return false, true
	case binding.WithoutStatus(host):
		return w.patch(operatorName, v, "status", []byte(`{"status":`+text+`}`)), true
	case found:
		return edit(w, operatorName, v, "", func(h *bmov1alpha1.BareMetalHost) {
			delete(h.Annotations, bmov1alpha1.StatusAnnotation)
		}), true
	default:
		return false, false
	}
}

// operable reports whether there is something to do about a host.
func (w *World) operable(v *store.Version) bool {
	host := hostOf(v)
	switch {
	case v.Deleting():
		return true
	case annotated(host, bmov1alpha1.PausedAnnotation), annotated(host, bmov1alpha1.DetachedAnnotation),
		host.Status.ErrorMessage != "":
		return false
	}
	next, wanted := nextState(host)
	return wanted || binding.WithoutStatus(host) || annotated(host, bmov1alpha1.StatusAnnotation) || annotated(host, bmov1alpha1.RebootAnnotationPrefix) || next != host.Status.Provisioning.State || host.Status.PoweredOn != host.Spec.Online
}

func annotated(host *bmov1alpha1.BareMetalHost, key string) bool {
	_, found := host.Annotations[key]
	return found
}

func inspectionAsked(host *bmov1alpha1.BareMetalHost) bool {
	return annotated(host, bmov1alpha1.InspectAnnotationPrefix)
}

// nextState is the state that follows; wanted is true if there is work without a
// change of state.
func nextState(h *bmov1alpha1.BareMetalHost) (next bmov1alpha1.ProvisioningState, wanted bool) {
	state := h.Status.Provisioning.State
	inspected, ends := inspectionAsked(h), deploymentEnds(h)
	for _, way := range []struct {
		from, to bmov1alpha1.ProvisioningState
		taken    bool
	}{
		{bmov1alpha1.StateAvailable, bmov1alpha1.StateInspecting, inspected},
		{bmov1alpha1.StateAvailable, bmov1alpha1.StateProvisioning, h.Spec.Image != nil && h.Spec.Online},
		{bmov1alpha1.StateProvisioning, bmov1alpha1.StateDeprovisioning, ends},
		{bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned, true},
		{bmov1alpha1.StateProvisioned, bmov1alpha1.StateDeprovisioning, ends},
		{bmov1alpha1.StateDeprovisioning, bmov1alpha1.StateAvailable, true},
		{bmov1alpha1.StateInspecting, bmov1alpha1.StatePreparing, !inspected},
		{bmov1alpha1.StatePreparing, bmov1alpha1.StateAvailable, true},
	} {
		if way.from == state && way.taken {
			return way.to, false
		}
	}
	return state, state == bmov1alpha1.StateInspecting
}

// deploymentEnds reports whether what is on the host is no longer asked for.
func deploymentEnds(h *bmov1alpha1.BareMetalHost) bool {
	written := h.Status.Provisioning.Image.URL
	return h.Spec.Image == nil || (written != "" && h.Spec.Image.URL != written)
}

// advanceHost writes the next state into the status, and what it means for the
// disks of the server.
func (w *World) advanceHost(h *bmov1alpha1.BareMetalHost) {
	next, _ := nextState(h)
	server := w.machines[h.UID]
	switch status := &h.Status.Provisioning; {
	case next == status.State:
	case next == bmov1alpha1.StateProvisioning:
		if h.Spec.ConsumerRef != nil {
			server.data = h.Spec.ConsumerRef.UID
		}
	case next == bmov1alpha1.StateProvisioned:
		status.Image = *h.Spec.Image
	case status.State == bmov1alpha1.StateDeprovisioning:
		status.Image = bmov1alpha1.Image{}
		if h.Spec.AutomatedCleaningMode == bmov1alpha1.CleaningModeMetadata {
			server.data = ""
		}
	}
	h.Status.Provisioning.State = next
	h.Status.PoweredOn = h.Spec.Online
}

// toggleError puts a host in error, or mends it. The error names the BMC, which
// no other tenant may read.
func (w *World) toggleError() bool {
	v, found := w.pick(store.Hosts, func(v *store.Version) bool { return !v.Deleting() })
	if !found {
		return false
	}
	if hostOf(v).Status.ErrorMessage != "" {
		return w.mend(v)
	}
	return edit(w, operatorName, v, "status", func(h *bmov1alpha1.BareMetalHost) {
		h.Status.ErrorType, h.Status.ErrorCount = bmov1alpha1.ProvisioningError, 1
		h.Status.ErrorMessage = "no answer from " + h.Spec.BMC.Address
		h.Status.OperationalStatus = bmov1alpha1.OperationalStatusError
	})
}

// mend ends the error of a host.
func (w *World) mend(v *store.Version) bool {
	return edit(w, operatorName, v, "status", func(h *bmov1alpha1.BareMetalHost) {
		h.Status.ErrorType, h.Status.ErrorMessage, h.Status.ErrorCount = "", "", 0
		h.Status.OperationalStatus = bmov1alpha1.OperationalStatusOK
	})
}

// collectGarbage deletes one object whose owners are all gone.
func (w *World) collectGarbage() bool {
	living := map[string]bool{}
	for _, kind := range []store.Kind{store.Claims, store.Hosts} {
		for _, v := range w.log.All(kind) {
			living[string(v.UID)] = true
		}
	}
	for _, kind := range []store.Kind{store.Secrets, store.HardwareData} {
		for _, v := range w.log.All(kind) {
			owners := v.Object().GetOwnerReferences()
			orphaned := len(owners) > 0
			for _, owner := range owners {
				orphaned = orphaned && !living[string(owner.UID)]
			}
			if orphaned {
				return w.remove("garbage collector", v)
			}
		}
	}
	return false
}
