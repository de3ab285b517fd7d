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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestStateName(t *testing.T) {
	for state, want := range map[bmov1alpha1.ProvisioningState]string{
		"": "unknown", bmov1alpha1.StateExternallyProvisioned: "externally provisioned", "192.0.2.1": "unknown",
	} {
		host := &bmov1alpha1.BareMetalHost{}
		host.Status.Provisioning.State = state
		got := StateName(host)
		expect.That(t, got == want, "StateName() of state %q = %q, want %q", state, got, want)
	}
}

func TestInError(t *testing.T) {
	tests := map[string]struct {
		given bmov1alpha1.BareMetalHostStatus
		want  bool
	}{
		"a host that works":           {bmov1alpha1.BareMetalHostStatus{OperationalStatus: bmov1alpha1.OperationalStatusOK}, false},
		"a kind of error":             {bmov1alpha1.BareMetalHostStatus{ErrorType: bmov1alpha1.ServicingError}, true},
		"a text alone":                {bmov1alpha1.BareMetalHostStatus{ErrorMessage: "x"}, true},
		"an operational status alone": {bmov1alpha1.BareMetalHostStatus{OperationalStatus: bmov1alpha1.OperationalStatusError}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, InError(&bmov1alpha1.BareMetalHost{Status: tt.given})) })
	}
}

func TestStandstill(t *testing.T) {
	operational := func(s bmov1alpha1.OperationalStatus) func(*bmov1alpha1.BareMetalHost) {
		return func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = s }
	}
	tests := map[string]struct {
		given func(*bmov1alpha1.BareMetalHost)
		want  string
	}{
		"a host that works gets on": {operational(bmov1alpha1.OperationalStatusOK), ""},
		"a paused one does not": {
			func(h *bmov1alpha1.BareMetalHost) {
				h.Annotations = map[string]string{bmov1alpha1.PausedAnnotation: ""}
			},
			"it is paused, and nothing happens to it until the infrastructure team unpauses it",
		},
		"a detached one does not": {
			operational(bmov1alpha1.OperationalStatusDetached),
			"it is detached, and nothing happens to it until the infrastructure team attaches it again",
		},
		"one with a new firmware does later": {operational(bmov1alpha1.OperationalStatusServicing), "it is being serviced"},
		"one of many does later":             {operational(bmov1alpha1.OperationalStatusDelayed), "it waits for its turn, as many hosts are worked on"},
		"one that goes does not, whatever else there is": {
			func(h *bmov1alpha1.BareMetalHost) {
				operational(bmov1alpha1.OperationalStatusDetached)(h)
				h.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}, "it is being deleted",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host := &bmov1alpha1.BareMetalHost{}
			test.given(host)
			expect.Equal(t, test.want, Standstill(host))
		})
	}
}
