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
)

func TestWords(t *testing.T) {
	type words struct {
		state, kind string
		failed      bool
	}
	tests := map[string]struct {
		given func(*bmov1alpha1.BareMetalHostStatus)
		want  words
	}{
		"a new host has no state yet": {func(*bmov1alpha1.BareMetalHostStatus) {}, words{state: "unknown"}},
		"a state of the list is named": {
			func(s *bmov1alpha1.BareMetalHostStatus) {
				s.Provisioning.State = bmov1alpha1.StateExternallyProvisioned
			},
			words{state: "externally provisioned"},
		},
		"a made-up state is not repeated": {
			func(s *bmov1alpha1.BareMetalHostStatus) { s.Provisioning.State = "192.0.2.1" }, words{state: "unknown"},
		},
		"an error of the list is named": {
			func(s *bmov1alpha1.BareMetalHostStatus) { s.ErrorType = bmov1alpha1.ServicingError },
			words{state: "unknown", kind: "servicing error", failed: true},
		},
		"a made-up error is one, and not repeated": {
			func(s *bmov1alpha1.BareMetalHostStatus) { s.ErrorType = "192.0.2.1" }, words{state: "unknown", failed: true},
		},
		"a text alone is an error": {
			func(s *bmov1alpha1.BareMetalHostStatus) { s.ErrorMessage = "x" }, words{state: "unknown", failed: true},
		},
		"an operational status alone is an error": {
			func(s *bmov1alpha1.BareMetalHostStatus) { s.OperationalStatus = bmov1alpha1.OperationalStatusError },
			words{state: "unknown", failed: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host := &bmov1alpha1.BareMetalHost{}
			test.given(&host.Status)
			if got := (words{StateName(host), ErrorName(host), InError(host)}); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
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
			if got := Standstill(host); got != test.want {
				t.Errorf("Standstill() = %q, want %q", got, test.want)
			}
		})
	}
}
